//===- hh-compile.cpp - from an ONNX model to stage programs --------------===//

#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/PlanRecord.h"
#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Dialect/ONNX/IR/Training.h"
#include "hethub/Emit/Folder.h"
#include "hethub/Import/Import.h"
#include "hethub/Pipelines/Pipelines.h"
#include "hethub/Simulator/Schedule.h"
#include "hethub/Split/Split.h"
#include "hethub/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace hethub;
namespace cl = llvm::cl;

static cl::OptionCategory category("hh-compile options");
static cl::opt<std::string> modelPath(cl::Positional, cl::Required,
                                      cl::desc("MODEL.onnx"),
                                      cl::cat(category));
static cl::opt<std::string>
    clusterFile("cluster", cl::desc("cluster file: devices and links (YAML)"),
                cl::value_desc("FILE"), cl::cat(category));
static cl::opt<unsigned>
    stages("stages",
           cl::desc("exactly this many stages; without --cluster, on as many "
                    "equal devices of this machine"),
           cl::value_desc("n"), cl::cat(category));
static cl::list<std::string>
    dims("dim", cl::desc("size of a symbolic dimension; may be repeated"),
         cl::value_desc("name=size"), cl::cat(category));
static cl::opt<std::string>
    planFile("plan", cl::desc("follow the stage map of this plan.json"),
             cl::value_desc("FILE"), cl::cat(category));
static cl::opt<bool>
    annotated("annotated",
              cl::desc("follow the pipeline stages that the model's nodes name "
                       "themselves (device configurations)"),
              cl::cat(category));
static cl::opt<unsigned>
    microbatches("microbatches",
                 cl::desc("microbatches of a step, for which the plan is made"),
                 cl::value_desc("m"), cl::init(8), cl::cat(category));
static cl::opt<unsigned> globalBatch(
    "global-batch",
    cl::desc("samples of a step, cut into microbatches of the model's batch "
             "size; where that is symbolic, of the best size that divides it"),
    cl::value_desc("samples"), cl::cat(category));
static cl::opt<bool>
    train("train",
          cl::desc("programs of a training step: forward and backward "
                   "passes, gradients, optimizer"),
          cl::cat(category));
static cl::opt<std::string> loss(
    "loss",
    cl::desc("training: cross-entropy or mse of an output, against the input "
             "'labels'; otherwise a float scalar of the model is the loss"),
    cl::value_desc("cross-entropy|mse"), cl::cat(category));
static cl::opt<std::string>
    lossOutput("loss-output",
               cl::desc("training: the output that makes the loss, where there "
                        "are several"),
               cl::value_desc("NAME"), cl::cat(category));
static cl::list<std::string> freeze(
    "freeze",
    cl::desc("training: parameters that stay as they are, by a glob pattern "
             "of their names; may be repeated"),
    cl::value_desc("PATTERN"), cl::cat(category));
static cl::opt<std::string>
    schedule("schedule",
             cl::desc("training: order of forward and backward passes: 1f1b, "
                      "gpipe, zero-bubble, or interleaved: 1f1b with several "
                      "stages a device"),
             cl::value_desc("NAME"), cl::init("1f1b"), cl::cat(category));
static cl::opt<unsigned> stagesPerDevice(
    "stages-per-device",
    cl::desc("training: stages of each device, which lie apart in the model "
             "and are counted by --stages; of --schedule=interleaved 2 unless "
             "given, of others 1"),
    cl::value_desc("n"), cl::init(1), cl::cat(category));
static cl::list<std::string> trainingMode(
    "training-mode", cl::CommaSeparated,
    cl::desc("training: operators to set to their training form, which "
             "exporters lose: batch-norm, dropout"),
    cl::value_desc("OPERATORS"), cl::cat(category));
enum class Choice { Auto, Off };
static const auto autoOrOff =
    cl::values(clEnumValN(Choice::Auto, "auto", "where it makes a step faster"),
               clEnumValN(Choice::Off, "off", "never"));
static cl::opt<Choice>
    replicas("replicas", cl::desc("several devices that take turns on a stage"),
             autoOrOff, cl::init(Choice::Auto), cl::cat(category));
static cl::opt<Choice> recompute(
    "recompute",
    cl::desc("training: compute forward passes again instead of keeping them"),
    autoOrOff, cl::init(Choice::Auto), cl::cat(category));
static cl::opt<bool> tensorParallel(
    "tensor-parallel",
    cl::desc("also plan devices of a node that share each operation (with "
             "--plan-only: such plans do not run yet)"),
    cl::cat(category));
static cl::opt<double>
    timeLimit("time-limit",
              cl::desc("about as long the search for a plan may take on one "
                       "core; it is counted in steps, so that results do not "
                       "depend on the machine"),
              cl::value_desc("seconds"), cl::init(4), cl::cat(category));
enum class Emitter { Program, Cpp, Onnx };
static cl::list<Emitter>
    emitters("emit", cl::CommaSeparated,
             cl::desc("what to write for each stage (program and cpp by "
                      "default)"),
             cl::values(clEnumValN(Emitter::Program, "program",
                                   "program files, which hh-run executes"),
                        clEnumValN(Emitter::Cpp, "cpp", "C++ over LibTorch"),
                        clEnumValN(Emitter::Onnx, "onnx",
                                   "ONNX files with copies of their weights, "
                                   "for other runtimes")),
             cl::cat(category));
static cl::opt<bool>
    packWeights("pack-weights",
                cl::desc("copy the weights into one safetensors file a stage"),
                cl::cat(category));
static cl::opt<bool> planOnly("plan-only",
                              cl::desc("write plan.json and nothing else"),
                              cl::cat(category));
static cl::opt<bool>
    explain("explain",
            cl::desc("add to the plan why it is not better: what holds its "
                     "bottleneck, what other plans would cost; with --plan the "
                     "automatic plan"),
            cl::cat(category));
static cl::opt<bool>
    whatIf("what-if",
           cl::desc("add to the plan what one more device of each type would "
                    "gain"),
           cl::cat(category));
static cl::opt<bool> json("json", cl::desc("print the plan as JSON"),
                          cl::cat(category));
static cl::opt<std::string>
    irFile("save-ir", cl::desc("also write the final IR (MLIR text)"),
           cl::value_desc("FILE"), cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("output folder"),
                                   cl::value_desc("OUT"), cl::Required,
                                   cl::cat(category));

/// Steps of a search that one core does in a second.
static constexpr double stepsPerSecond = 25e6;

/// Size of axis 0 that all inputs with a first axis share; 0 where they differ
/// or there are none: then a run does not split its inputs. Labels follow the
/// output that they belong to, which may have samples and positions in one
/// axis.
static int64_t batchSize(func::FuncOp main) {
  int64_t size = 0;
  for (BlockArgument input : main.getArguments()) {
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    if (main.getArgAttr(input.getArgNumber(), ox::labelsAttrName) || !tensor ||
        tensor.getRank() == 0 || tensor.isDynamicDim(0))
      continue;
    if (size && size != tensor.getDimSize(0))
      return 0;
    size = tensor.getDimSize(0);
  }
  return size;
}

static LogicalResult saveIR(ModuleOp module) {
  if (irFile.empty())
    return success();
  std::string error;
  auto file = openOutputFile(irFile, &error);
  if (!file)
    return module.emitError() << error;
  module.print(file->os(),
               OpPrintingFlags().enableDebugInfo().printNameLocAsPrefix());
  file->os() << "\n";
  file->keep();
  return success();
}

/// Symbolic dimension that is axis 0 of every input with a symbolic one; empty
/// where they differ, have no name, or there is none.
static std::string batchDim(func::FuncOp main) {
  std::string name;
  for (BlockArgument input : main.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.getRank() == 0 || !type.isDynamicDim(0))
      continue;
    auto axes =
        main.getArgAttrOfType<ArrayAttr>(input.getArgNumber(), "onnx.dims");
    auto axis = axes && !axes.empty() ? dyn_cast<StringAttr>(axes[0]) : nullptr;
    if (!axis || axis.empty() || (!name.empty() && axis.getValue() != name))
      return "";
    name = axis.getValue().str();
  }
  for (StringRef fixed : dims)
    if (fixed.split('=').first == name)
      return "";
  return name;
}

static LogicalResult run(ModuleOp module, TimingScope &timing,
                         llvm::function_ref<void(PassManager &)> build) {
  PassManager pm(module.getContext());
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  pm.enableTiming(timing);
  build(pm);
  return pm.run(module);
}

/// From an imported module to stages, with microbatches that make up the global
/// batch where one is given.
static LogicalResult plan(ModuleOp module, CompileOptions options,
                          TimingScope &timing) {
  if (failed(run(module, timing, [&](PassManager &pm) {
        buildNormalizePipeline(pm, options);
      })))
    return failure();
  if (annotated && failed(split::markAnnotatedStages(module, modelPath)))
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (main)
    options.microbatchSize = batchSize(main);
  if (globalBatch > 0) {
    const unsigned size = options.microbatchSize;
    if (size == 0)
      return module.emitError("a global batch needs inputs that share the size "
                              "of their first axis, got none");
    if (globalBatch % size != 0)
      return module.emitError("the global batch must be a multiple of the "
                              "model's batch of ")
             << size << ", got: " << globalBatch.getValue();
    options.microbatches = globalBatch / size;
  }
  return run(module, timing,
             [&](PassManager &pm) { buildPlanPipeline(pm, options); });
}

/// The fastest plan over the sizes of a microbatch that a symbolic batch
/// leaves open: powers of two that divide the global batch.
static OwningOpRef<ModuleOp> planBestSize(OwningOpRef<ModuleOp> module,
                                          const CompileOptions &options,
                                          TimingScope &timing) {
  constexpr unsigned largest = 64;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  const std::string dim = main && globalBatch > 0 ? batchDim(main) : "";
  if (dim.empty()) {
    if (failed(plan(*module, options, timing)))
      return nullptr;
    return module;
  }
  OwningOpRef<ModuleOp> best;
  CompileOptions bestOptions;
  double least = 0;
  for (unsigned size = 1; size <= largest && globalBatch % size == 0;
       size *= 2) {
    OwningOpRef<ModuleOp> attempt = module->clone();
    CompileOptions sized = options;
    sized.dims.push_back(dim + "=" + std::to_string(size));
    sized.explain = sized.whatIf = false;
    std::string message;
    {
      // A size that fits nowhere matters only where all do.
      // What is said of the model is said once.
      ScopedDiagnosticHandler quiet(module->getContext(), [&](Diagnostic &) {
        return success(size > 1);
      });
      if (failed(plan(*attempt, sized, timing))) {
        if (size == 1)
          return nullptr;
        break;
      }
    }
    std::optional<llvm::json::Value> figures = hh::planJSON(*attempt);
    std::optional<double> step =
        figures ? figures->getAsObject()->getNumber("step_seconds")
                : std::nullopt;
    if (step && (!best || *step < least)) {
      least = *step;
      best = std::move(attempt);
      bestOptions = sized;
    }
  }
  if (!best || !(options.explain || options.whatIf))
    return best;
  // Only the size that is taken is explained.
  bestOptions.explain = options.explain;
  bestOptions.whatIf = options.whatIf;
  if (failed(plan(*module, bestOptions, timing)))
    return nullptr;
  return module;
}

/// Stages that programs cannot run yet.
static LogicalResult requireRunnable(ModuleOp module) {
  std::optional<llvm::json::Value> figures = hh::planJSON(module);
  const llvm::json::Array *stages =
      figures ? figures->getAsObject()->getArray("stages") : nullptr;
  for (size_t index = 0; stages && index < stages->size(); ++index) {
    const llvm::json::Object &stage = *(*stages)[index].getAsObject();
    if (int64_t width = stage.getInteger("tensor_parallel").value_or(1);
        width > 1)
      return module.emitError("tensor_parallel must be 1 for programs, since "
                              "devices cannot share an operation yet, got: ")
             << width << " in stage " << index;
  }
  return success();
}

static LogicalResult compile(MLIRContext &context, TimingScope &timing) {
  CompileOptions options;
  options.cluster = clusterFile;
  options.stages = stages;
  options.microbatches = microbatches;
  options.training = train;
  options.stagesPerDevice = stagesPerDevice;
  options.replicas = replicas == Choice::Auto;
  options.recompute = train && recompute == Choice::Auto;
  options.tensorParallel = tensorParallel;
  options.workLimit = uint64_t(timeLimit * stepsPerSecond);
  options.planFile = planFile;
  options.explain = explain;
  options.whatIf = whatIf;
  options.dims = dims;
  options.lossRequired = !planOnly;
  options.loss = loss;
  options.lossOutput = lossOutput;
  options.trainingMode = trainingMode;
  options.frozen = freeze;
  options.schedule = schedule;

  OwningOpRef<ModuleOp> module;
  {
    TimingScope scope = timing.nest("import");
    module = import::importModel(modelPath, &context);
  }
  if (!module)
    return failure();
  module = planBestSize(std::move(module), options, timing);
  if (!module)
    return failure();

  emit::ModelInfo model;
  model.name = llvm::sys::path::filename(modelPath).str();
  if (auto main = module->lookupSymbol<func::FuncOp>("main"))
    model.microbatchAxisSize = batchSize(main);
  if (json)
    if (auto plan = hh::planJSON(*module))
      llvm::outs() << llvm::formatv("{0:2}\n", *plan);
  if (planOnly)
    return failure(failed(saveIR(*module)) ||
                   failed(emit::writePlan(*module, output)));
  const bool onnx = llvm::is_contained(emitters, Emitter::Onnx);
  if (onnx && llvm::all_equal(emitters)) // nothing that must be lowered
    return failure(failed(saveIR(*module)) ||
                   failed(split::exportStages(*module, modelPath, output)) ||
                   failed(emit::writePlan(*module, output)));
  OwningOpRef<ModuleOp> staged;
  if (onnx)
    staged = module->clone();

  if (failed(requireRunnable(*module)) ||
      failed(run(*module, timing,
                 [&](PassManager &pm) { buildLowerPipeline(pm, options); })) ||
      failed(saveIR(*module)))
    return failure();

  emit::FolderOptions folder;
  if (!emitters.empty()) {
    folder.programs = llvm::is_contained(emitters, Emitter::Program);
    folder.cpp = llvm::is_contained(emitters, Emitter::Cpp);
  }
  folder.packWeights = packWeights;
  TimingScope scope = timing.nest("emit");
  if (failed(emit::writeFolder(*module, model, output, folder)))
    return failure();
  return onnx ? split::exportStages(*staged, modelPath, output) : success();
}

/// "interleaved" is 1F1B with several stages a device.
static void readSchedule() {
  if (schedule != "interleaved")
    return;
  schedule = "1f1b";
  if (!stagesPerDevice.getNumOccurrences())
    stagesPerDevice = 2;
}

/// What is wrong with the options together; empty: nothing.
static std::string wrongOptions() {
  // The address of a list is that of what it holds.
  const cl::Option *ofTraining[] = {
      &loss,     &lossOutput,      std::addressof(freeze),
      &schedule, &stagesPerDevice, std::addressof(trainingMode)};
  for (const cl::Option *option : ofTraining)
    if (option->getNumOccurrences() && !train)
      return llvm::formatv("--{0} needs --train", option->ArgStr);
  const bool interleaved = schedule == "interleaved";
  if (!interleaved && !simulator::scheduleKindOf(schedule))
    return llvm::formatv("--schedule must be {0}, or interleaved, got: {1}",
                         simulator::scheduleKindNames(), schedule.getValue());
  if (stagesPerDevice.getNumOccurrences() &&
      stagesPerDevice < (interleaved ? 2u : 1u))
    return llvm::formatv("--stages-per-device must be at least {0}, got: {1}",
                         interleaved ? 2 : 1, stagesPerDevice.getValue());
  if (annotated && !planFile.empty())
    return "--annotated and --plan must not both be given";
  if (train && llvm::is_contained(emitters, Emitter::Onnx))
    return "--emit=onnx is for inference: a training step has no ONNX form";
  if (tensorParallel && !planOnly)
    return "--tensor-parallel needs --plan-only: devices cannot share an "
           "operation yet";
  if (!(timeLimit >= 0 && timeLimit <= 1e6))
    return llvm::formatv("--time-limit must be from 0 to 1000000 seconds, got: "
                         "{0}",
                         double(timeLimit));
  if (globalBatch.getNumOccurrences() && globalBatch == 0)
    return "--global-batch must be at least 1, got: 0";
  if (globalBatch.getNumOccurrences() && microbatches.getNumOccurrences())
    return "--global-batch and --microbatches must not both be given";
  return "";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerPassManagerCLOptions();
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "HetHub compiler: cuts an ONNX model into one program per pipeline "
      "stage, each sized to the device type that runs it\n\n"
      "  hh-compile model.onnx --cluster cluster.yaml --dim batch=4 -o out\n"
      "  hh-compile model.onnx --stages 3 -o out\n");
  if (clusterFile.empty() && stages == 0) {
    llvm::errs() << "hh-compile: error: give a cluster file (--cluster) or a "
                    "number of stages (--stages)\n";
    return 1;
  }
  if (std::string mistake = wrongOptions(); !mistake.empty()) {
    llvm::errs() << "hh-compile: error: " << mistake << "\n";
    return 1;
  }
  readSchedule();
  DialectRegistry registry;
  registry.insert<func::FuncDialect, aten::ATenDialect, hh::HHDialect,
                  ms::MicrosoftDialect, ox::ONNXDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  ModelDiagnostics diagnostics(&context);
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();
  return failed(compile(context, scope));
}

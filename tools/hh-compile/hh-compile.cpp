//===- hh-compile.cpp - from an ONNX model to stage programs --------------===//

#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/PlanRecord.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Emit/Folder.h"
#include "hethub/Import/Import.h"
#include "hethub/Pipelines/Pipelines.h"
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
static cl::opt<unsigned>
    microbatches("microbatches",
                 cl::desc("microbatches of a step, for which the plan is made"),
                 cl::value_desc("m"), cl::init(8), cl::cat(category));
enum class Emitter { Program, Cpp };
static cl::list<Emitter>
    emitters("emit", cl::CommaSeparated,
             cl::desc("what to write for each stage (both by default)"),
             cl::values(clEnumValN(Emitter::Program, "program",
                                   "program files, which hh-run executes"),
                        clEnumValN(Emitter::Cpp, "cpp", "C++ over LibTorch")),
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

/// Size of axis 0 that all inputs with a first axis share; 0 where they differ
/// or there are none: then a run does not split its inputs.
static int64_t batchSize(func::FuncOp main) {
  int64_t size = 0;
  for (Type type : main.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() == 0 || tensor.isDynamicDim(0))
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

static LogicalResult compile(MLIRContext &context, TimingScope &timing) {
  CompileOptions options;
  options.cluster = clusterFile;
  options.stages = stages;
  options.microbatches = microbatches;
  options.planFile = planFile;
  options.explain = explain;
  options.whatIf = whatIf;
  options.dims = dims;

  OwningOpRef<ModuleOp> module;
  {
    TimingScope scope = timing.nest("import");
    module = import::importModel(modelPath, &context);
  }
  if (!module)
    return failure();
  PassManager pm(&context);
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  pm.enableTiming(timing);
  buildNormalizePipeline(pm, options);
  buildPlanPipeline(pm, options);
  if (failed(pm.run(*module)))
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

  PassManager lower(&context);
  if (failed(applyPassManagerCLOptions(lower)))
    return failure();
  lower.enableTiming(timing);
  buildLowerPipeline(lower, options);
  if (failed(lower.run(*module)) || failed(saveIR(*module)))
    return failure();

  emit::FolderOptions folder;
  if (!emitters.empty()) {
    folder.programs = llvm::is_contained(emitters, Emitter::Program);
    folder.cpp = llvm::is_contained(emitters, Emitter::Cpp);
  }
  folder.packWeights = packWeights;
  TimingScope scope = timing.nest("emit");
  return emit::writeFolder(*module, model, output, folder);
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
  DialectRegistry registry;
  registry.insert<func::FuncDialect, aten::ATenDialect, hh::HHDialect,
                  ox::ONNXDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  ModelDiagnostics diagnostics(&context);
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();
  return failed(compile(context, scope));
}

//===- hh-split.cpp - an ONNX model into one file a stage -----------------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Split/Split.h"
#include "hethub/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace hethub;
namespace cl = llvm::cl;

static cl::OptionCategory category("hh-split options");
static cl::opt<std::string> modelPath(cl::Positional, cl::Required,
                                      cl::desc("MODEL.onnx"),
                                      cl::cat(category));
static cl::opt<std::string>
    clusterFile("cluster", cl::desc("the fastest stages for this cluster file"),
                cl::value_desc("FILE"), cl::cat(category));
static cl::opt<unsigned>
    stages("stages",
           cl::desc("exactly this many stages; without --cluster, for as many "
                    "equal devices of this machine"),
           cl::value_desc("n"), cl::cat(category));
static cl::list<std::string>
    at("at",
       cl::desc("a border behind this tensor, or behind several, separated by "
                "commas; once for each border"),
       cl::value_desc("TENSOR"), cl::cat(category));
static cl::opt<bool>
    annotated("annotated",
              cl::desc("the stages that the model's nodes name themselves "
                       "(device configurations)"),
              cl::cat(category));
static cl::list<std::string>
    dims("dim",
         cl::desc("typical size of a symbolic dimension, for the costs (1); "
                  "it stays symbolic in the files"),
         cl::value_desc("name=size"), cl::cat(category));
static cl::opt<unsigned>
    microbatches("microbatches",
                 cl::desc("microbatches of a step, for which the plan is made"),
                 cl::value_desc("m"), cl::init(8), cl::cat(category));
static cl::opt<bool> referenceWeights(
    "reference-weights",
    cl::desc("point at the model's own files instead of copying weights: OUT "
             "must be the folder of the data, or above it"),
    cl::cat(category));
static cl::opt<bool>
    annotate("annotate",
             cl::desc("also write annotated.onnx: the model with its stages "
                      "noted on the nodes"),
             cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("output folder"),
                                   cl::value_desc("OUT"), cl::Required,
                                   cl::cat(category));

/// What is wrong with the options together; empty: nothing.
static std::string wrongOptions() {
  bool planned = !clusterFile.empty() || stages.getNumOccurrences();
  if (int(planned) + !at.empty() + int(annotated) != 1)
    return "give one of: a cluster (--cluster) or a number of stages "
           "(--stages), borders (--at), --annotated";
  if (stages.getNumOccurrences() && stages < 1)
    return "stages must be at least 1, got: 0";
  if (microbatches < 1)
    return "microbatches must be at least 1, got: 0";
  if (!dims.empty() && !planned)
    return "--dim is for costs, which --cluster and --stages need";
  return "";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "HetHub splitter: cuts an ONNX model into one ONNX file per pipeline "
      "stage\n\n"
      "  hh-split model.onnx --stages 3 -o out\n"
      "  hh-split model.onnx --at /block.3/Add_output_0 -o out\n");
  if (std::string mistake = wrongOptions(); !mistake.empty()) {
    llvm::errs() << "hh-split: error: " << mistake << "\n";
    return 1;
  }
  DialectRegistry registry;
  registry.insert<func::FuncDialect, hh::HHDialect, ms::MicrosoftDialect,
                  ox::ONNXDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  ModelDiagnostics diagnostics(&context);
  split::Options options;
  options.cluster = clusterFile;
  options.stages = stages;
  options.at = at;
  options.annotated = annotated;
  options.dims = dims;
  options.microbatches = microbatches;
  options.referenceWeights = referenceWeights;
  options.annotate = annotate;
  return failed(split::splitModel(modelPath, output, options, &context));
}

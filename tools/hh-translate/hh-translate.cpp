//===- hh-translate.cpp - between ONNX files, MLIR and stage programs -----===//
//
//   hh-translate --import-onnx model.onnx [--dim batch=2]... [-o model.mlir]
//     [--bytecode]
//   hh-translate --import-onnx-list models.txt
//     one status line a model; also checks that text and bytecode of each model
//     read back as the same module
//   hh-translate --export-onnx model.mlir -o model.onnx [--opset n | own]
//     [--pack-weights]
//     reads an ONNX file too: then it is imported and exported
//   hh-translate --emit-cpp lowered.mlir [--stage k]
//   hh-translate --emit-program lowered.mlir [--stage k]
//     a stage as C++, or as the text of its program file
//   hh-translate --profile-work profile.json
//     FLOPs, bytes and seconds of the operations of a profile of this machine,
//     as JSON
//===----------------------------------------------------------------------===//

#include "EmitStage.h"

#include "hethub/Cost/ProfileWork.h"
#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Export/Export.h"
#include "hethub/Import/Import.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

static cl::OptionCategory category("hh-translate options");
static cl::opt<std::string> modelPath("import-onnx",
                                      cl::desc("Import this ONNX file"),
                                      cl::value_desc("file"),
                                      cl::cat(category));
static cl::opt<std::string>
    listPath("import-onnx-list",
             cl::desc("Import each ONNX file that this file lists, one path a "
                      "line, and check that it reads back"),
             cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string>
    exportPath("export-onnx",
               cl::desc("Write this module, or ONNX file, as an ONNX file"),
               cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string>
    opset("opset",
          cl::desc("Opset of the exported file: a number, `own` for that of "
                   "the file it was imported from, or the next that fits"),
          cl::value_desc("n"), cl::cat(category));
static cl::opt<bool>
    packWeights("pack-weights",
                cl::desc("Copy the weights of the exported file to FILE.data"),
                cl::cat(category));
static cl::opt<std::string>
    cppPath("emit-cpp", cl::desc("Write a stage of this lowered module as C++"),
            cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string> programPath(
    "emit-program",
    cl::desc("Write a stage of this lowered module as program-file text"),
    cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string>
    profilePath("profile-work",
                cl::desc("Describe the work of the operations of this profile "
                         "as JSON"),
                cl::value_desc("file"), cl::cat(category));
static cl::opt<unsigned> stage("stage", cl::desc("Which stage to write"),
                               cl::value_desc("k"), cl::cat(category));
static cl::list<std::string>
    dims("dim", cl::desc("Fix a symbolic dim and fold what follows from it"),
         cl::value_desc("name=value"), cl::cat(category));
static cl::opt<bool>
    fold("fold", cl::desc("Infer shapes and fold constants, as --dim does too"),
         cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("Output file"),
                                       cl::value_desc("file"), cl::init("-"),
                                       cl::cat(category));
static cl::opt<bool> bytecode("bytecode",
                              cl::desc("Write bytecode instead of text"),
                              cl::cat(category));

static OwningOpRef<ModuleOp> import(StringRef path, MLIRContext &context) {
  OwningOpRef<ModuleOp> module = hethub::import::importModel(path, &context);
  if (!module || (dims.empty() && !fold))
    return module;
  PassManager passes(&context);
  hethub::ox::SpecializeDimsOptions options;
  options.dims.assign(dims.begin(), dims.end());
  passes.addPass(hethub::ox::createSpecializeDims(options));
  passes.addPass(hethub::ox::createInferShapes());
  passes.addPass(hethub::ox::createFoldConstants());
  if (failed(passes.run(*module)))
    return nullptr;
  return module;
}

static OpPrintingFlags printingFlags() {
  return OpPrintingFlags().enableDebugInfo(true).printNameLocAsPrefix();
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, printingFlags());
  return text;
}

/// What does not survive text or bytecode, or "".
static std::string roundTrip(ModuleOp module, MLIRContext &context) {
  std::string text = print(module);
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, config);
  if (!parsed)
    return "text does not parse";
  if (print(*parsed) != text)
    return "text changes when it is parsed";
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(writeBytecodeToFile(module, stream)))
    return "bytecode cannot be written";
  parsed = parseSourceString<ModuleOp>(bytes, config);
  if (!parsed)
    return "bytecode does not parse";
  return print(*parsed) == text ? "" : "bytecode changes the module";
}

/// Number of nodes, of results whose type is unknown or without a rank, and of
/// results with a dynamic dim.
static std::string statistics(ModuleOp module) {
  int nodes = 0, unranked = 0, dynamic = 0;
  module->walk([&](Operation *op) {
    if (!isa<hethub::ox::ONNXDialect, hethub::ms::MicrosoftDialect>(
            op->getDialect()))
      return;
    ++nodes;
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<TensorType>(type);
      if (isa<hethub::ox::UnknownType>(type) || (tensor && !tensor.hasRank()))
        ++unranked;
      else if (tensor && !tensor.hasStaticShape())
        ++dynamic;
    }
  });
  return "nodes=" + std::to_string(nodes) +
         " unranked=" + std::to_string(unranked) +
         " dynamic=" + std::to_string(dynamic);
}

static int importList(MLIRContext &context) {
  auto list = llvm::MemoryBuffer::getFile(listPath);
  if (!list) {
    llvm::errs() << "error: cannot read " << listPath << ": "
                 << list.getError().message() << "\n";
    return 1;
  }
  SmallVector<StringRef> paths;
  (*list)->getBuffer().split(paths, '\n', -1, /*KeepEmpty=*/false);
  int failures = 0;
  for (StringRef path : paths) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = import(path, context);
    std::string changed = module ? roundTrip(*module, context) : "";
    if (module && changed.empty()) {
      llvm::outs() << "ok " << path << " " << statistics(*module) << "\n";
    } else {
      ++failures;
      std::replace(message.begin(), message.end(), '\n', ' ');
      llvm::outs() << "error " << path << " " << changed
                   << (changed.empty() ? "" : ": ") << message << "\n";
    }
  }
  llvm::outs() << paths.size() - failures << " of " << paths.size()
               << " imported\n";
  return failures ? 1 : 0;
}

static int importOne(MLIRContext &context) {
  OwningOpRef<ModuleOp> module = import(modelPath, context);
  if (!module)
    return 1;
  std::string error;
  auto output = openOutputFile(outputPath, &error);
  if (!output) {
    llvm::errs() << "error: " << error << "\n";
    return 1;
  }
  if (bytecode) {
    if (failed(writeBytecodeToFile(*module, output->os())))
      return 1;
  } else {
    module->print(output->os(), printingFlags());
    output->os() << "\n";
  }
  output->keep();
  return 0;
}

static int emit(MLIRContext &context) {
  StringRef path = cppPath.empty() ? programPath : cppPath;
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  std::string error;
  auto output = openOutputFile(outputPath, &error);
  if (!output) {
    llvm::errs() << "error: " << error << "\n";
    return 1;
  }
  if (!module ||
      failed(emitStage(*module, stage, !cppPath.empty(), output->os())))
    return 1;
  output->keep();
  return 0;
}

static bool isOnnx(StringRef path) { return path.ends_with(".onnx"); }

static int exportOne(MLIRContext &context) {
  hethub::exporter::ExportOptions options;
  options.packWeights = packWeights;
  options.ownOpset = opset == "own";
  if (outputPath == "-" || (!opset.empty() && !options.ownOpset &&
                            (StringRef(opset).getAsInteger(10, options.opset) ||
                             options.opset < 1))) {
    llvm::errs() << "error: "
                 << (outputPath == "-"
                         ? "--export-onnx needs a file to write (-o)"
                         : "--opset must be a number from 1 on or `own`, "
                           "got: " +
                               opset)
                 << "\n";
    return 1;
  }
  OwningOpRef<ModuleOp> module =
      isOnnx(exportPath) ? import(exportPath, context)
                         : parseSourceFile<ModuleOp>(exportPath, &context);
  return !module ||
         failed(hethub::exporter::exportModel(*module, outputPath, options));
}

static int describeProfile(MLIRContext &context) {
  llvm::Expected<hethub::cost::Profile> profile =
      hethub::cost::readProfile(profilePath);
  if (!profile) {
    llvm::errs() << "error: " << llvm::toString(profile.takeError()) << "\n";
    return 1;
  }
  std::string error;
  auto output = openOutputFile(outputPath, &error);
  if (!output) {
    llvm::errs() << "error: " << error << "\n";
    return 1;
  }
  // With the figures that a cluster file takes where it says nothing.
  hethub::cluster::Cluster host = llvm::cantFail(hethub::cluster::parseCluster(
      "devices:\n  - {name: cpu, kind: cpu}\n", "cpu"));
  hethub::cluster::measureMissingFigures(host);
  output->os() << llvm::formatv(
      "{0:2}\n",
      hethub::cost::profileWork(*profile, host.types.front(), &context));
  output->keep();
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  registerAsmPrinterCLOptions();
  cl::ParseCommandLineOptions(argc, argv,
                              "HetHub translator: ONNX files to MLIR, lowered "
                              "MLIR to stage programs\n");
  DialectRegistry registry;
  registry.insert<func::FuncDialect, hethub::aten::ATenDialect,
                  hethub::hh::HHDialect, hethub::ms::MicrosoftDialect,
                  hethub::ox::ONNXDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  int given = !modelPath.empty() + !listPath.empty() + !exportPath.empty() +
              !cppPath.empty() + !programPath.empty() + !profilePath.empty();
  if (given != 1) {
    llvm::errs() << "error: expected one of --import-onnx, --import-onnx-list, "
                    "--export-onnx, --emit-cpp, --emit-program and "
                    "--profile-work\n";
    return 1;
  }
  if (!profilePath.empty())
    return describeProfile(context);
  if (!exportPath.empty())
    return exportOne(context);
  if (!cppPath.empty() || !programPath.empty())
    return emit(context);
  return modelPath.empty() ? importList(context) : importOne(context);
}

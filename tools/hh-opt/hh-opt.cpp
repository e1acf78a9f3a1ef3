//===- hh-opt.cpp - runs HetHub's passes over MLIR text or bytecode -------===//

#include "hethub/Conversion/ONNXToATen/Passes.h"
#include "hethub/Cost/Passes.h"
#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Differentiate/Passes.h"
#include "hethub/Emit/Program/Passes.h"
#include "hethub/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

/// Text between two steps must lose no name: locations are printed, and serve
/// as names of values, unless the command line says otherwise.
static void printNamesByDefault() {
  mlir::registerAsmPrinterCLOptions();
  auto &options = llvm::cl::getRegisteredOptions();
  for (const char *name :
       {"mlir-print-debuginfo", "mlir-use-nameloc-as-prefix"})
    static_cast<llvm::cl::opt<bool> *>(options.lookup(name))
        ->setInitialValue(true);
}

int main(int argc, char **argv) {
  printNamesByDefault();
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, hethub::aten::ATenDialect,
                  hethub::hh::HHDialect, hethub::ms::MicrosoftDialect,
                  hethub::ox::ONNXDialect>();
  hethub::ox::registerONNXPasses();
  hethub::cost::registerCostPasses();
  hethub::hh::registerHHPasses();
  hethub::differentiate::registerDifferentiatePasses();
  hethub::emit::registerEmitPasses();
  hethub::registerONNXToATenPasses();
  hethub::registerPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "HetHub pass driver: uneven pipeline stages for ONNX models",
      registry));
}

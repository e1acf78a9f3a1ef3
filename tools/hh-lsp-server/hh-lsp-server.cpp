//===- hh-lsp-server.cpp - editors understand HetHub's IR -----------------===//

#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, hethub::aten::ATenDialect,
                  hethub::hh::HHDialect, hethub::ms::MicrosoftDialect,
                  hethub::ox::ONNXDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

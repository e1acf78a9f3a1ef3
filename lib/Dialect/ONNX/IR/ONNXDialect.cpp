//===- ONNXDialect.cpp - registration of types and operators --------------===//

#include "hethub/Dialect/ONNX/IR/ONNXOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hethub::ox;

#include "hethub/Dialect/ONNX/IR/ONNXDialect.cpp.inc"
#include "hethub/Dialect/ONNX/IR/ONNXInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "hethub/Dialect/ONNX/IR/ONNXTypes.cpp.inc"

#define GET_OP_DEFS_REGISTRATION
#include "hethub/Dialect/ONNX/IR/ONNXOps.cpp.inc"

void ONNXDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "hethub/Dialect/ONNX/IR/ONNXTypes.cpp.inc"
      >();
  registerONNXDialectOperations(this);
}

// One of four shards of the generated operators: they compile side by side.
#include "hethub/Dialect/ONNX/IR/ONNXOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hethub::ox;

#define GET_OP_DEFS_1
#include "hethub/Dialect/ONNX/IR/ONNXOps.cpp.inc"

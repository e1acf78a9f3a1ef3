//===- ONNXOps.h - all operator classes of the onnx dialect ----*- C++ -*-===//

#ifndef HETHUB_DIALECT_ONNX_IR_ONNXOPS_H
#define HETHUB_DIALECT_ONNX_IR_ONNXOPS_H

#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#define GET_OP_CLASSES
#include "hethub/Dialect/ONNX/IR/ONNXOps.h.inc"

#endif // HETHUB_DIALECT_ONNX_IR_ONNXOPS_H

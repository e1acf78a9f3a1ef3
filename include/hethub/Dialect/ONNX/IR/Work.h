//===- Work.h - what an operator moves, computes and keeps -----*- C++ -*-===//
//
// Beside workOf (ONNXDialect.h): the pieces that cost models ask for one by
// one. A dimension that is not known counts as 1 everywhere.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ONNX_IR_WORK_H
#define HETHUB_DIALECT_ONNX_IR_WORK_H

#include "hethub/Dialect/ONNX/IR/Node.h"

namespace hethub::ox {

/// Elements of a tensor; 0 for other types.
double elementsOf(mlir::Type type);
/// Bytes of a tensor, at least one byte an element; 0 for other types.
int64_t bytesOf(mlir::Type type);

/// True where the first result shares the storage of the first operand when
/// LibTorch runs it: Reshape, Transpose, Slice and the like. A Reshape of a
/// value that is not contiguous copies, and is no view.
bool isView(mlir::Operation *op);

/// The values that the backward pass of `op` reads: its operands or results.
/// Parameters and constants are not listed, since they are there anyhow; nor
/// are values that are not floats, indices apart.
llvm::SmallVector<mlir::Value> keptValues(mlir::Operation *op);

/// Bytes of values inside `op`, neither operands nor results, that its backward
/// pass reads: gates and states of a recurrent network, step by step.
int64_t keptInside(mlir::Operation *op);

/// The value whose storage `value` shares, through any number of views.
mlir::Value storageOf(mlir::Value value);

/// Iterations of a Loop or Scan where they are constant, else 1.
double tripCount(mlir::Operation *op);

/// True for an hh.get_parameter result, also behind views.
bool isParameter(mlir::Value value);

} // namespace hethub::ox

#endif // HETHUB_DIALECT_ONNX_IR_WORK_H

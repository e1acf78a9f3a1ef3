//===- InferFunction.h - inference over a whole function -------*- C++ -*-===//

#ifndef HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_INFERFUNCTION_H
#define HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_INFERFUNCTION_H

#include "hethub/Dialect/ONNX/IR/Inference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hethub::ox {

/// Refines all types and the function's own; reports failures as diagnostics.
llvm::LogicalResult inferFunction(mlir::func::FuncOp function,
                                  Inference &inference);

} // namespace hethub::ox

#endif // HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_INFERFUNCTION_H

//===- Training.h - what training notes on a model -------------*- C++ -*-===//

#ifndef HETHUB_DIALECT_ONNX_IR_TRAINING_H
#define HETHUB_DIALECT_ONNX_IR_TRAINING_H

#include "llvm/ADT/StringRef.h"

namespace hethub::ox {

/// Marks an operation that runs in training steps: Dropout may draw random
/// numbers, and the running variance of BatchNormalization is LibTorch's.
constexpr llvm::StringLiteral trainingAttrName = "hh.training";

/// Marks the input of @main that holds the labels of an added loss.
constexpr llvm::StringLiteral labelsAttrName = "hh.labels";

} // namespace hethub::ox

#endif // HETHUB_DIALECT_ONNX_IR_TRAINING_H

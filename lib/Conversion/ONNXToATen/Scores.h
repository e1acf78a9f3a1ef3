//===- Scores.h - what classifiers and regressors of ai.onnx.ml share -----===//

#ifndef HETHUB_LIB_CONVERSION_ONNXTOATEN_SCORES_H
#define HETHUB_LIB_CONVERSION_ONNXTOATEN_SCORES_H

#include "Lowering.h"

namespace hethub {

/// A transform of scores [N, C] by its name in attributes post_transform; null
/// for a name that ONNX does not have.
Value postTransform(Lowering &l, Value scores, llvm::StringRef name);
inline Value postTransform(Lowering &l, Value scores) {
  return postTransform(l, scores, l.node.string("post_transform", "NONE"));
}

/// Class labels [N], numbers or strings, of places [N] among them.
Value labelsAt(Lowering &l, Value places);

/// Number of class labels of a classifier.
int64_t labelCount(Lowering &l);

/// What data of any type are computed in: double stays, all others are float.
Value asReal(Lowering &l, Value x);

/// A list of floats as a constant vector of an element type.
Value realVector(Lowering &l, llvm::ArrayRef<double> values, Type element);

constexpr const char *unknownPostTransform =
    "post_transform must be NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT";

} // namespace hethub

#endif // HETHUB_LIB_CONVERSION_ONNXTOATEN_SCORES_H

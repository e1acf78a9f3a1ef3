//===- Scores.cpp - what classifiers and regressors of ai.onnx.ml share ---===//

#include "Scores.h"

using namespace mlir;

namespace hethub {

/// The softmax of the scores that are not 0; those stay 0.
static Value softmaxZero(Lowering &l, Value x) {
  Value largest = l.reduce("amax", x, {1}, true);
  Value zero = l.withReal("le.Scalar", l.unary("abs", x), 1e-7f, l.boolean());
  Value shares = l.where(
      zero, l.binary("mul.Tensor", x, l.unary("exp", l.unary("neg", largest))),
      l.unary("exp", l.binary("sub.Tensor", x, largest)));
  Value sum = l.reduce("sum.dim_IntList", shares, {1}, true);
  Value nothing = l.withReal("eq.Scalar", sum, 0, l.boolean());
  Type element = Lowering::element(x);
  return l.where(nothing, l.fullReal({}, 0.5, element),
                 l.binary("div.Tensor", shares, sum));
}

/// The inverse of the normal distribution, by the approximation of erf^-1 that
/// onnxruntime has.
static Value probit(Lowering &l, Value x) {
  Value y = l.withReal("sub.Scalar", l.withReal("mul.Scalar", x, 2), 1);
  Value logarithm =
      l.unary("log", l.unary("rsub.Scalar", l.binary("mul.Tensor", y, y),
                             {l.arg("other", l.real(1))}));
  Value half =
      l.withReal("add.Scalar", l.withReal("mul.Scalar", logarithm, 0.5),
                 2 / (3.14159 * 0.147));
  Value root = l.binary("mul.Tensor", half, half);
  root =
      l.unary("sqrt", l.binary("sub.Tensor", root,
                               l.withReal("mul.Scalar", logarithm, 1 / 0.147)));
  Value size = l.unary("sqrt", l.binary("sub.Tensor", root, half));
  return l.withReal("mul.Scalar",
                    l.binary("mul.Tensor", l.unary("sign", y), size),
                    1.41421356);
}

Value postTransform(Lowering &l, Value scores, StringRef name) {
  if (name == "NONE")
    return scores;
  if (name == "LOGISTIC")
    return l.unary("sigmoid", scores);
  if (name == "SOFTMAX")
    return l.unary("softmax.int", scores, {l.arg("dim", 1)});
  if (name == "SOFTMAX_ZERO")
    return softmaxZero(l, scores);
  return name == "PROBIT" ? probit(l, scores) : Value();
}

static Dims integerLabels(Lowering &l) {
  for (const char *name : {"classlabels_int64s", "classlabels_ints"})
    if (Dims labels = l.node.integers(name); !labels.empty())
      return labels;
  return {};
}

int64_t labelCount(Lowering &l) {
  if (auto texts =
          dyn_cast_or_null<ArrayAttr>(l.node.attribute("classlabels_strings"));
      texts && !texts.empty())
    return static_cast<int64_t>(texts.size());
  return static_cast<int64_t>(integerLabels(l).size());
}

Value labelsAt(Lowering &l, Value places) {
  Dims labels = integerLabels(l);
  if (labels.empty())
    return l.indexSelect(textConstant(l, "classlabels_strings"), 0, places);
  if (labels == iota(static_cast<int64_t>(labels.size())))
    return places;
  return l.indexSelect(l.constantInts(labels), 0, places);
}

Value asReal(Lowering &l, Value x) {
  return Lowering::element(x).isF64() ? x : l.cast(x, l.f32());
}

Value realVector(Lowering &l, ArrayRef<double> values, Type element) {
  return l.constantReals(values, {static_cast<int64_t>(values.size())},
                         element);
}

} // namespace hethub

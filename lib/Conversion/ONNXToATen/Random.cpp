//===- Random.cpp - numbers drawn when the program runs -------------------===//
//
// LibTorch's generator draws them. Which numbers they are follows from the seed
// of the run; attributes `seed` of nodes are not read, since no other
// implementation would give the same ones.
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// `draw` (rand or randn), times `scale`, plus `offset`.
LogicalResult drawn(Lowering &l, StringRef draw, double scale, double offset) {
  RankedTensorType type = l.outType();
  Type element = type.getElementType();
  Value y =
      l.call(draw, {},
             {l.arg("size", type.getShape()), l.arg("dtype", element)}, type);
  if (scale != 1)
    y = l.withReal("mul.Scalar", y, scale);
  if (offset != 0)
    y = l.withReal("add.Scalar", y, offset);
  return l.done(y);
}

LogicalResult lowerNormal(Lowering &l) {
  return drawn(l, "randn", l.node.real("scale", 1), l.node.real("mean", 0));
}

LogicalResult lowerUniform(Lowering &l) {
  double low = l.node.real("low", 0), high = l.node.real("high", 1);
  return drawn(l, "rand", high - low, low);
}

LogicalResult lowerBernoulli(Lowering &l) {
  Value y = l.unary("bernoulli", l.in(0));
  return l.done(l.cast(y, l.outType().getElementType()));
}

/// The input holds logarithms of what is proportional to probabilities.
LogicalResult lowerMultinomial(Lowering &l) {
  Value logits = l.cast(l.in(0), Lowering::element(l.in(0)).isF64()
                                     ? Lowering::element(l.in(0))
                                     : Type(l.f32()));
  Value weights = l.unary("softmax.int", logits, {l.arg("dim", 1)});
  RankedTensorType type = l.outType();
  Value y = l.call("multinomial", {weights},
                   {l.arg("num_samples", l.node.integer("sample_size", 1)),
                    l.arg("replacement", true)},
                   type.clone(l.i64()));
  return l.done(l.cast(y, type.getElementType()));
}

} // namespace

void addRandomHandlers(HandlerTable &table) {
  for (const char *name : {"RandomNormal", "RandomNormalLike"})
    table[name] = lowerNormal;
  for (const char *name : {"RandomUniform", "RandomUniformLike"})
    table[name] = lowerUniform;
  table["Bernoulli"] = lowerBernoulli;
  table["Multinomial"] = lowerMultinomial;
}

} // namespace hethub

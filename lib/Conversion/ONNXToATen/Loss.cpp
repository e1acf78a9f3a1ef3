//===- Loss.cpp - losses that models carry --------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// -input[target] * weight[target], reduced; `logProb` is [N, C, d1, ...], the
/// target [N, d1, ...].
Value negativeLogLikelihood(Lowering &l, Value logProb, Value target,
                            Value weight, RankedTensorType type) {
  int64_t reduction =
      llvm::StringSwitch<int64_t>(l.node.string("reduction", "mean"))
          .Case("none", 0)
          .Case("mean", 1)
          .Default(2);
  return l.call(
      "nll_loss_nd", {logProb, l.cast(target, l.i64()), weight},
      {l.arg("reduction", reduction),
       // A class number that no target has stands for "none is ignored".
       l.arg("ignore_index", l.node.integer("ignore_index", -100))},
      type);
}

LogicalResult lowerNegativeLogLikelihood(Lowering &l) {
  return l.done(
      negativeLogLikelihood(l, l.in(0), l.in(1), l.in(2), l.outType()));
}

LogicalResult lowerSoftmaxCrossEntropy(Lowering &l) {
  Value logProb = l.unary("log_softmax.int", l.in(0), {l.arg("dim", 1)});
  if (l.node.output(1))
    l.replace(1, logProb);
  return l.done(
      negativeLogLikelihood(l, logProb, l.in(1), l.in(2), l.outType()));
}

} // namespace

void addLossHandlers(HandlerTable &table) {
  table["NegativeLogLikelihoodLoss"] = lowerNegativeLogLikelihood;
  table["SoftmaxCrossEntropyLoss"] = lowerSoftmaxCrossEntropy;
}

} // namespace hethub

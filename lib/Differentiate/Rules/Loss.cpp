//===- Loss.cpp - rules of losses -----------------------------------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

Value likelihood(Derivation &d, StringRef name) {
  return d.call(name,
                {d.grad(), d.self(), d.in("target"), d.in("weight"), d.out(1)},
                d.arguments({"reduction", "ignore_index"}), d.typeOf(d.self()));
}
/// Labels and weights of classes have none, as in torch.
LogicalResult likelihoodRule(Derivation &d, StringRef name) {
  if (d.hasOtherGradients())
    return d.refuse("the sum of its weights has no gradient");
  d.give("self", [&] { return likelihood(d, name); });
  return success();
}
LogicalResult ofClasses(Derivation &d) {
  return likelihoodRule(d, "nll_loss_backward");
}
LogicalResult ofImages(Derivation &d) {
  return likelihoodRule(d, "nll_loss2d_backward");
}

/// The form that gives the sum of the weights: for one or two axes, or for
/// images, which stand for any number of further axes.
LogicalResult anyRank(Derivation &d) {
  CallBuilder &forward = d.forward();
  Value x = d.self(), target = d.in("target");
  Dims dims(d.dims(x)), outDims(d.dims(d.out()));
  Type element = d.element(x);
  bool image = dims.size() > 2;
  if (image) {
    int64_t rest = product(ArrayRef(dims).drop_front(2));
    x = forward.reshape(x, {dims[0], dims[1], 1, rest});
    target = forward.reshape(target, {dims[0], 1, rest});
    if (!outDims.empty())
      outDims = {dims[0], 1, rest};
  }
  Values results = forward.calls(
      image ? "nll_loss2d_forward" : "nll_loss_forward",
      {x, target, d.in("weight")}, d.arguments({"reduction", "ignore_index"}),
      {d.tensor(outDims, element), d.tensor({}, element)});
  return d.decompose(forward.reshape(results[0], d.dims(d.out())));
}

} // namespace

void addLossRules(RuleTable &table) {
  table["aten::nll_loss2d_forward"] = ofImages;
  table["aten::nll_loss_forward"] = ofClasses;
  table["aten::nll_loss_nd"] = anyRank;
}

} // namespace hethub::differentiate

//===- Normalization.cpp - rules of norms ---------------------------------===//

#include "../Derivation.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"

#include <limits>

using namespace mlir;

namespace hethub::differentiate {

namespace {

LogicalResult refuseStatistics(Derivation &d) {
  return d.refuse("its mean and deviation have no gradient");
}

/// Gives the gradients of input, weight and bias by a backward operator with a
/// mask: two calls, one for the data and one for the parameters.
void giveByMask(Derivation &d,
                function_ref<Values(ArrayRef<bool>, ArrayRef<Type>)> backward) {
  Value x = d.in("input"), w = d.in("weight"), b = d.in("bias");
  Type none = d.absent(d.element(x));
  bool ofWeight = d.wants(w), ofBias = d.wants(b);
  d.give("input", [&] {
    return backward({true, false, false}, {x.getType(), none, none})[0];
  });
  if (!ofWeight && !ofBias)
    return;
  Values gradients =
      backward({false, ofWeight, ofBias}, {none, ofWeight ? w.getType() : none,
                                           ofBias ? b.getType() : none});
  d.give("weight", [&] { return gradients[1]; });
  d.give("bias", [&] { return gradients[2]; });
}

/// The element type of means and deviations: small floats have those of 32 bits
/// on graphics processors, on others where the weights have.
Type statisticElement(Derivation &d) {
  Value x = d.in("input"), w = d.in("weight");
  Type element = d.element(x);
  bool isSmall = element.getIntOrFloatBitWidth() < 32;
  bool isMixed = w && d.element(w) != element;
  return isSmall && (isMixed || d.deviceKind() == "cuda") ? d.f32() : element;
}

//===----------------------------------------------------------------------===//
// Over the last axes
//===----------------------------------------------------------------------===//

LogicalResult nativeLayerNorm(Derivation &d) {
  if (d.hasOtherGradients())
    return refuseStatistics(d);
  giveByMask(d, [&](ArrayRef<bool> mask, ArrayRef<Type> types) {
    return d.calls("native_layer_norm_backward",
                   {d.grad(), d.in("input"), d.out(1), d.out(2), d.in("weight"),
                    d.in("bias")},
                   {d.same("normalized_shape"), d.mask(mask)}, types);
  });
  return success();
}

LogicalResult layerNorm(Derivation &d) {
  Value x = d.in("input");
  Dims reduced(d.dims(x));
  size_t normalized = d.ints("normalized_shape").size();
  for (size_t i = reduced.size() - normalized; i < reduced.size(); ++i)
    reduced[i] = 1;
  Type statistic = d.tensor(reduced, statisticElement(d));
  Values results =
      d.forward().calls("native_layer_norm", {x, d.in("weight"), d.in("bias")},
                        d.arguments({"normalized_shape", "eps"}),
                        {d.typeOf(d.out()), statistic, statistic});
  return d.decompose(results[0]);
}

/// y = x r w with r = 1 / sqrt(mean(x^2) + eps):
/// dx = g w r - x r^3 mean(g w x), in the order in which autograd computes it:
/// the two terms may nearly cancel. r is computed again: that costs less than
/// to keep it. Small floats are computed in 32 bits, as the operator does.
LogicalResult rmsNorm(Derivation &d) {
  Value x = d.in("input"), w = d.in("weight"), g = d.grad();
  Type given = d.element(x);
  Type computed = given.getIntOrFloatBitWidth() < 32 ? d.f32() : given;
  double epsilon = computed.isF64() ? std::numeric_limits<double>::epsilon()
                                    : std::numeric_limits<float>::epsilon();
  if (d.attribute("eps"))
    epsilon = d.real("eps");
  int64_t rank = d.rank(x);
  Dims axes;
  for (size_t i = 0, n = d.ints("normalized_shape").size(); i < n; ++i)
    axes.push_back(rank - n + i);
  Value wide = d.cast(x, computed);
  g = d.cast(g, computed);
  double count = static_cast<double>(product(d.dims(x).take_back(axes.size())));
  Value mean = d.reduce("mean.dim", d.square(wide), axes, true);
  Value scale = d.unary("rsqrt", d.plus(mean, epsilon));
  d.give("input", [&] {
    Value scaled = w ? d.mul(g, d.cast(w, computed)) : g;
    Value along = d.reduce("sum.dim_IntList", d.mul(scaled, wide), axes, true);
    Value cube = d.withInt("pow.Tensor_Scalar", scale, 3);
    Value slope =
        d.withReal("div.Scalar", d.mul(d.times(along, -0.5), cube), count);
    return d.add(d.mul(scaled, scale), d.mul(wide, d.times(slope, 2)));
  });
  d.give("weight", [&] { return d.mul(g, d.mul(wide, scale)); });
  return success();
}

//===----------------------------------------------------------------------===//
// Over groups of channels
//===----------------------------------------------------------------------===//

LogicalResult nativeGroupNorm(Derivation &d) {
  if (d.hasOtherGradients())
    return refuseStatistics(d);
  Value g = d.contiguous(d.grad()), x = d.contiguous(d.in("input"));
  giveByMask(d, [&](ArrayRef<bool> mask, ArrayRef<Type> types) {
    SmallVector<NamedArg> args = d.arguments({"N", "C", "HxW", "group"});
    args.push_back(d.mask(mask));
    return d.calls("native_group_norm_backward",
                   {g, x, d.out(1), d.out(2), d.in("weight")}, args, types);
  });
  return success();
}

LogicalResult byGroups(Derivation &d, int64_t groups) {
  Value x = d.in("input");
  ArrayRef<int64_t> dims = d.dims(x);
  CallBuilder &forward = d.forward();
  Type statistic = d.tensor({dims[0], groups}, statisticElement(d));
  Values results = forward.calls(
      "native_group_norm",
      {forward.unary("contiguous", x), d.in("weight"), d.in("bias")},
      {d.arg("N", dims[0]), d.arg("C", dims[1]),
       d.arg("HxW", product(dims.drop_front(2))), d.arg("group", groups),
       d.same("eps")},
      {d.typeOf(d.out()), statistic, statistic});
  return d.decompose(results[0]);
}

LogicalResult groupNorm(Derivation &d) {
  return byGroups(d, d.integer("num_groups"));
}

/// A group norm with one channel a group.
LogicalResult instanceNorm(Derivation &d) {
  if (!d.flag("use_input_stats"))
    return d.refuse("instance norm with running statistics has no gradient");
  return byGroups(d, d.dims(d.in("input"))[1]);
}

//===----------------------------------------------------------------------===//
// Over the batch
//===----------------------------------------------------------------------===//

/// Running statistics are parameters of the model, but the loss does not train
/// them.
bool isParameter(Value value) {
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
    if (isa<hh::GetParameterOp>(op))
      return true;
    if (op->getNumOperands() != 1)
      return false;
    value = op->getOperand(0);
  }
  return false;
}

void batchNormGradients(Derivation &d, bool training, Value mean,
                        Value inverseDeviation) {
  giveByMask(d, [&](ArrayRef<bool> mask, ArrayRef<Type> types) {
    return d.calls(
        "native_batch_norm_backward",
        {d.grad(), d.in("input"), d.in("weight"), d.in("running_mean"),
         d.in("running_var"), mean, inverseDeviation},
        {d.arg("train", training), d.same("eps"), d.mask(mask)}, types);
  });
}

LogicalResult nativeBatchNorm(Derivation &d) {
  if (d.hasOtherGradients())
    return refuseStatistics(d);
  bool training = d.flag("training");
  batchNormGradients(d, training, training ? d.out(1) : Value(),
                     training ? d.out(2) : Value());
  return success();
}

/// Statistics that come from computation are differentiated like weights.
void giveOfStatistics(Derivation &d) {
  Value x = d.in("input"), w = d.in("weight"), g = d.grad();
  Value mean = d.in("running_mean"), variance = d.in("running_var");
  bool ofMean = d.wants(mean) && !isParameter(mean);
  bool ofVariance = d.wants(variance) && !isParameter(variance);
  if (!ofMean && !ofVariance)
    return;
  int64_t rank = d.rank(x);
  Dims channels(rank, 1), axes = iota(rank);
  channels[1] = d.dims(x)[1];
  axes.erase(axes.begin() + 1);
  auto sum = [&](Value v) {
    return d.reduce("sum.dim_IntList", v, axes, false);
  };
  Value scale = d.unary("rsqrt", d.plus(variance, d.real("eps")));
  Value weighted = w ? d.mul(w, scale) : scale;
  if (ofMean)
    d.give(mean, d.neg(d.mul(sum(g), weighted)));
  if (!ofVariance)
    return;
  Value centred = d.sub(x, d.reshape(mean, channels));
  Value slope = d.times(d.mul(weighted, d.square(scale)), -0.5);
  d.give(variance, d.mul(sum(d.mul(g, centred)), slope));
}

LogicalResult batchNorm(Derivation &d) {
  if (!d.flag("training")) {
    batchNormGradients(d, false, nullptr, nullptr);
    giveOfStatistics(d);
    return success();
  }
  if (d.in("running_mean") || d.in("running_var"))
    return d.refuse("batch norm must not overwrite its running statistics: "
                    "native_batch_norm gives those of the batch");
  Value x = d.in("input");
  Type statistic = d.tensor({d.dims(x)[1]}, statisticElement(d));
  Values results = d.forward().calls(
      "native_batch_norm", {x, d.in("weight"), d.in("bias"), Value(), Value()},
      d.arguments({"training", "momentum", "eps"}),
      {d.typeOf(d.out()), statistic, statistic});
  return d.decompose(results[0]);
}

} // namespace

void addNormalizationRules(RuleTable &table) {
  table["aten::batch_norm"] = batchNorm;
  table["aten::group_norm"] = groupNorm;
  table["aten::instance_norm"] = instanceNorm;
  table["aten::layer_norm"] = layerNorm;
  table["aten::native_batch_norm"] = nativeBatchNorm;
  table["aten::native_group_norm"] = nativeGroupNorm;
  table["aten::native_layer_norm"] = nativeLayerNorm;
  table["aten::rms_norm"] = rmsNorm;
}

} // namespace hethub::differentiate

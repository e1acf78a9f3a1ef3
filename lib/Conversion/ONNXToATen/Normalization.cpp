//===- Normalization.cpp - batch, layer, group and other norms ------------===//

#include "Lowering.h"

#include "hethub/Dialect/ONNX/IR/Training.h"

using namespace mlir;

namespace hethub {

namespace {

constexpr double defaultEpsilon = 1e-5f;

/// A vector over the channels (axis 1) of a tensor of that rank.
Value channelShaped(Lowering &l, Value vector, int64_t rank) {
  Dims shape(rank, 1);
  shape[1] = Lowering::dims(vector).front();
  return l.reshape(vector, shape);
}

/// All axes but that of the channels.
Dims statisticAxes(int64_t rank) {
  Dims axes = iota(rank);
  axes.erase(axes.begin() + 1);
  return axes;
}

/// In training steps: with the statistics that the backward pass needs. The
/// running ones follow LibTorch, whose variance is the unbiased one, since what
/// a step leaves in the parameters is what torch would have left there.
LogicalResult lowerTrainedBatchNorm(Lowering &l) {
  Value x = l.in(0);
  Type element = Lowering::element(x);
  Type computed = element.getIntOrFloatBitWidth() < 32 ? l.f32() : element;
  int64_t channels = Lowering::dims(x)[1];
  double count = static_cast<double>(product(Lowering::dims(x))) /
                 static_cast<double>(std::max<int64_t>(channels, 1));
  if (count < 2)
    return l.refuse("training needs at least two values of each channel");
  double epsilon = l.node.real("epsilon", defaultEpsilon);
  double momentum = l.node.real("momentum", 0.9f);
  auto as = [&](Value v) { return l.cast(v, computed); };
  RankedTensorType statistic = Lowering::tensor({channels}, computed);
  Values made = l.calls(
      "native_batch_norm", {as(x), as(l.in(1)), as(l.in(2)), Value(), Value()},
      {l.arg("training", true), l.arg("momentum", 0.0), l.arg("eps", epsilon)},
      {Lowering::typeOf(x).clone(computed), statistic, statistic});
  auto running = [&](unsigned input, Value now, double weight) {
    Value old = l.withReal("mul.Scalar", as(l.in(input)), momentum);
    now = l.withReal("mul.Scalar", now, (1 - momentum) * weight);
    Value moved = l.binary("add.Tensor", old, now);
    return l.cast(moved, Lowering::element(l.in(input)));
  };
  if (l.wants(1))
    l.replace(1, running(3, made[1], 1));
  if (l.wants(2)) {
    // The third result is 1 / sqrt(variance + epsilon).
    Value variance = l.withReal("pow.Tensor_Scalar", made[2], -2);
    variance = l.withReal("add.Scalar", variance, -epsilon);
    l.replace(2, running(4, variance, count / (count - 1)));
  }
  return l.done(l.cast(made[0], element));
}

LogicalResult lowerBatchNorm(Lowering &l) {
  Value x = l.in(0), scale = l.in(1), bias = l.in(2), mean = l.in(3),
        variance = l.in(4);
  int64_t rank = Lowering::rank(x);
  if (rank < 2)
    return l.refuse("the input must have at least two axes");
  if (l.node.operation()->hasAttr(ox::trainingAttrName))
    return lowerTrainedBatchNorm(l);
  double epsilon = l.node.real("epsilon", defaultEpsilon);
  Type element = Lowering::element(x);
  if (l.node.integer("training_mode", 0)) {
    // Batch statistics normalise; running ones move towards them.
    double momentum = l.node.real("momentum", 0.9f);
    Value batchMean = l.reduce("mean.dim", x, statisticAxes(rank), false);
    Value batchVariance = l.reduce("var.correction", x, statisticAxes(rank),
                                   false, {l.arg("correction", l.integer(0))});
    auto running = [&](Value old, Value now) {
      now = l.cast(now, Lowering::element(old));
      return l.binary("add.Tensor", l.withReal("mul.Scalar", old, momentum),
                      l.withReal("mul.Scalar", now, 1 - momentum));
    };
    if (l.node.output(1))
      l.replace(1, running(mean, batchMean));
    if (l.node.output(2))
      l.replace(2, running(variance, batchVariance));
    mean = batchMean;
    variance = batchVariance;
  }
  // LibTorch wants one type for all four vectors: that of the data, or float
  // for smaller data.
  auto as = [&](Value v) { return l.cast(v, element); };
  return l.done(l.call("batch_norm",
                       {x, as(scale), as(bias), as(mean), as(variance)},
                       {l.arg("training", false), l.arg("momentum", 0.0),
                        l.arg("eps", epsilon), l.arg("cudnn_enabled", true)},
                       Lowering::typeOf(x)));
}

LogicalResult lowerInstanceNorm(Lowering &l) {
  Value x = l.in(0);
  if (Lowering::rank(x) < 3)
    return l.refuse("the input must have at least three axes");
  return l.done(l.call("instance_norm", {x, l.in(1), l.in(2), Value(), Value()},
                       {l.arg("use_input_stats", true), l.arg("momentum", 0.0),
                        l.arg("eps", l.node.real("epsilon", defaultEpsilon)),
                        l.arg("cudnn_enabled", true)},
                       Lowering::typeOf(x)));
}

/// The type statistics are computed in, where LibTorch's kernel does not do so
/// by itself; null where it does: it computes small floats in 32 bits.
Type stashType(Lowering &l, Type element) {
  Type stash =
      elementTypeOf(l.node.integer("stash_type", 1), l.builder.getContext());
  bool small = element.getIntOrFloatBitWidth() < 32;
  if (stash == element || (stash && stash.isF32() && small))
    return nullptr;
  return stash;
}

LogicalResult lowerGroupNorm(Lowering &l) {
  Value x = l.in(0);
  Type element = Lowering::element(x), stash = stashType(l, element);
  SmallVector<NamedArg> args{
      l.arg("num_groups", l.node.integer("num_groups", 1)),
      l.arg("eps", l.node.real("epsilon", defaultEpsilon))};
  if (!stash)
    return l.done(
        l.call("group_norm", {x, l.in(1), l.in(2)}, args, Lowering::typeOf(x)));
  Value y = l.call("group_norm", {l.cast(x, stash)}, args,
                   Lowering::tensor(Lowering::dims(x), stash));
  y = l.cast(y, element);
  int64_t rank = Lowering::rank(x);
  y = l.binary("mul.Tensor", y, channelShaped(l, l.in(1), rank));
  return l.done(l.binary("add.Tensor", y, channelShaped(l, l.in(2), rank)));
}

LogicalResult lowerLayerNorm(Lowering &l) {
  Value x = l.in(0), scale = l.in(1), bias = l.in(2);
  int64_t rank = Lowering::rank(x), axis = l.axis("axis", -1, rank);
  Dims normalized(Lowering::dims(x).drop_front(axis));
  Type element = Lowering::element(x), stash = stashType(l, element);
  bool fits = Lowering::dims(scale) == ArrayRef(normalized) &&
              (!bias || Lowering::dims(bias) == ArrayRef(normalized));
  bool inside = !stash && fits; // scale and bias inside of the kernel
  Value data = stash ? l.cast(x, stash) : x;
  SmallVector<NamedArg> args{
      l.arg("normalized_shape", normalized),
      l.arg("eps", l.node.real("epsilon", defaultEpsilon))};
  Value weight = inside ? scale : Value(), offset = inside ? bias : Value();
  Value y;
  if (l.node.output(1) || l.node.output(2)) {
    Dims reduced(Lowering::dims(x));
    for (int64_t i = axis; i < rank; ++i)
      reduced[i] = 1;
    RankedTensorType statistic =
        Lowering::tensor(reduced, Lowering::element(data));
    Values results = l.calls("native_layer_norm", {data, weight, offset}, args,
                             {Lowering::typeOf(data), statistic, statistic});
    y = results[0];
    for (unsigned i : {1u, 2u})
      if (l.node.output(i))
        l.replace(i, l.cast(results[i], l.outType(i).getElementType()));
  } else {
    y = l.call("layer_norm", {data, weight, offset}, args,
               Lowering::typeOf(data));
  }
  y = l.cast(y, element);
  if (!inside) {
    y = l.binary("mul.Tensor", y, scale);
    if (bias)
      y = l.binary("add.Tensor", y, bias);
  }
  return l.done(y);
}

LogicalResult lowerRMSNorm(Lowering &l) {
  Value x = l.in(0), scale = l.in(1);
  int64_t axis = l.axis("axis", -1, Lowering::rank(x));
  Dims normalized(Lowering::dims(x).drop_front(axis));
  Type element = Lowering::element(x), stash = stashType(l, element);
  bool inside = !stash && Lowering::dims(scale) == ArrayRef(normalized) &&
                Lowering::element(scale) == element;
  Value data = stash ? l.cast(x, stash) : x;
  Value y = l.call("rms_norm", {data, inside ? scale : Value()},
                   {l.arg("normalized_shape", normalized),
                    l.arg("eps", l.node.real("epsilon", defaultEpsilon))},
                   Lowering::typeOf(data));
  if (inside)
    return l.done(y);
  Type result = l.outType().getElementType();
  y = l.binary("mul.Tensor", l.cast(y, result), l.cast(scale, result));
  return l.done(y);
}

/// x / ||x||_p along an axis, 0 where the norm is 0.
LogicalResult lowerLpNorm(Lowering &l) {
  Value x = l.in(0);
  int64_t axis = l.axis("axis", -1, Lowering::rank(x));
  Value norm = l.reduce("linalg_vector_norm", x, {axis}, true,
                        {l.arg("ord", l.integer(l.node.integer("p", 2)))});
  Value zero = l.withReal("eq.Scalar", norm, 0, l.boolean());
  norm = l.unary("to.dtype", norm, {l.arg("dtype", Lowering::element(x))});
  norm = l.call("masked_fill.Scalar", {norm, zero}, {l.arg("value", l.real(1))},
                Lowering::typeOf(norm));
  return l.done(l.binary("div.Tensor", x, norm));
}

/// x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta
LogicalResult lowerLRN(Lowering &l) {
  Value x = l.in(0);
  int64_t rank = Lowering::rank(x), size = l.node.integer("size", 1);
  int64_t channels = Lowering::dims(x)[1];
  Dims before(rank, 0), after(rank, 0);
  before[1] = (size - 1) / 2;
  after[1] = size - 1 - before[1];
  Value squares = l.pad(l.binary("mul.Tensor", x, x), before, after, 0.0);
  Value sum;
  for (int64_t i = 0; i < size; ++i) {
    Value part = l.slice(squares, 1, i, i + channels);
    sum = sum ? l.binary("add.Tensor", sum, part) : part;
  }
  Value below =
      l.withReal("mul.Scalar", sum, l.node.real("alpha", 0.0001f) / size);
  below = l.withReal("add.Scalar", below, l.node.real("bias", 1));
  below = l.withReal("pow.Tensor_Scalar", below, l.node.real("beta", 0.75f));
  return l.done(l.binary("div.Tensor", x, below));
}

/// (x - mean) / (standard deviation + 1e-9), as the operator's function body
/// defines it.
LogicalResult lowerMeanVariance(Lowering &l) {
  Value x = l.in(0);
  Dims axes = l.node.integers("axes");
  if (!l.node.attribute("axes"))
    axes = {0, 2, 3};
  for (int64_t &axis : axes)
    axis += axis < 0 ? Lowering::rank(x) : 0;
  Value mean = l.reduce("mean.dim", x, axes, true);
  Value meanOfSquares =
      l.reduce("mean.dim", l.binary("mul.Tensor", x, x), axes, true);
  Value variance =
      l.binary("sub.Tensor", meanOfSquares, l.binary("mul.Tensor", mean, mean));
  Value deviation = l.withReal("add.Scalar", l.unary("sqrt", variance), 1e-9f);
  return l.done(
      l.binary("div.Tensor", l.binary("sub.Tensor", x, mean), deviation));
}

} // namespace

void addNormalizationHandlers(HandlerTable &table) {
  table["BatchNormalization"] = lowerBatchNorm;
  table["InstanceNormalization"] = lowerInstanceNorm;
  table["GroupNormalization"] = lowerGroupNorm;
  table["LayerNormalization"] = lowerLayerNorm;
  table["RMSNormalization"] = lowerRMSNorm;
  table["LpNormalization"] = lowerLpNorm;
  table["LRN"] = lowerLRN;
  table["MeanVarianceNormalization"] = lowerMeanVariance;
}

} // namespace hethub

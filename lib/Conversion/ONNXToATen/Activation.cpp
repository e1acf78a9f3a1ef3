//===- Activation.cpp - activation functions ------------------------------===//

#include "Lowering.h"

#include "hethub/Dialect/ONNX/IR/Training.h"

using namespace mlir;

namespace hethub {

namespace {

LogicalResult lowerPlain(Lowering &l) {
  StringRef name = llvm::StringSwitch<StringRef>(l.node.opType())
                       .Case("HardSwish", "hardswish")
                       .Case("Mish", "mish")
                       .Case("Relu", "relu")
                       .Case("Sigmoid", "sigmoid")
                       .Case("Tanh", "tanh");
  return l.done(l.unary(name, l.in(0)));
}

LogicalResult lowerCelu(Lowering &l) {
  return l.done(
      l.unary("celu", l.in(0), {l.arg("alpha", l.node.real("alpha", 1))}));
}

LogicalResult lowerElu(Lowering &l) {
  return l.done(
      l.unary("elu", l.in(0), {l.arg("alpha", l.node.real("alpha", 1))}));
}

LogicalResult lowerSelu(Lowering &l) {
  return l.done(l.unary(
      "elu", l.in(0),
      {l.arg("alpha", l.node.real("alpha", 1.67326319217681884765625)),
       l.arg("scale", l.node.real("gamma", 1.05070102214813232421875))}));
}

LogicalResult lowerLeakyRelu(Lowering &l) {
  return l.done(
      l.unary("leaky_relu", l.in(0),
              {l.arg("negative_slope", l.node.real("alpha", 0.01f))}));
}

LogicalResult lowerThresholdedRelu(Lowering &l) {
  return l.done(l.unary(
      "threshold", l.in(0),
      {l.arg("threshold", l.node.real("alpha", 1)), l.arg("value", 0.0)}));
}

/// The slope broadcasts to x: where(x < 0, slope * x, x).
LogicalResult lowerPRelu(Lowering &l) {
  // Unsigned numbers are never negative.
  if (Lowering::element(l.in(0)).isUnsignedInteger())
    return l.done(l.in(0));
  Value x = l.in(0);
  Type element = Lowering::element(x);
  Value negative =
      l.withScalar("lt.Scalar", x, l.number(0, element), l.boolean());
  return l.done(l.where(negative, l.binary("mul.Tensor", x, l.in(1)), x));
}

LogicalResult lowerHardSigmoid(Lowering &l) {
  double alpha = l.node.real("alpha", 0.2f), beta = l.node.real("beta", 0.5);
  if (alpha == static_cast<double>(1.0f / 6.0f) && beta == 0.5)
    return l.done(l.unary("hardsigmoid", l.in(0)));
  Value y = l.withReal("mul.Scalar", l.in(0), alpha);
  y = l.withReal("add.Scalar", y, beta);
  return l.done(l.unary("clamp", y, {l.arg("min", 0.0), l.arg("max", 1.0)}));
}

LogicalResult lowerGelu(Lowering &l) {
  return l.done(
      l.unary("gelu", l.in(0),
              {l.arg("approximate", l.node.string("approximate", "none"))}));
}

/// x * sigmoid(alpha * x)
Value swish(Lowering &l, Value x) {
  double alpha = l.node.real("alpha", 1);
  if (alpha == 1)
    return l.unary("silu", x);
  Value gate = l.unary("sigmoid", l.withReal("mul.Scalar", x, alpha));
  return l.binary("mul.Tensor", x, gate);
}

LogicalResult lowerSwish(Lowering &l) { return l.done(swish(l, l.in(0))); }

LogicalResult lowerSwiGLU(Lowering &l) {
  return l.done(l.binary("mul.Tensor", swish(l, l.in(0)), l.in(1)));
}

LogicalResult lowerSoftplus(Lowering &l) {
  // Above the threshold log(1 + exp(x)) is x to the last bit of the type.
  bool isDouble = Lowering::element(l.in(0)).isF64();
  return l.done(l.unary("softplus", l.in(0),
                        {l.arg("threshold", l.integer(isDouble ? 40 : 20))}));
}

/// x / (1 + |x|)
LogicalResult lowerSoftsign(Lowering &l) {
  Value below = l.withInt("add.Scalar", l.unary("abs", l.in(0)), 1);
  return l.done(l.binary("div.Tensor", l.in(0), below));
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
LogicalResult lowerShrink(Lowering &l) {
  double lambda = l.node.real("lambd", 0.5), bias = l.node.real("bias", 0);
  Value x = l.in(0);
  Type element = Lowering::element(x);
  Type computed = isFloat(element) ? element : l.f32();
  Value y = l.widen(x);
  y = l.cast(y, computed);
  Value low = l.withReal("lt.Scalar", y, -lambda, l.boolean());
  Value high = l.withReal("gt.Scalar", y, lambda, l.boolean());
  Value zero = l.fullReal({}, 0, computed);
  Value result =
      l.where(low, l.withReal("add.Scalar", y, bias),
              l.where(high, l.withReal("sub.Scalar", y, bias), zero));
  return l.done(l.cast(result, element));
}

LogicalResult lowerSoftmax(Lowering &l) {
  bool log = l.node.opType() == "LogSoftmax";
  int64_t axis = l.axis("axis", -1, Lowering::rank(l.in(0)));
  return l.done(l.unary(log ? "log_softmax.int" : "softmax.int", l.in(0),
                        {l.arg("dim", axis)}));
}

/// One at the first largest element of an axis, zero elsewhere.
LogicalResult lowerHardmax(Lowering &l) {
  Value x = l.in(0);
  int64_t axis = l.axis("axis", -1, Lowering::rank(x));
  Dims reduced(Lowering::dims(x));
  reduced[axis] = 1;
  Value largest =
      l.call("argmax", {x}, {l.arg("dim", axis), l.arg("keepdim", true)},
             Lowering::tensor(reduced, l.i64()));
  Dims shape(Lowering::rank(x), 1);
  shape[axis] = Lowering::dims(x)[axis];
  Value positions = l.constantInts(iota(shape[axis]), shape);
  Value hit = l.binary("eq.Tensor", largest, positions, {}, l.boolean());
  return l.done(l.cast(hit, Lowering::element(x)));
}

/// Inference: the data, and a mask of ones. Random numbers are for training
/// steps: a model that draws them elsewhere was exported in the wrong mode.
LogicalResult lowerDropout(Lowering &l) {
  Attribute training = l.has(2) ? l.scalar(l.in(2)) : Attribute();
  if (l.has(2) && !training)
    return l.refuse("training_mode must be a constant");
  Attribute ratio = l.has(1) ? l.scalar(l.in(1)) : Attribute(l.real(0.5));
  auto real = dyn_cast_or_null<FloatAttr>(ratio);
  bool drops = training && cast<BoolAttr>(training).getValue() &&
               !(real && real.getValueAsDouble() == 0);
  if (drops && !l.node.operation()->hasAttr(ox::trainingAttrName))
    return l.refuse("dropout in training mode is random");
  if (drops) {
    if (!real)
      return l.refuse("the ratio must be a constant");
    RankedTensorType type = l.outType();
    Values made =
        l.calls("native_dropout", {l.in(0)},
                {l.arg("p", real.getValueAsDouble()), l.arg("train", true)},
                {type, type.clone(l.boolean())});
    if (l.node.output(1))
      l.replace(1, made[1]);
    return l.done(made[0]);
  }
  if (l.node.output(1))
    l.replace(1, l.full(l.outType(1).getShape(), l.builder.getBoolAttr(true),
                        l.boolean()));
  return l.done(l.in(0));
}

} // namespace

void addActivationHandlers(HandlerTable &table) {
  for (const char *name : {"HardSwish", "Mish", "Relu", "Sigmoid", "Tanh"})
    table[name] = lowerPlain;
  table["Celu"] = lowerCelu;
  table["Elu"] = lowerElu;
  table["Selu"] = lowerSelu;
  table["LeakyRelu"] = lowerLeakyRelu;
  table["ThresholdedRelu"] = lowerThresholdedRelu;
  table["PRelu"] = lowerPRelu;
  table["HardSigmoid"] = lowerHardSigmoid;
  table["Gelu"] = lowerGelu;
  table["Swish"] = lowerSwish;
  table["SwiGLU"] = lowerSwiGLU;
  table["Softplus"] = lowerSoftplus;
  table["Softsign"] = lowerSoftsign;
  table["Shrink"] = lowerShrink;
  table["Softmax"] = lowerSoftmax;
  table["LogSoftmax"] = lowerSoftmax;
  table["Hardmax"] = lowerHardmax;
  table["Dropout"] = lowerDropout;
}

} // namespace hethub

//===- Activations.cpp - rules of activation functions --------------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

/// A backward operator of the gradient and one more tensor.
static Value backwardOf(Derivation &d, StringRef name, Value of,
                        ArrayRef<NamedArg> args = {}) {
  return d.call(name, {d.grad(), of}, args, Derivation::typeOf(d.grad()));
}

static Value gelu(Derivation &d) {
  return backwardOf(d, "gelu_backward", d.self(), d.arguments({"approximate"}));
}
static Value hardsigmoid(Derivation &d) {
  return backwardOf(d, "hardsigmoid_backward", d.self());
}
static Value hardswish(Derivation &d) {
  return backwardOf(d, "hardswish_backward", d.self());
}
static Value leakyRelu(Derivation &d) {
  return backwardOf(d, "leaky_relu_backward", d.self(),
                    {d.same("negative_slope"), d.arg("self_is_result", false)});
}
static Value mish(Derivation &d) {
  return backwardOf(d, "mish_backward", d.self());
}
static Value relu(Derivation &d) {
  return backwardOf(d, "threshold_backward", d.out(),
                    {d.arg("threshold", d.number(0, d.i64()))});
}
static Value sigmoid(Derivation &d) {
  return backwardOf(d, "sigmoid_backward", d.out());
}
static Value silu(Derivation &d) {
  return backwardOf(d, "silu_backward", d.self());
}
static Value softplus(Derivation &d) {
  return backwardOf(d, "softplus_backward", d.self(),
                    d.arguments({"beta", "threshold"}));
}
static Value tanh(Derivation &d) {
  return backwardOf(d, "tanh_backward", d.out());
}
static Value threshold(Derivation &d) {
  return backwardOf(d, "threshold_backward", d.self(),
                    d.arguments({"threshold"}));
}

static Value eluBackward(Derivation &d, Attribute alpha, Attribute scale,
                         Attribute inputScale) {
  return backwardOf(d, "elu_backward", d.self(),
                    {d.arg("alpha", alpha), d.arg("scale", scale),
                     d.arg("input_scale", inputScale),
                     d.arg("is_result", false)});
}
static Value elu(Derivation &d) {
  return eluBackward(d, d.attribute("alpha"), d.attribute("scale"),
                     d.attribute("input_scale"));
}
static Value celu(Derivation &d) {
  double alpha = d.real("alpha");
  return eluBackward(d, d.real(alpha), d.real(1.0), d.real(1 / alpha));
}

/// softmax and log_softmax; a `dtype` is that of the result, which give() casts
/// back.
static Value softmaxBackward(Derivation &d, StringRef name) {
  Value y = d.out();
  return d.call(name, {d.grad(), y},
                {d.same("dim"), d.arg("input_dtype", d.element(y))},
                Derivation::typeOf(y));
}
static Value softmax(Derivation &d) {
  return softmaxBackward(d, "_softmax_backward_data");
}
static Value logSoftmax(Derivation &d) {
  return softmaxBackward(d, "_log_softmax_backward_data");
}

static LogicalResult dropout(Derivation &d) {
  auto train = dyn_cast_or_null<BoolAttr>(d.attribute("train"));
  double p = d.real("p");
  d.give("input", [&] {
    if (train && !train.getValue())
      return d.grad();
    return d.call("native_dropout_backward", {d.grad(), d.out(1)},
                  {d.arg("scale", p == 1 ? 0 : 1 / (1 - p))},
                  Derivation::typeOf(d.grad()));
  });
  return success();
}

void addActivationRules(RuleTable &table) {
  table["aten::celu"] = ofSelf<celu>;
  table["aten::elu"] = ofSelf<elu>;
  table["aten::gelu"] = ofSelf<gelu>;
  table["aten::hardsigmoid"] = ofSelf<hardsigmoid>;
  table["aten::hardswish"] = ofSelf<hardswish>;
  table["aten::leaky_relu"] = ofSelf<leakyRelu>;
  table["aten::log_softmax.int"] = ofSelf<logSoftmax>;
  table["aten::mish"] = ofSelf<mish>;
  table["aten::native_dropout"] = dropout;
  table["aten::relu"] = ofSelf<relu>;
  table["aten::sigmoid"] = ofSelf<sigmoid>;
  table["aten::silu"] = ofSelf<silu>;
  table["aten::softmax.int"] = ofSelf<softmax>;
  table["aten::softplus"] = ofSelf<softplus>;
  table["aten::tanh"] = ofSelf<tanh>;
  table["aten::threshold"] = ofSelf<threshold>;
}

} // namespace hethub::differentiate

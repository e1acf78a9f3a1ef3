//===- Optimizer.cpp - training steps that models carry as operators ------===//
//
// Adagrad, Adam and Momentum of ai.onnx.preview.training: each takes a learning
// rate, the number of steps done, and for n tensors their values, gradients and
// state, as lists one behind the other.
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

class Step {
public:
  explicit Step(Lowering &l) : l(l) {}

  Value add(Value a, Value b) { return l.binary("add.Tensor", a, b); }
  Value sub(Value a, Value b) { return l.binary("sub.Tensor", a, b); }
  Value mul(Value a, Value b) { return l.binary("mul.Tensor", a, b); }
  Value div(Value a, Value b) { return l.binary("div.Tensor", a, b); }
  Value times(Value x, double factor) {
    return l.withReal("mul.Scalar", x, factor);
  }
  Value plus(Value x, double number) {
    return l.withReal("add.Scalar", x, number);
  }
  Value oneMinus(Value x) {
    return l.unary("rsub.Scalar", x, {l.arg("other", l.real(1))});
  }
  /// The square root of a sum of squares, away from 0.
  Value root(Value x, double fallback) {
    return plus(l.unary("sqrt", x), l.node.real("epsilon", fallback));
  }

  /// The number of tensors, where each stands in `lists` lists; 0 where the
  /// inputs do not fit.
  unsigned tensors(unsigned lists) const {
    unsigned given = l.node.inputCount();
    return given >= 2 && (given - 2) % lists == 0 ? (given - 2) / lists : 0;
  }
  Value in(unsigned list, unsigned i, unsigned count) const {
    return l.in(2 + list * count + i);
  }
  /// Scalars of the type of `x`.
  Value rate(Value x) {
    return l.cast(l.reshape(l.in(0), {}), Lowering::element(x));
  }
  Value steps(Value x) {
    return l.cast(l.reshape(l.in(1), {}), Lowering::element(x));
  }
  Value begun() {
    return l.withInt("gt.Scalar", l.reshape(l.in(1), {}), 0, l.boolean());
  }
  /// The gradient with that of the regularization.
  Value gradient(Value x, Value g) {
    double norm = l.node.real("norm_coefficient", 0);
    return norm == 0 ? g : add(times(x, norm), g);
  }

  Lowering &l;
};

LogicalResult lowerAdagrad(Lowering &l) {
  Step s(l);
  unsigned count = s.tensors(3);
  if (!count)
    return l.refuse("each tensor needs a value, a gradient and one state");
  for (unsigned i = 0; i < count; ++i) {
    Value x = s.in(0, i, count);
    Value g = s.gradient(x, s.in(1, i, count));
    Value squares = s.add(s.in(2, i, count), s.mul(g, g));
    Value decayed =
        s.plus(s.times(s.steps(x), l.node.real("decay_factor", 0)), 1);
    Value rate = s.div(s.rate(x), decayed);
    l.replace(i, s.sub(x, s.div(s.mul(g, rate), s.root(squares, 0))));
    l.replace(count + i, squares);
  }
  return success();
}

LogicalResult lowerAdam(Lowering &l) {
  Step s(l);
  unsigned count = s.tensors(4);
  if (!count)
    return l.refuse("each tensor needs a value, a gradient and two states");
  double alpha = l.node.real("alpha", 0.9f), beta = l.node.real("beta", 0.999f);
  for (unsigned i = 0; i < count; ++i) {
    Value x = s.in(0, i, count);
    Value g = s.gradient(x, s.in(1, i, count));
    Value mean =
        s.add(s.times(s.in(2, i, count), alpha), s.times(g, 1 - alpha));
    Value squares =
        s.add(s.times(s.in(3, i, count), beta), s.times(s.mul(g, g), 1 - beta));
    // Both averages start at 0 and are corrected for that from step 1 on.
    auto power = [&](double base) {
      return s.oneMinus(l.withReal("pow.Scalar", s.steps(x), base));
    };
    Value corrected =
        s.mul(s.rate(x), s.div(l.unary("sqrt", power(beta)), power(alpha)));
    Value rate = l.where(s.begun(), corrected, s.rate(x));
    Value y = s.sub(x, s.mul(s.div(mean, s.root(squares, 1e-6f)), rate));
    if (double norm = l.node.real("norm_coefficient_post", 0); norm != 0)
      y = s.times(y, 1 - norm);
    l.replace(i, y);
    l.replace(count + i, mean);
    l.replace(2 * count + i, squares);
  }
  return success();
}

LogicalResult lowerMomentum(Lowering &l) {
  Step s(l);
  unsigned count = s.tensors(3);
  if (!count)
    return l.refuse("each tensor needs a value, a gradient and one state");
  double alpha = l.node.real("alpha", 0), beta = l.node.real("beta", 0);
  bool nesterov = l.node.string("mode", "standard") == "nesterov";
  for (unsigned i = 0; i < count; ++i) {
    Value x = s.in(0, i, count);
    Value g = s.gradient(x, s.in(1, i, count));
    // The first gradient counts in full.
    Type element = Lowering::element(x);
    Value share = l.where(s.begun(), l.fullReal({}, beta, element),
                          l.fullReal({}, 1, element));
    Value velocity = s.add(s.times(s.in(2, i, count), alpha), s.mul(g, share));
    Value way = nesterov ? s.add(g, s.times(velocity, alpha)) : velocity;
    l.replace(i, s.sub(x, s.mul(way, s.rate(x))));
    l.replace(count + i, velocity);
  }
  return success();
}

} // namespace

void addOptimizerHandlers(HandlerTable &table) {
  table["ai.onnx.preview.training.Adagrad"] = lowerAdagrad;
  table["ai.onnx.preview.training.Adam"] = lowerAdam;
  table["ai.onnx.preview.training.Momentum"] = lowerMomentum;
}

} // namespace hethub

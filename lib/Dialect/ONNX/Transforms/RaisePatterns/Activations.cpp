//===- Activations.cpp - GELU, Swish, HardSwish, HardSigmoid --------------===//
//
//   x * 0.5 * (1 + erf(x / sqrt 2))                              -> Gelu
//   x * 0.5 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))          -> Gelu
//   approximate="tanh" x * sigmoid(alpha x) -> Swish clip(x + 3, 0, 6) / 6 ->
//   HardSigmoid alpha=1/6 x * hardSigmoid(x), with alpha 1/6 and beta 0.5 ->
//   HardSwish
//
// Products are matched whatever their order and nesting: exporters write all of
// them.
//===----------------------------------------------------------------------===//

#include "Match.h"

#include <cmath>

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

static const double sqrtHalf = std::sqrt(0.5);
static const double sqrtTwoOverPi = std::sqrt(2 / M_PI);
static constexpr double cubicTerm = 0.044715;

/// `value` = number * x?
static bool isMultiple(Value value, Value x, double number) {
  if (value == x)
    return number == 1;
  double factor = 1;
  Type element = cast<ShapedType>(x.getType()).getElementType();
  return unscaled(value, factor) == x && isClose(factor, number, element);
}

/// `value` = number * x^power, written with Pow or with products?
static bool isPower(Value value, Value x, int power, double number) {
  Product product = productOf(value);
  Type element = cast<ShapedType>(x.getType()).getElementType();
  if (!isClose(product.number, number, element))
    return false;
  int found = 0;
  for (Value factor : product.factors) {
    if (factor == x) {
      ++found;
      continue;
    }
    Operation *pow = producer(factor, "Pow");
    std::optional<double> exponent =
        pow ? numberOf(pow->getOperand(1)) : std::nullopt;
    if (exponent && pow->getOperand(0) == x) {
      found += static_cast<int>(*exponent);
      if (*exponent != std::floor(*exponent))
        return false;
      continue;
    }
    // x * x that something else reads too.
    Operation *square = producer(factor, "Mul");
    if (!square || square->getOperand(0) != x || square->getOperand(1) != x)
      return false;
    found += 2;
  }
  return found == power;
}

/// sqrt(2/pi) * (x + 0.044715 x^3), or with x put outside the bracket.
static bool isTanhArgument(Value value, Value x) {
  Product product = productOf(value);
  Type element = cast<ShapedType>(x.getType()).getElementType();
  if (!isClose(product.number, sqrtTwoOverPi, element))
    return false;
  if (product.factors.size() == 1) {
    Operation *sum = producer(product.factors[0], "Add");
    return sum && eitherOrder(sum, [&](Value a, Value b) {
             return a == x && isPower(b, x, 3, cubicTerm);
           });
  }
  if (product.factors.size() != 2)
    return false;
  for (unsigned i : {0u, 1u}) {
    Operation *sum = producer(product.factors[1 - i], "Add");
    if (product.factors[i] == x && sum &&
        eitherOrder(sum, [&](Value a, Value b) {
          return isNumber(a, 1) && isPower(b, x, 2, cubicTerm);
        }))
      return true;
  }
  return false;
}

namespace {
/// Calls `raise(x, other)` for both assignments of a product of two factors.
struct ProductPattern : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    if (!isa<RankedTensorType>(type) ||
        !isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
      return failure();
    Product product = productOf(op->getResult(0));
    if (product.factors.size() != 2)
      return failure();
    for (unsigned i : {0u, 1u}) {
      Value x = product.factors[i], other = product.factors[1 - i];
      if (x.getType() == type && other.getType() == type &&
          succeeded(raise(op, product.number, x, other, rewriter)))
        return success();
    }
    return failure();
  }

  virtual LogicalResult raise(Operation *op, double number, Value x,
                              Value other, PatternRewriter &rewriter) const = 0;

  static bool close(double number, double expected, Value x) {
    return isClose(number, expected,
                   cast<ShapedType>(x.getType()).getElementType());
  }
};

struct RaiseGelu : ProductPattern {
  using ProductPattern::ProductPattern;

  LogicalResult raise(Operation *op, double number, Value x, Value other,
                      PatternRewriter &rewriter) const override {
    Operation *sum = soleProducer(other, "Add");
    if (!close(number, 0.5, x) || !sum)
      return failure();
    StringRef approximate;
    eitherOrder(sum, [&](Value one, Value inner) {
      if (!isNumber(one, 1) || !inner.hasOneUse())
        return false;
      Operation *erf = producer(inner, "Erf");
      Operation *tanh = producer(inner, "Tanh");
      if (erf && isMultiple(erf->getOperand(0), x, sqrtHalf))
        approximate = "none";
      else if (tanh && isTanhArgument(tanh->getOperand(0), x))
        approximate = "tanh";
      return !approximate.empty();
    });
    if (approximate.empty())
      return failure();
    replaceWithNode(rewriter, op, "Gelu", {x},
                    {rewriter.getNamedAttr(
                        "approximate", rewriter.getStringAttr(approximate))});
    return success();
  }
};

struct RaiseSwish : ProductPattern {
  using ProductPattern::ProductPattern;

  LogicalResult raise(Operation *op, double number, Value x, Value other,
                      PatternRewriter &rewriter) const override {
    Operation *sigmoid = soleProducer(other, "Sigmoid");
    double alpha = 1;
    if (number != 1 || !sigmoid ||
        (sigmoid->getOperand(0) != x &&
         unscaled(sigmoid->getOperand(0), alpha) != x))
      return failure();
    SmallVector<NamedAttribute> attributes;
    if (alpha != 1)
      attributes.push_back(rewriter.getNamedAttr(
          "alpha", rewriter.getF32FloatAttr(static_cast<float>(alpha))));
    replaceWithNode(rewriter, op, "Swish", {x}, attributes);
    return success();
  }
};

/// clip(x + 3, 0, 6): gives x.
Value hardSigmoidTimesSix(Value value) {
  Operation *clip = soleProducer(value, "Clip");
  if (!clip)
    return nullptr;
  Node node(clip);
  Operation *sum = soleProducer(node.input(0), "Add");
  std::optional<double> low = numberOf(node.input(1));
  if (!sum || !low || *low != 0 || !isNumber(node.input(2), 6))
    return nullptr;
  Value x;
  eitherOrder(sum, [&](Value a, Value b) {
    if (!isNumber(b, 3) || a.getType() != value.getType())
      return false;
    x = a;
    return true;
  });
  return x;
}

struct RaiseHardSwish : ProductPattern {
  using ProductPattern::ProductPattern;

  LogicalResult raise(Operation *op, double number, Value x, Value other,
                      PatternRewriter &rewriter) const override {
    if (Operation *gate = soleProducer(other, "HardSigmoid")) {
      Node node(gate);
      // Exporters print 1/6 with few digits.
      if (number != 1 || node.input(0) != x ||
          std::abs(node.real("alpha", 0.2) * 6 - 1) > 1e-5 ||
          node.real("beta", 0.5) != 0.5)
        return failure();
    } else if (!close(number, 1.0 / 6, x) || hardSigmoidTimesSix(other) != x) {
      return failure();
    }
    replaceWithNode(rewriter, op, "HardSwish", {x}, {});
    return success();
  }
};

struct RaiseHardSigmoid : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Product product = productOf(op->getResult(0));
    if (product.factors.size() != 1)
      return failure();
    Value x = hardSigmoidTimesSix(product.factors[0]);
    if (!x || !isa<RankedTensorType>(x.getType()) ||
        x.getType() != op->getResult(0).getType() ||
        !isClose(product.number, 1.0 / 6,
                 cast<ShapedType>(x.getType()).getElementType()))
      return failure();
    replaceWithNode(
        rewriter, op, "HardSigmoid", {x},
        {rewriter.getNamedAttr("alpha", rewriter.getF32FloatAttr(1.0f / 6)),
         rewriter.getNamedAttr("beta", rewriter.getF32FloatAttr(0.5f))});
    return success();
  }
};
} // namespace

void raise::addActivationPatterns(RewritePatternSet &patterns) {
  for (StringRef root : {"onnx.Mul", "onnx.Div"}) {
    patterns.add<RaiseGelu, RaiseHardSwish, RaiseHardSigmoid>(
        patterns.getContext(), root);
  }
  patterns.add<RaiseSwish>(patterns.getContext(), "onnx.Mul");
}

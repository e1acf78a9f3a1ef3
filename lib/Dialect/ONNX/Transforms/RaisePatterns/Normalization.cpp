//===- Normalization.cpp - layer and RMS normalisation --------------------===//
//
//   (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias   ->
//   LayerNormalization x / sqrt(mean(x^2) + epsilon) * scale ->
//   RMSNormalization
//
// over the last axes, with the division also written as a product with the
// reciprocal, the square as Pow or Mul, and the normalisation alone in float32
// between two Casts. The scale must have the normalised shape; forms without
// one stay, since the ONNX operators demand it and the compiler makes no
// weights.
//===----------------------------------------------------------------------===//

#include "Match.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

namespace {
/// value / sqrt(mean(square) + epsilon)
struct Normalized {
  Value numerator;
  Value meanSquare; ///< the ReduceMean
  double epsilon;
};
} // namespace

/// sqrt(mean + epsilon)
static bool matchDeviation(Value value, Normalized &result) {
  Operation *sqrt = soleProducer(value, "Sqrt");
  Operation *sum = sqrt ? soleProducer(sqrt->getOperand(0), "Add") : nullptr;
  return sum && eitherOrder(sum, [&](Value mean, Value epsilon) {
           std::optional<double> number = numberOf(epsilon);
           if (!number || *number < 0 || !soleProducer(mean, "ReduceMean"))
             return false;
           result.meanSquare = mean;
           result.epsilon = *number;
           return true;
         });
}

static std::optional<Normalized> matchNormalized(Value value) {
  Normalized result;
  if (Operation *div = producer(value, "Div")) {
    result.numerator = div->getOperand(0);
    if (matchDeviation(div->getOperand(1), result))
      return result;
  }
  Operation *mul = producer(value, "Mul");
  if (mul && eitherOrder(mul, [&](Value numerator, Value inverse) {
        result.numerator = numerator;
        if (Operation *reciprocal = soleProducer(inverse, "Reciprocal"))
          return matchDeviation(reciprocal->getOperand(0), result);
        Operation *div = soleProducer(inverse, "Div");
        return div && isNumber(div->getOperand(0), 1) &&
               matchDeviation(div->getOperand(1), result);
      }))
    return result;
  return std::nullopt;
}

/// value * value or Pow(value, 2): gives value.
static Value squareRoot(Value square) {
  if (!square.hasOneUse())
    return nullptr;
  if (Operation *pow = producer(square, "Pow"))
    return isNumber(pow->getOperand(1), 2) ? pow->getOperand(0) : Value();
  Operation *mul = producer(square, "Mul");
  return mul && mul->getOperand(0) == mul->getOperand(1) ? mul->getOperand(0)
                                                         : Value();
}

/// x - mean(x): gives x.
static Value centred(Value value, int64_t &axis) {
  Operation *sub = producer(value, "Sub");
  Operation *mean = sub ? producer(sub->getOperand(1), "ReduceMean") : nullptr;
  if (!mean || mean->getOperand(0) != sub->getOperand(0) ||
      !isTrailingMean(mean, axis))
    return nullptr;
  return sub->getOperand(0);
}

/// Nothing but the form itself reads the centred value: `uses` operands.
static bool readOnlyBy(Value value, unsigned uses) {
  return static_cast<unsigned>(
             std::distance(value.use_begin(), value.use_end())) <= uses;
}

/// The precision in which the operator computes the statistics.
static int64_t stashType(Type element) { return element.isF64() ? 11 : 1; }

static SmallVector<NamedAttribute> attributesOf(Builder &builder, int64_t axis,
                                                double epsilon, Type element) {
  return {builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis)),
          builder.getNamedAttr(
              "epsilon", builder.getF32FloatAttr(static_cast<float>(epsilon))),
          builder.getNamedAttr("stash_type",
                               builder.getI64IntegerAttr(stashType(element)))};
}

/// The scale's shape must be x's from `axis` on.
static bool hasNormalizedShape(Value scale, RankedTensorType x, int64_t axis) {
  RankedTensorType type = staticType(scale);
  ArrayRef<int64_t> shape = x.getShape().drop_front(axis);
  return type && type.getShape() == shape &&
         type.getElementType() == x.getElementType();
}

namespace {
/// A product of a normalised value with a scale, the root of both forms.
struct RaiseNormalization : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return success(eitherOrder(op, [&](Value value, Value scale) {
      return value.hasOneUse() &&
             value.getType() == op->getResult(0).getType() &&
             raise(op, value, scale, rewriter);
    }));
  }

private:
  static bool raise(Operation *op, Value value, Value scale,
                    PatternRewriter &rewriter) {
    // The normalised value goes back to a 16-bit type before it is scaled.
    Value inner = value;
    Operation *castBack = soleProducer(value, "Cast");
    if (castBack)
      inner = castBack->getOperand(0);
    std::optional<Normalized> form = matchNormalized(inner);
    if (!form || (castBack && !inner.hasOneUse()))
      return false;
    Operation *mean = form->meanSquare.getDefiningOp();
    int64_t axis = 0;
    if (!isTrailingMean(mean, axis))
      return false;
    Value root = squareRoot(mean->getOperand(0));
    if (!root || root.getType() != form->numerator.getType())
      return false;

    int64_t meanAxis = axis;
    Value x = centred(root, meanAxis);
    bool layer = static_cast<bool>(x);
    if (layer) {
      // Some exporters write the centred value twice.
      int64_t otherAxis = axis;
      if (meanAxis != axis ||
          (form->numerator != root &&
           (centred(form->numerator, otherAxis) != x || otherAxis != axis)))
        return false;
      if (form->numerator == root && !readOnlyBy(root, 3))
        return false;
    } else {
      x = form->numerator;
      if (root != x)
        return false;
    }
    if (castBack) {
      Operation *castTo = producer(x, "Cast");
      if (!castTo || castTo->getOperand(0).getType() != value.getType())
        return false;
      x = castTo->getOperand(0);
    }
    auto type = dyn_cast<RankedTensorType>(x.getType());
    if (!type || type != value.getType() ||
        !isa<FloatType>(type.getElementType()) ||
        !hasNormalizedShape(scale, type, axis))
      return false;
    if (axis == type.getRank() - 1)
      axis = -1;
    replaceWithNode(
        rewriter, op, layer ? "LayerNormalization" : "RMSNormalization",
        {x, scale},
        attributesOf(rewriter, axis, form->epsilon, type.getElementType()));
    return true;
  }
};

/// The bias that follows a LayerNormalization without one.
struct MergeLayerNormalizationBias : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return success(eitherOrder(op, [&](Value value, Value bias) {
      Operation *norm = soleProducer(value, "LayerNormalization");
      if (!norm || value.getType() != op->getResult(0).getType())
        return false;
      Node node(norm);
      if (node.input(2) || norm->getNumResults() != 1 || !staticType(bias) ||
          bias.getType() != node.input(1).getType())
        return false;
      SmallVector<NamedAttribute> attributes;
      for (StringRef name : {"axis", "epsilon", "stash_type"})
        if (Attribute attribute = node.attribute(name))
          attributes.push_back(rewriter.getNamedAttr(name, attribute));
      replaceWithNode(rewriter, op, "LayerNormalization",
                      {node.input(0), node.input(1), bias}, attributes);
      return true;
    }));
  }
};
} // namespace

void raise::addNormalizationPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseNormalization>(patterns.getContext(), "onnx.Mul");
  patterns.add<MergeLayerNormalizationBias>(patterns.getContext(), "onnx.Add");
}

//===- GroupNormalization.cpp - from Reshape, InstanceNormalization -------===//
//
// Exporters below opset 21 write group normalisation as
//
//   reshape(instanceNormalization(reshape(x, [N, groups, -1]), s, t), shape of
//   x) * scale + bias
//
// with s of ones and t of zeros, one a group. Those are parameters, whose
// values the compiler does not know, so the new scale and bias per channel are
// computed from them by operations on parameters alone (which run once, at
// start):
//
//   scale' = scale * s,  bias' = scale * t + bias      with s, t repeated for
//   each channel of their group
//===----------------------------------------------------------------------===//

#include "Match.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

/// True for a scale or bias of one number a channel, in front of `spatial`
/// dimensions of size 1.
static bool isPerChannel(Value value, int64_t channels, int64_t rank) {
  RankedTensorType type = staticType(value);
  if (!type || type.getRank() > rank || type.getNumElements() != channels)
    return false;
  int64_t axis = 1 - (rank - type.getRank()); // of the channels in the value
  return axis >= 0 && axis < type.getRank() &&
         type.getDimSize(axis) == channels;
}

/// The value with shape [channels], taken from in front of an Unsqueeze or
/// Reshape where there is one.
static Value flat(OpBuilder &builder, Operation *op, Value value,
                  int64_t channels, StringRef suffix) {
  auto type = cast<RankedTensorType>(value.getType()).clone({channels});
  for (StringRef view : {"Unsqueeze", "Reshape"})
    if (Operation *source = producer(value, view))
      if (source->getOperand(0).getType() == type)
        return source->getOperand(0);
  return createReshape(builder, helperLoc(op, suffix), value, type);
}

namespace {
struct RaiseGroupNormalization : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return success(eitherOrder(op, [&](Value scaled, Value bias) {
      Operation *mul = soleProducer(scaled, "Mul");
      return mul && eitherOrder(mul, [&](Value normalized, Value scale) {
               return raise(op, normalized, scale, bias, rewriter);
             });
    }));
  }

private:
  static bool raise(Operation *op, Value normalized, Value scale, Value bias,
                    PatternRewriter &rewriter) {
    Operation *back = soleProducer(normalized, "Reshape");
    Operation *norm =
        back ? soleProducer(back->getOperand(0), "InstanceNormalization")
             : nullptr;
    Operation *forth =
        norm ? soleProducer(norm->getOperand(0), "Reshape") : nullptr;
    if (!forth)
      return false;
    Value x = forth->getOperand(0);
    RankedTensorType type = staticType(x),
                     grouped = staticType(norm->getOperand(0));
    if (!type || !grouped || type.getRank() < 3 || grouped.getRank() < 3 ||
        type != normalized.getType() || type != op->getResult(0).getType() ||
        type.getDimSize(0) != grouped.getDimSize(0))
      return false;
    int64_t channels = type.getDimSize(1), groups = grouped.getDimSize(1);
    if (groups < 1 || channels % groups != 0 ||
        !isPerChannel(scale, channels, type.getRank()) ||
        !isPerChannel(bias, channels, type.getRank()))
      return false;

    scale = flat(rewriter, op, scale, channels, "scale");
    bias = flat(rewriter, op, bias, channels, "bias");
    Node inner(norm);
    applyInner(rewriter, op, inner.input(1), inner.input(2), groups, scale,
               bias);
    double epsilon = inner.real("epsilon", 1e-5f);
    replaceWithNode(
        rewriter, op, "GroupNormalization", {x, scale, bias},
        {rewriter.getNamedAttr(
             "epsilon", rewriter.getF32FloatAttr(static_cast<float>(epsilon))),
         rewriter.getNamedAttr("num_groups",
                               rewriter.getI64IntegerAttr(groups)),
         rewriter.getNamedAttr("stash_type",
                               rewriter.getI64IntegerAttr(
                                   type.getElementType().isF64() ? 11 : 1))});
    return true;
  }

  /// Folds the normalisation's own scale and offset (one a group) into those of
  /// the channels; ones and zeros that are inline constants need no operation.
  static void applyInner(PatternRewriter &rewriter, Operation *op, Value s,
                         Value t, int64_t groups, Value &scale, Value &bias) {
    auto flatType = cast<RankedTensorType>(scale.getType());
    int64_t channels = flatType.getDimSize(0);
    auto matrixType = flatType.clone({groups, channels / groups});
    auto columnType = flatType.clone({groups, 1});
    auto matrix = [&](Value value, StringRef suffix) {
      return createReshape(rewriter, helperLoc(op, suffix), value, matrixType);
    };
    auto column = [&](Value value, StringRef suffix) {
      return createReshape(rewriter, helperLoc(op, suffix), value, columnType);
    };
    auto combine = [&](StringRef opType, Value a, Value b, StringRef suffix) {
      return createNode(rewriter, helperLoc(op, suffix), opType, {a, b}, {},
                        {matrixType})
          ->getResult(0);
    };
    Value oldScale = scale;
    if (splatOf(t).value_or(1) != 0) {
      Value offset = combine("Mul", matrix(oldScale, "scale_by_group"),
                             column(t, "group_offset"), "offset");
      Value sum = combine("Add", matrix(bias, "bias_by_group"), offset,
                          "bias_with_offset");
      bias = createReshape(rewriter, helperLoc(op, "full_bias"), sum, flatType);
    }
    if (splatOf(s).value_or(0) != 1) {
      Value product = combine("Mul", matrix(oldScale, "scale_by_group"),
                              column(s, "group_scale"), "scale_product");
      scale = createReshape(rewriter, helperLoc(op, "full_scale"), product,
                            flatType);
    }
  }
};
} // namespace

void raise::addGroupNormalizationPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseGroupNormalization>(patterns.getContext(), "onnx.Add");
}

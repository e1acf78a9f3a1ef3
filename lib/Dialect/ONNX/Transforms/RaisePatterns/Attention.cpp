//===- Attention.cpp - scaled dot product attention -----------------------===//
//
//   softmax(scale * q @ transpose(k) + mask) @ v        -> Attention(q, k, v,
//   mask) of four dimensions
//
// The scale is taken from q, k and the scores, wherever exporters put it; the
// transposed k from a Transpose, from the Reshape-Transpose-Reshape of torch's
// exporter, or made by a Transpose where there is none. The mask is a sum with
// a float tensor, or Where(mask, scores, -inf) for a bool one. k and v that are
// repeated for groups of query heads are read without the repetition.
//
// Rows that are masked everywhere: the operator gives 0, as the IsNaN/Where
// pair behind the Softmax of torch's exporter does. Forms without that pair
// gave NaN for such a row. A bool mask that fills with a finite number, where
// the softmax of such a row is even, becomes a float mask and stays even.
//===----------------------------------------------------------------------===//

#include "Match.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

/// Where(IsNaN(p), 0, p): gives p.
static Value withoutNaN(Value value) {
  Operation *where = soleProducer(value, "Where");
  Operation *isNaN =
      where ? soleProducer(where->getOperand(0), "IsNaN") : nullptr;
  std::optional<double> zero =
      where ? numberOf(where->getOperand(1)) : std::nullopt;
  if (!isNaN || !zero || *zero != 0)
    return nullptr;
  Value inner = where->getOperand(2);
  bool twice = std::distance(inner.use_begin(), inner.use_end()) == 2;
  return isNaN->getOperand(0) == inner && twice ? inner : Value();
}

namespace {
struct Mask {
  Value value; ///< null: none
  bool negate = false;
  double fill = 0; ///< of a bool mask
  bool isBool = false;
};

/// What a match has found.
struct Form {
  Value q, k, v;
  Mask mask;
  double scale = 1;
  int64_t softmaxType = 0; ///< 1: float32 between two Casts
};

/// The dimensions of a four-dimensional attention.
struct Shape {
  int64_t batch, heads, queries, keys, size;
};
} // namespace

/// A mask must say so for each key: the operator pads a shorter last dimension
/// with -inf.
static bool coversKeys(Value mask, const Shape &shape) {
  RankedTensorType type = staticType(mask);
  if (!type || type.getRank() < 2 || type.getRank() > 4 ||
      type.getShape().back() != shape.keys)
    return false;
  const int64_t full[] = {shape.batch, shape.heads, shape.queries, shape.keys};
  ArrayRef<int64_t> expected = ArrayRef(full).take_back(type.getRank());
  for (auto [size, each] : llvm::zip(type.getShape(), expected))
    if (size != 1 && size != each)
      return false;
  return true;
}

/// Takes the mask off the scores. False: there is something that is no mask.
static Value matchMask(Value scores, const Shape &shape, Mask &mask) {
  if (Operation *add = soleProducer(scores, "Add")) {
    Value inner;
    eitherOrder(add, [&](Value a, Value b) {
      double scale = 1;
      if (a.getType() != scores.getType() || !coversKeys(b, shape) ||
          !producer(unscaled(a, scale), "MatMul"))
        return false;
      inner = a;
      mask.value = b;
      return true;
    });
    return inner;
  }
  if (Operation *where = soleProducer(scores, "Where")) {
    for (bool negate : {false, true}) {
      Value inner = where->getOperand(negate ? 2 : 1);
      auto fill = numberOf(where->getOperand(negate ? 1 : 2));
      // A large finite fill swallows the score it stands for; a small one does
      // not, and is no mask.
      if (!fill || (*fill > -1e30 && !std::isinf(*fill)) || *fill > 0 ||
          inner.getType() != scores.getType() ||
          !coversKeys(where->getOperand(0), shape))
        continue;
      mask = {where->getOperand(0), negate, *fill, true};
      return inner;
    }
    return nullptr;
  }
  return scores;
}

/// k as [batch, heads, keys, size], from the second operand of the first
/// product, [batch, heads, size, keys]. Null only where types are not static.
static Value buildKeys(PatternRewriter &rewriter, Operation *op, Value kt,
                       const Shape &shape, double &scale) {
  kt = unscaled(kt, scale);
  auto type = cast<RankedTensorType>(kt.getType());
  auto keysType =
      type.clone({shape.batch, shape.heads, shape.keys, shape.size});
  auto flatType =
      type.clone({shape.batch * shape.heads, shape.keys, shape.size});
  // Reshape(Transpose(Reshape(k)))
  if (Operation *outer = producer(kt, "Reshape")) {
    Operation *transpose = producer(outer->getOperand(0), "Transpose");
    if (transpose &&
        Node(transpose).integers("perm") == SmallVector<int64_t>{0, 2, 1} &&
        transpose->getOperand(0).getType() == flatType)
      if (Operation *inner = producer(transpose->getOperand(0), "Reshape")) {
        Value k = unscaled(inner->getOperand(0), scale);
        if (staticType(k))
          return createReshape(rewriter, helperLoc(op, "keys"), k, keysType);
      }
  }
  SmallVector<int64_t> perm = {0, 1, 3, 2};
  if (Operation *transpose = producer(kt, "Transpose")) {
    SmallVector<int64_t> inner = Node(transpose).integers("perm");
    if (inner.size() == 4) {
      std::swap(inner[2], inner[3]);
      perm = inner;
      kt = unscaled(transpose->getOperand(0), scale);
    }
  }
  return createTranspose(rewriter, helperLoc(op, "keys"), kt, perm);
}

/// Reshape(Expand(Unsqueeze(x))) that repeats each head for a group of query
/// heads: gives x, else null.
static Value withoutRepetition(Value value, const Shape &shape) {
  Operation *reshape = producer(value, "Reshape");
  Operation *expand =
      reshape ? producer(reshape->getOperand(0), "Expand") : nullptr;
  if (!expand)
    return nullptr;
  RankedTensorType wide = staticType(expand->getResult(0)),
                   narrow = staticType(expand->getOperand(0));
  if (!wide || !narrow || wide.getRank() != 5 || narrow.getRank() != 5 ||
      narrow.getDimSize(2) != 1 || wide.getDimSize(0) != shape.batch ||
      wide.getDimSize(1) * wide.getDimSize(2) != shape.heads)
    return nullptr;
  for (int64_t axis : {0, 1, 3, 4})
    if (wide.getDimSize(axis) != narrow.getDimSize(axis))
      return nullptr;
  Operation *unsqueeze = producer(expand->getOperand(0), "Unsqueeze");
  if (!unsqueeze)
    unsqueeze = producer(expand->getOperand(0), "Reshape");
  RankedTensorType source =
      unsqueeze ? staticType(unsqueeze->getOperand(0)) : nullptr;
  auto expected = wide.clone({wide.getDimSize(0), wide.getDimSize(1),
                              wide.getDimSize(3), wide.getDimSize(4)});
  return source == expected ? unsqueeze->getOperand(0) : Value();
}

/// The mask as an operand of the operator.
static Value buildMask(PatternRewriter &rewriter, Operation *op,
                       const Mask &mask, Type element) {
  if (!mask.value || !mask.isBool)
    return mask.value;
  auto type = cast<RankedTensorType>(mask.value.getType());
  if (std::isinf(mask.fill)) {
    if (!mask.negate)
      return mask.value;
    return createNode(rewriter, helperLoc(op, "mask"), "Not", {mask.value}, {},
                      {type})
        ->getResult(0);
  }
  auto number = [&](double value, StringRef suffix) {
    auto scalar = RankedTensorType::get({}, element);
    auto attribute =
        DenseElementsAttr::get(scalar, rewriter.getFloatAttr(element, value));
    return createNode(rewriter, helperLoc(op, suffix), "Constant", {},
                      {rewriter.getNamedAttr("value", attribute)}, {scalar})
        ->getResult(0);
  };
  Value zero = number(0, "mask_zero"), fill = number(mask.fill, "mask_fill");
  Value kept = mask.negate ? fill : zero, masked = mask.negate ? zero : fill;
  return createNode(rewriter, helperLoc(op, "mask"), "Where",
                    {mask.value, kept, masked}, {}, {type.clone(element)})
      ->getResult(0);
}

namespace {
struct RaiseAttention : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value v = op->getOperand(1), weights = op->getOperand(0);
    RankedTensorType type = staticType(op->getResult(0)), vType = staticType(v);
    if (!type || !vType || type.getRank() != 4 || vType.getRank() != 4 ||
        !isa<FloatType>(type.getElementType()))
      return failure();

    int64_t softmaxType = 0;
    Operation *castBack = nullptr;
    auto strip = [&] {
      if (Value inner = withoutNaN(weights))
        weights = inner;
    };
    strip();
    if ((castBack = producer(weights, "Cast")))
      weights = castBack->getOperand(0);
    strip();
    // IsNaN and Where both read the Softmax, so that its uses are counted
    // there.
    Operation *softmax = producer(weights, "Softmax");
    if (!softmax || !onlyWithin(weights, op) || !isLastAxis(softmax))
      return failure();
    Value scores = softmax->getOperand(0);
    if (castBack) {
      Operation *castTo = soleProducer(scores, "Cast");
      RankedTensorType wide = staticType(weights);
      if (!castTo || !wide || !wide.getElementType().isF32() ||
          castTo->getOperand(0).getType() != wide.clone(type.getElementType()))
        return failure();
      softmaxType = 1;
      scores = castTo->getOperand(0);
    }
    RankedTensorType scoresType = staticType(scores);
    if (!scoresType || scoresType.getRank() != 4 || !scores.hasOneUse() ||
        scoresType.getElementType() != type.getElementType())
      return failure();
    Shape shape{scoresType.getDimSize(0), scoresType.getDimSize(1),
                scoresType.getDimSize(2), scoresType.getDimSize(3), 0};
    Mask mask;
    double scale = 1;
    Value product = unscaledOnce(matchMask(scores, shape, mask), scale);
    Operation *first = product ? soleProducer(product, "MatMul") : nullptr;
    if (!first)
      return failure();
    Value q = first->getOperand(0), kt = first->getOperand(1);
    RankedTensorType qType = staticType(q), ktType = staticType(kt);
    if (!qType || !ktType || qType.getRank() != 4 || ktType.getRank() != 4)
      return failure();
    shape.size = qType.getDimSize(3);
    // No broadcast between q, k and v: heads are repeated visibly or not at
    // all.
    const std::array<int64_t, 2> heads = {shape.batch, shape.heads};
    ArrayRef<int64_t> outer(heads);
    if (qType.getShape().take_front(2) != outer ||
        ktType.getShape().take_front(2) != outer ||
        vType.getShape().take_front(2) != outer ||
        vType.getDimSize(2) != shape.keys)
      return failure();
    if (mask.value && !mask.isBool &&
        cast<RankedTensorType>(mask.value.getType()).getElementType() !=
            type.getElementType())
      return failure();

    q = unscaled(q, scale);
    Value k = buildKeys(rewriter, op, kt, shape, scale);
    // Both or none without repetition; the Reshape of k may be one just made.
    Value fewK = withoutRepetition(k, shape),
          fewV = withoutRepetition(v, shape);
    if (fewK && fewV &&
        cast<RankedTensorType>(fewK.getType()).getDimSize(1) ==
            cast<RankedTensorType>(fewV.getType()).getDimSize(1)) {
      k = fewK;
      v = fewV;
    }
    SmallVector<NamedAttribute> attributes = {rewriter.getNamedAttr(
        "scale", rewriter.getF32FloatAttr(static_cast<float>(scale)))};
    if (softmaxType)
      attributes.push_back(rewriter.getNamedAttr(
          "softmax_precision", rewriter.getI64IntegerAttr(softmaxType)));
    Value maskValue = buildMask(rewriter, op, mask, type.getElementType());
    replaceWithNode(rewriter, op, "Attention", {q, k, v, maskValue},
                    attributes);
    return success();
  }

private:
  static bool isLastAxis(Operation *softmax) {
    int64_t axis = Node(softmax).integer("axis", -1);
    return axis == -1 || axis == 3;
  }

  /// All that reads `value` ends up in `op` alone: through IsNaN, Where and
  /// Cast.
  static bool onlyWithin(Value value, Operation *op) {
    for (Operation *user : value.getUsers()) {
      if (user == op)
        continue;
      StringRef name = user->getName().getStringRef();
      if (!llvm::is_contained({"onnx.IsNaN", "onnx.Where", "onnx.Cast"},
                              name) ||
          !onlyWithin(user->getResult(0), op))
        return false;
    }
    return true;
  }

  /// Scores without factors; each of the steps must be read by nothing else.
  static Value unscaledOnce(Value value, double &scale) {
    while (value && value.hasOneUse()) {
      Value inner = unscaledStep(value, scale);
      if (!inner)
        break;
      value = inner;
    }
    return value;
  }
};
} // namespace

void raise::addAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseAttention>(patterns.getContext(), "onnx.MatMul");
}

//===- RotaryEmbedding.cpp - rotary position embedding --------------------===//
//
//   x * cos + concat(-x[h:], x[:h]) * sin        on the last axis, h = half its
//   size
//
// is RotaryEmbedding if the two halves of cos and of sin are equal: visible
// where they are made from concat(f, f) by elementwise functions, whose halves
// are then made from f alone. Tables that an exporter has folded into a weight
// hide it, and the form stays as it is.
//===----------------------------------------------------------------------===//

#include "Match.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

/// x[from:to] on the last axis.
static bool isSlice(Value value, Value x, int64_t from, int64_t to) {
  Operation *slice = soleProducer(value, "Slice");
  if (!slice || slice->getOperand(0) != x)
    return false;
  Node node(slice);
  auto type = cast<RankedTensorType>(x.getType());
  auto starts = integersOf(node.input(1)), ends = integersOf(node.input(2));
  auto axes = integersOf(node.input(3)), steps = integersOf(node.input(4));
  if (!starts || !ends || !axes || starts->size() != 1 || ends->size() != 1 ||
      axes->size() != 1 || (node.input(4) && (!steps || steps->front() != 1)))
    return false;
  int64_t rank = type.getRank(), size = type.getShape().back();
  int64_t axis = axes->front() + (axes->front() < 0 ? rank : 0);
  auto clamped = [&](int64_t index) {
    index += index < 0 ? size : 0;
    return std::min(std::max<int64_t>(index, 0), size);
  };
  return axis == rank - 1 && clamped(starts->front()) == from &&
         clamped(ends->front()) == to;
}

static bool onLastAxis(Operation *op, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int64_t axis = Node(op).integer("axis", 0);
  return type && (axis == -1 || axis == type.getRank() - 1);
}

/// concat(-x[h:], x[:h])
static bool isRotated(Value value, Value x) {
  Operation *concat = soleProducer(value, "Concat");
  int64_t size = cast<RankedTensorType>(x.getType()).getShape().back();
  if (!concat || concat->getNumOperands() != 2 || size % 2 != 0 ||
      !onLastAxis(concat, value))
    return false;
  Operation *neg = soleProducer(concat->getOperand(0), "Neg");
  if (!neg)
    return false;
  Value low = concat->getOperand(1), high = neg->getOperand(0);
  if (isSlice(low, x, 0, size / 2) && isSlice(high, x, size / 2, size))
    return true;
  // Both halves of one Split.
  Operation *split = low.getDefiningOp();
  return split && split == high.getDefiningOp() &&
         producer(split->getResult(0), "Split") &&
         split->getNumResults() == 2 && split->getOperand(0) == x &&
         low == split->getResult(0) && high == split->getResult(1) &&
         low.getType() == high.getType() && onLastAxis(split, x);
}

namespace {
/// How a table of equal halves is made: from `half` through `steps`, first to
/// last, all of which act on each element alone.
struct Table {
  Value half;
  SmallVector<Operation *> steps;
};
} // namespace

/// An operation of one varying operand that treats all elements alike.
static bool isElementwiseStep(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!name.consume_front("onnx."))
    return false;
  if (llvm::is_contained({"Cos", "Sin", "Cast"}, name))
    return true;
  return (name == "Mul" || name == "Div") && numberOf(op->getOperand(1));
}

/// The value in front of a dimension of size 1 at axis 1 (the heads).
static Value withoutHeads(Value value) {
  auto type = staticType(value);
  if (!type || type.getRank() != 4 || type.getDimSize(1) != 1)
    return nullptr;
  Operation *unsqueeze = producer(value, "Unsqueeze");
  auto axes = unsqueeze ? integersOf(unsqueeze->getOperand(1)) : std::nullopt;
  if (!axes || axes->size() != 1 || (axes->front() != 1 && axes->front() != -3))
    return nullptr;
  return unsqueeze->getOperand(0);
}

static std::optional<Table> matchTable(Value value) {
  Table table;
  value = withoutHeads(value);
  for (Operation *op = value ? value.getDefiningOp() : nullptr; op;
       op = value.getDefiningOp()) {
    if (Operation *concat = producer(value, "Concat")) {
      if (concat->getNumOperands() != 2 || !onLastAxis(concat, value) ||
          concat->getOperand(0) != concat->getOperand(1) ||
          !staticType(concat->getOperand(0)))
        return std::nullopt;
      table.half = concat->getOperand(0);
      std::reverse(table.steps.begin(), table.steps.end());
      return table;
    }
    if (!isElementwiseStep(op) || !staticType(value))
      return std::nullopt;
    table.steps.push_back(op);
    value = op->getOperand(0);
  }
  return std::nullopt;
}

/// The table's half, [batch, sequence, h], with the batch spelt out as the
/// operator demands.
static Value buildHalf(PatternRewriter &rewriter, Operation *op,
                       const Table &table, int64_t batch, StringRef suffix) {
  Value value = table.half;
  for (auto [index, step] : llvm::enumerate(table.steps)) {
    auto type = cast<RankedTensorType>(step->getResult(0).getType())
                    .clone(cast<RankedTensorType>(value.getType()).getShape());
    SmallVector<Value> operands(step->getOperands());
    operands[0] = value;
    std::string name = (suffix + "_" + Twine(index)).str();
    value = createNode(rewriter, helperLoc(op, name),
                       step->getName().stripDialect(), operands,
                       step->getAttrs(), {type})
                ->getResult(0);
  }
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(0) == batch)
    return value;
  auto full = type.clone({batch, type.getDimSize(1), type.getDimSize(2)});
  Value shape = createIntegers(
      rewriter, helperLoc(op, (suffix + "_shape").str()), full.getShape());
  return createNode(rewriter, helperLoc(op, (suffix + "_expand").str()),
                    "Expand", {value, shape}, {}, {full})
      ->getResult(0);
}

namespace {
struct RaiseRotaryEmbedding : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return success(eitherOrder(op, [&](Value direct, Value turned) {
      Operation *byCos = soleProducer(direct, "Mul");
      Operation *bySin = soleProducer(turned, "Mul");
      return byCos && bySin && eitherOrder(byCos, [&](Value x, Value cos) {
               return x.getType() == op->getResult(0).getType() &&
                      eitherOrder(bySin, [&](Value rotated, Value sin) {
                        return staticType(x) && staticType(x).getRank() == 4 &&
                               isa<FloatType>(staticType(x).getElementType()) &&
                               isRotated(rotated, x) &&
                               raise(op, x, cos, sin, rewriter);
                      });
             });
    }));
  }

private:
  static bool raise(Operation *op, Value x, Value cos, Value sin,
                    PatternRewriter &rewriter) {
    RankedTensorType type = staticType(x);
    std::optional<Table> cosTable = matchTable(cos), sinTable = matchTable(sin);
    if (!type || type.getRank() != 4 || !cosTable || !sinTable)
      return false;
    for (const auto &[value, table] :
         {std::pair(cos, *cosTable), std::pair(sin, *sinTable)}) {
      auto whole = cast<RankedTensorType>(value.getType());
      auto half = cast<RankedTensorType>(table.half.getType());
      if (whole.getElementType() != type.getElementType() ||
          half.getRank() != 3 || whole.getDimSize(2) != type.getDimSize(2) ||
          whole.getDimSize(3) != type.getDimSize(3) ||
          (whole.getDimSize(0) != 1 &&
           whole.getDimSize(0) != type.getDimSize(0)))
        return false;
    }
    Value cosHalf =
        buildHalf(rewriter, op, *cosTable, type.getDimSize(0), "cos");
    Value sinHalf =
        buildHalf(rewriter, op, *sinTable, type.getDimSize(0), "sin");
    replaceWithNode(rewriter, op, "RotaryEmbedding", {x, cosHalf, sinHalf}, {});
    return true;
  }
};
} // namespace

void raise::addRotaryEmbeddingPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseRotaryEmbedding>(patterns.getContext(), "onnx.Add");
}

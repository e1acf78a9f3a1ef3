//===- Simplify.cpp - operators that do nothing, and chains of views ------===//
//
//   x + 0, x - 0, x * 1, x / 1                       -> x             before
//   raising: exporters leave them in the forms reshape(softmax(flatten(x))) ->
//   softmax(x)    what version conversion makes of opset 12 reshape(any
//   reshaping of x), transpose pairs     -> one of them   after raising, which
//   puts Reshapes in
//===----------------------------------------------------------------------===//

#include "Match.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

namespace {
/// An arithmetic operator with a number that changes nothing.
struct DropNeutralNumber : RaisingPattern {
  DropNeutralNumber(MLIRContext *context, StringRef root, double neutral,
                    bool commutes)
      : RaisingPattern(context, root), neutral(neutral), commutes(commutes) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i : {0u, 1u}) {
      if (i == 1 && !commutes)
        break;
      Value kept = op->getOperand(i);
      std::optional<double> number = numberOf(op->getOperand(1 - i));
      if (number && *number == neutral &&
          kept.getType() == op->getResult(0).getType()) {
        rewriter.replaceOp(op, kept);
        return success();
      }
    }
    return failure();
  }

private:
  double neutral;
  bool commutes;
};

struct RaiseSoftmax : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    for (StringRef name : {"Softmax", "LogSoftmax", "Hardmax"}) {
      Operation *softmax = soleProducer(op->getOperand(0), name);
      Operation *flatten =
          softmax ? soleProducer(softmax->getOperand(0), "Flatten") : nullptr;
      if (!flatten)
        continue;
      Value x = flatten->getOperand(0);
      RankedTensorType type = staticType(x);
      int64_t axis = Node(flatten).integer("axis", 1);
      int64_t over = Node(softmax).integer("axis", -1);
      // Only one axis may have been flattened into the rows of the matrix.
      if (!type || type != op->getResult(0).getType() ||
          (axis != -1 && axis != type.getRank() - 1) ||
          (over != -1 && over != 1))
        return failure();
      replaceWithNode(
          rewriter, op, name, {x},
          {rewriter.getNamedAttr("axis", rewriter.getI64IntegerAttr(-1))});
      return success();
    }
    return failure();
  }
};

/// A Reshape sees only the order of the elements.
struct MergeReshapes : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = staticType(op->getResult(0));
    Value source = op->getOperand(0);
    if (!type)
      return failure();
    while (Operation *inner = source.getDefiningOp()) {
      StringRef name = inner->getName().getStringRef();
      if (!llvm::is_contained({"onnx.Reshape", "onnx.Flatten", "onnx.Squeeze",
                               "onnx.Unsqueeze"},
                              name))
        break;
      source = inner->getOperand(0);
    }
    if (source == op->getOperand(0) && source.getType() != type)
      return failure();
    if (source.getType() == type) {
      rewriter.replaceOp(op, source);
      return success();
    }
    // The old shape may copy sizes (0) of what stood between.
    replaceWithReshape(rewriter, op, source);
    return success();
  }
};

struct MergeTransposes : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    SmallVector<int64_t> outer = Node(op).integers("perm"), merged;
    Operation *inner = producer(op->getOperand(0), "Transpose");
    SmallVector<int64_t> first =
        inner ? Node(inner).integers("perm") : SmallVector<int64_t>();
    bool identity = !outer.empty();
    if (!inner)
      first.assign(llvm::to_vector(llvm::seq<int64_t>(0, outer.size())));
    if (outer.empty() || outer.size() != first.size())
      return failure();
    for (auto [index, from] : llvm::enumerate(outer)) {
      merged.push_back(first[from]);
      identity &= first[from] == static_cast<int64_t>(index);
    }
    Value source = inner ? inner->getOperand(0) : op->getOperand(0);
    if (identity && source.getType() == op->getResult(0).getType()) {
      rewriter.replaceOp(op, source);
      return success();
    }
    if (!inner)
      return failure();
    replaceWithNode(
        rewriter, op, "Transpose", {source},
        {rewriter.getNamedAttr("perm", rewriter.getDenseI64ArrayAttr(merged))});
    return success();
  }
};
} // namespace

void raise::addNeutralPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<DropNeutralNumber>(context, "onnx.Add", 0, true);
  patterns.add<DropNeutralNumber>(context, "onnx.Sub", 0, false);
  patterns.add<DropNeutralNumber>(context, "onnx.Mul", 1, true);
  patterns.add<DropNeutralNumber>(context, "onnx.Div", 1, false);
  patterns.add<RaiseSoftmax>(context, "onnx.Reshape");
}

void raise::addViewPatterns(RewritePatternSet &patterns) {
  patterns.add<MergeReshapes>(patterns.getContext(), "onnx.Reshape");
  patterns.add<MergeTransposes>(patterns.getContext(), "onnx.Transpose");
}

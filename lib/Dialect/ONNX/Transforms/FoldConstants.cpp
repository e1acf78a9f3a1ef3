//===- FoldConstants.cpp - shape arithmetic disappears --------------------===//

#include "Evaluate.h"
#include "InferFunction.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Support/EraseDead.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace hethub::ox {

#define GEN_PASS_DEF_FOLDCONSTANTS
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

namespace {

bool isStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

/// A single bool, if that is what the value is known to be.
std::optional<bool> knownBool(Value value) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constantValue(value));
  if (!dense || !dense.getElementType().isInteger(1) ||
      dense.getNumElements() != 1)
    return std::nullopt;
  return *dense.value_begin<bool>();
}

/// The value that an operation passes on unchanged, or null.
Value passedOn(const Node &node) {
  Value input = node.input(0), output = node.output(0);
  if (!node.domain().empty() || !input || !output)
    return nullptr;
  StringRef type = node.opType();
  bool sameType = input.getType() == output.getType();
  if (type == "Identity")
    return sameType ? input : nullptr;
  // Dropout does nothing unless it trains; its mask is then all true.
  if (type == "Dropout") {
    std::optional<bool> training =
        node.input(2) ? knownBool(node.input(2)) : std::optional(false);
    bool maskUsed = node.output(1) && !node.output(1).use_empty();
    return sameType && training == false && !maskUsed ? input : nullptr;
  }
  if (type == "Cast")
    return sameType ? input : nullptr;
  if (type == "Transpose") {
    SmallVector<int64_t> perm = node.integers("perm");
    bool ordered = !perm.empty();
    for (auto [position, axis] : llvm::enumerate(perm))
      ordered &= axis == static_cast<int64_t>(position);
    return sameType && ordered ? input : nullptr;
  }
  // With a static shape that stays the same, these have nothing left to do.
  static constexpr StringLiteral shapeOnly[] = {
      "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand"};
  if (llvm::is_contained(shapeOnly, type))
    return sameType && isStatic(input.getType()) ? input : nullptr;
  if (type == "Concat" || type == "Sum" || type == "Min" || type == "Max")
    return sameType && node.inputCount() == 1 ? input : nullptr;
  return nullptr;
}

/// Shape and Size of a static type are constants whatever the values are.
DenseElementsAttr staticShape(const Node &node) {
  if (!node.domain().empty() ||
      (node.opType() != "Shape" && node.opType() != "Size"))
    return nullptr;
  auto type = dyn_cast<RankedTensorType>(node.input(0).getType());
  if (!type || !type.hasStaticShape())
    return nullptr;
  auto i64 = IntegerType::get(type.getContext(), 64);
  if (node.opType() == "Size")
    return DenseElementsAttr::get(RankedTensorType::get({}, i64),
                                  type.getNumElements());
  int64_t rank = type.getRank();
  auto cut = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = cut(node.integer("start", 0));
  int64_t end = std::max(start, cut(node.integer("end", rank)));
  ArrayRef<int64_t> dims = type.getShape().slice(start, end - start);
  return DenseElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(dims.size())}, i64), dims);
}

class Folder {
public:
  explicit Folder(int64_t maxElements) : maxElements(maxElements) {}

  /// One round over the function, with inference on the way; true in `changed`
  /// where something was folded.
  LogicalResult run(func::FuncOp function, bool &changed) {
    Inference inference;
    if (failed(foldBlock(function.getBody().front(), inference, changed)))
      return failure();
    return inferFunction(function, inference);
  }

private:
  LogicalResult foldBlock(Block &block, Inference &inference, bool &changed) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isNode(&op))
        continue;
      std::string error;
      if (failed(inference.infer(&op, error)))
        return op.emitOpError(error);
      if (foldOperation(op, inference)) {
        changed = true;
        continue;
      }
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(foldBlock(inner, inference, changed)))
            return failure();
    }
    return success();
  }

  bool foldOperation(Operation &op, Inference &inference) {
    Node node(&op);
    if (op.use_empty() && isOpTriviallyDead(&op)) {
      erase(op, inference);
      return true;
    }
    if (node.opType() == "Constant")
      return false;
    if (Value value = passedOn(node)) {
      node.output(0).replaceAllUsesWith(value);
      erase(op, inference);
      return true;
    }
    if (node.opType() == "If" && node.domain().empty())
      return foldIf(op, node, inference);
    SmallVector<DenseElementsAttr> constants;
    if (DenseElementsAttr shape = staticShape(node))
      constants.push_back(shape);
    else if (DenseElementsAttr known = propagated(node, inference))
      constants.push_back(known);
    else if (isMemoryEffectFree(&op))
      constants = evaluate(node, maxElements);
    if (constants.empty())
      return false;
    OpBuilder builder(&op);
    for (auto [position, constant] : llvm::enumerate(constants)) {
      OperationState state(op.getLoc(), "onnx.Constant");
      state.addAttribute("value", constant);
      state.addTypes(constant.getType());
      node.output(position).replaceAllUsesWith(
          builder.create(state)->getResult(0));
    }
    erase(op, inference);
    return true;
  }

  /// The values that ONNX's data propagation knows, if it knows all of them.
  static DenseElementsAttr propagated(const Node &node,
                                      const Inference &inference) {
    Value output = node.output(0);
    if (node.outputCount() != 1 || !output || !isStatic(output.getType()))
      return nullptr;
    auto type = cast<RankedTensorType>(output.getType());
    auto values = inference.knownValues(output);
    if (!values ||
        !(type.getElementType().isInteger(64) ||
          type.getElementType().isInteger(32)) ||
        static_cast<int64_t>(values->size()) != type.getNumElements() ||
        llvm::is_contained(*values, std::nullopt))
      return nullptr;
    SmallVector<APInt> integers;
    for (const std::optional<int64_t> &value : *values)
      integers.push_back(APInt(64, static_cast<uint64_t>(*value))
                             .trunc(type.getElementTypeBitWidth()));
    return DenseElementsAttr::get(type, integers);
  }

  /// A constant condition leaves one branch, which moves in front of the If.
  static bool foldIf(Operation &op, const Node &node, Inference &inference) {
    std::optional<bool> condition = knownBool(node.input(0));
    if (!condition)
      return false;
    Block &branch =
        node.subgraph(*condition ? "then_branch" : "else_branch")->front();
    Operation *yield = branch.getTerminator();
    for (auto [result, value] :
         llvm::zip(op.getResults(), yield->getOperands()))
      result.replaceAllUsesWith(value);
    yield->erase();
    op.getBlock()->getOperations().splice(op.getIterator(),
                                          branch.getOperations());
    erase(op, inference);
    return true;
  }

  static void erase(Operation &op, Inference &inference) {
    inference.forget(&op);
    op.erase();
  }

  int64_t maxElements;
};

struct FoldConstants : impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Folder folder(maxElements);
      // Each round that changes something removes an operation, so this ends.
      for (bool changed = true; changed;) {
        changed = false;
        if (failed(folder.run(function, changed)))
          return signalPassFailure();
        eraseDead(function.getBody());
      }
    }
  }
};

} // namespace

} // namespace hethub::ox

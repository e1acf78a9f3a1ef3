//===- LowerToATen.cpp - replaces onnx operators by LibTorch calls --------===//
//
// Not a set of rewrite patterns: every node is lowered once, in order, by the
// handler of its operator, and all nodes that cannot be lowered are reported at
// once. The work is done on a copy of each function, so that a module with an
// unsupported node stays as it was.
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "Lowering.h"

#include "hethub/Conversion/ONNXToATen/Passes.h"
#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Support/EraseDead.h"
#include "hethub/Support/Names.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace hethub {

#define GEN_PASS_DEF_LOWERTOATEN
#include "hethub/Conversion/ONNXToATen/Passes.h.inc"

namespace {

struct Refusal {
  Location loc;
  std::string operation;
  std::string reason;
};

class FunctionLowering {
public:
  FunctionLowering(const HandlerTable &table, MLIRContext *context)
      : table(table), builder(context) {}

  void lowerBlock(Block &block);
  size_t nodes = 0;
  std::vector<Refusal> refusals;

private:
  void lowerNode(Operation *op);
  LogicalResult lowerIf(Operation *op, std::string &reason);
  bool refusedBefore(Operation *op) const;
  void refuse(Operation *op, const Twine &reason) {
    refusals.push_back({op->getLoc(), operatorName(op), reason.str()});
  }
  static std::string operatorName(Operation *op) {
    ox::Node node(op);
    return node.domain().empty() ? ("onnx." + node.opType()).str()
                                 : (node.domain() + "::" + node.opType()).str();
  }

  const HandlerTable &table;
  OpBuilder builder;
};

bool isLibTorchElement(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth() == 1 || integer.getWidth() >= 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    return isa<Float32Type, Float64Type>(complex.getElementType());
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type,
             Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
             Float8E5M2FNUZType>(element);
}

/// Why the types of a node keep it from being lowered; empty where nothing
/// does.
std::string refusedTypes(Operation *op) {
  auto check = [](Type type, StringRef role) -> std::string {
    std::string text;
    llvm::raw_string_ostream out(text);
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked && !isa<UnrankedTensorType>(type))
      out << role << " is no tensor: " << type;
    else if (!ranked || !ranked.hasStaticShape())
      out << "shape of " << role << " is not known when compiling: " << type;
    else if (!isLibTorchElement(ranked.getElementType()))
      out << role << " has elements that LibTorch lacks: " << type;
    return text;
  };
  for (Value operand : op->getOperands())
    if (std::string text = check(operand.getType(), "an input"); !text.empty())
      return text;
  for (Value result : op->getResults())
    if (std::string text = check(result.getType(), "an output"); !text.empty())
      return text;
  return "";
}

void FunctionLowering::lowerNode(Operation *op) {
  ++nodes;
  ox::Node node(op);
  std::string key = node.domain().empty()
                        ? node.opType().str()
                        : (node.domain() + "." + node.opType()).str();
  bool isIf = key == "If";
  auto handler = table.find(key);
  if (!isIf && handler == table.end())
    return refuse(op, "this operator is not supported yet");
  if (std::string text = refusedTypes(op); !text.empty())
    return refuse(op, text);
  builder.setInsertionPoint(op);
  if (isIf) {
    std::string reason;
    if (failed(lowerIf(op, reason)))
      refuse(op, reason);
    else
      op->erase();
    return;
  }
  Lowering lowering(op, builder);
  if (failed(handler->second(lowering)))
    return refuse(op, lowering.reason());
  op->erase();
}

/// Both branches become regions of one hh.if; they read outer values as before.
LogicalResult FunctionLowering::lowerIf(Operation *op, std::string &reason) {
  ox::Node node(op);
  Value condition = node.input(0);
  auto type = cast<RankedTensorType>(condition.getType());
  if (type.getNumElements() != 1) {
    reason = "the condition must have one element";
    return failure();
  }
  Region *branches[] = {node.subgraph("then_branch"),
                        node.subgraph("else_branch")};
  for (Region *branch : branches) {
    Operation *yield = branch->front().getTerminator();
    if (yield->getOperandTypes() != op->getResultTypes()) {
      reason = "both branches must give values of the same known types";
      return failure();
    }
  }
  if (type.getRank() != 0) {
    Lowering lowering(op, builder);
    condition = lowering.reshape(condition, {});
  }
  auto choice =
      hh::IfOp::create(builder, op->getLoc(), op->getResultTypes(), condition);
  Region *bodies[] = {&choice.getThenBody(), &choice.getElseBody()};
  for (auto [branch, body] : llvm::zip_equal(branches, bodies)) {
    body->takeBody(*branch);
    Operation *yield = body->front().getTerminator();
    lowerBlock(body->front());
    builder.setInsertionPoint(yield);
    hh::YieldOp::create(builder, yield->getLoc(), yield->getOperands());
    yield->erase();
  }
  op->replaceAllUsesWith(choice.getResults());
  return success();
}

void FunctionLowering::lowerBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (ox::isNode(&op)) {
      lowerNode(&op);
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        lowerBlock(inner);
  }
}

struct LowerToATenPass : impl::LowerToATenBase<LowerToATenPass> {
  LogicalResult initialize(MLIRContext *) override {
    addActivationHandlers(table);
    addAttentionHandlers(table);
    addComparisonHandlers(table);
    addConvolutionHandlers(table);
    addElementwiseHandlers(table);
    addGeneratorHandlers(table);
    addIndexingHandlers(table);
    addLinearHandlers(table);
    addLossHandlers(table);
    addNormalizationHandlers(table);
    addPaddingHandlers(table);
    addPoolingHandlers(table);
    addQuantizationHandlers(table);
    addRecurrentHandlers(table);
    addReductionHandlers(table);
    addResamplingHandlers(table);
    addScatterHandlers(table);
    addShapeHandlers(table);
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<std::pair<Operation *, OwningOpRef<Operation *>>> lowered;
    std::vector<Refusal> refusals;
    size_t nodes = 0;
    for (Operation &op : module.getBody()->getOperations()) {
      if (!isa<FunctionOpInterface>(op))
        continue;
      OwningOpRef<Operation *> copy(op.clone());
      FunctionLowering lowering(table, &getContext());
      for (Region &region : (*copy)->getRegions()) {
        for (Block &block : region)
          lowering.lowerBlock(block);
        // Shapes and axes that handlers read as constants have no use left.
        eraseDead(region);
        if (lowering.refusals.empty())
          makeLayoutIndependent(region);
      }
      nodes += lowering.nodes;
      llvm::append_range(refusals, lowering.refusals);
      lowered.emplace_back(&op, std::move(copy));
    }
    if (!refusals.empty()) {
      std::set<std::string> operators;
      for (const Refusal &refusal : refusals) {
        operators.insert(refusal.operation);
        emitError(refusal.loc)
            << refusal.operation << " cannot be lowered: " << refusal.reason;
      }
      emitError(module.getLoc())
          << refusals.size() << " of " << nodes
          << " operations cannot be lowered: " << llvm::join(operators, ", ");
      return signalPassFailure();
    }
    for (auto &[op, copy] : lowered) {
      module.getBody()->getOperations().insert(op->getIterator(),
                                               copy.release());
      op->erase();
    }
  }

  HandlerTable table;
};

} // namespace
} // namespace hethub

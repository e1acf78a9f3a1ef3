//===- LowerToATen.cpp - replaces onnx operators by LibTorch calls --------===//
//
// Not a set of rewrite patterns: every node is lowered once, in order, by the
// handler of its operator, and all nodes that cannot be lowered are reported at
// once. The work is done on a copy of each function, so that a module with an
// unsupported node stays as it was.
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "OpenHandlers.h"

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
  FunctionLowering(const HandlerTable &table, const OpenHandlerTable &openTable,
                   MLIRContext *context)
      : table(table), openTable(openTable), builder(context) {}

  void lowerBlock(Block &block);
  size_t nodes = 0;
  std::vector<Refusal> refusals;

private:
  void lowerNode(Operation *op);
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
  const OpenHandlerTable &openTable;
  OpBuilder builder;
};

/// LibTorch's types, small ones that a byte holds, and strings.
bool isStorable(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return isa<Float32Type, Float64Type>(complex.getElementType());
  return isa<IntegerType, ox::StringType>(element) || isCoded(element) ||
         isa<Float16Type, BFloat16Type, Float32Type, Float64Type,
             Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
             Float8E5M2FNUZType, Float8E8M0FNUType>(element);
}

/// Why a value of a type cannot be held at run time; empty where it can.
std::string unstorable(Type type, StringRef role) {
  Type held = type;
  while (isa<ox::SeqType, ox::OptType>(held))
    held = isa<ox::SeqType>(held) ? cast<ox::SeqType>(held).getElementType()
                                  : cast<ox::OptType>(held).getElementType();
  std::string text;
  llvm::raw_string_ostream out(text);
  auto tensor = dyn_cast<TensorType>(held);
  if (!tensor)
    out << role << " is no tensor, sequence or optional: " << type;
  else if (!isStorable(tensor.getElementType()))
    out << role << " has elements that LibTorch lacks: " << type;
  return text;
}

/// Why ordinary handlers cannot lower a node of these types; empty where they
/// can.
std::string refusedTypes(Operation *op) {
  auto check = [](Type type, StringRef role) -> std::string {
    std::string text;
    llvm::raw_string_ostream out(text);
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!isa<TensorType>(type))
      out << role << " is no tensor: " << type;
    else if (!ranked || !ranked.hasStaticShape())
      out << "shape of " << role << " is not known when compiling: " << type;
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
  bool controls = isControlFlow(key);
  auto handler = table.find(key);
  auto open = openTable.find(key);
  if (!controls && handler == table.end() && open == openTable.end())
    return refuse(op, "this operator is not supported yet");
  for (Value operand : op->getOperands())
    if (std::string text = unstorable(operand.getType(), "an input");
        !text.empty())
      return refuse(op, text);
  for (Value result : op->getResults())
    if (std::string text = unstorable(result.getType(), "an output");
        !text.empty())
      return refuse(op, text);

  // Sizes that are known are written into calls; where they are not, or the
  // handler misses a constant, the run tells them.
  std::string reason = controls ? "" : refusedTypes(op);
  if (controls || (reason.empty() && handler != table.end())) {
    builder.setInsertionPoint(op);
    Lowering lowering(op, builder);
    LogicalResult lowered =
        controls ? lowerControlFlow(lowering,
                                    [&](Block &block) { lowerBlock(block); })
                 : handler->second(lowering);
    if (succeeded(lowered) && lowering.reason().empty())
      return op->erase();
    reason = lowering.reason();
  }
  if (open == openTable.end())
    return refuse(op, reason);
  if (std::string text = refusedBy(open->second.needs, op); !text.empty())
    return refuse(op, text);
  builder.setInsertionPoint(op);
  Lowering lowering(op, builder);
  if (failed(open->second.handler(lowering)) || !lowering.reason().empty())
    return refuse(op, lowering.reason());
  op->erase();
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
    addDeformableConvolutionHandlers(table);
    addDetectionHandlers(table);
    addFeatureHandlers(table);
    addFourierHandlers(table);
    addLinearAttentionHandlers(table);
    addLinearModelHandlers(table);
    addMicrosoftAttentionHandlers(table);
    addMicrosoftFusedHandlers(table);
    addMicrosoftQuantizedHandlers(table);
    addOptimizerHandlers(table);
    addRandomHandlers(table);
    addSearchHandlers(table);
    addTreeHandlers(table);
    addOpenShapeHandlers(openTable, table);
    addSequenceHandlers(openTable);
    addTextHandlers(openTable);
    addOpenWindowHandlers(openTable);
    addOpenSearchHandlers(openTable);
    addOpenSignalHandlers(openTable);
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
      FunctionLowering lowering(table, openTable, &getContext());
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
  OpenHandlerTable openTable;
};

} // namespace
} // namespace hethub

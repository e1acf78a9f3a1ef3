//===- ReachedValues.cpp - which values need a gradient -------------------===//
//
// Only the way forward is followed here: which values trained parameters reach.
// That the loss depends on a value shows by itself, since rules are applied
// backwards from the loss and a value that nothing hands a gradient has none.
//===----------------------------------------------------------------------===//

#include "ReachedValues.h"

#include "Derivation.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"

using namespace mlir;

namespace hethub::differentiate {

bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Comparisons, argmax and their like: the table says so with a null rule.
static bool hasNoDerivative(Operation *op) {
  aten::CallView call(op);
  if (!call)
    return false;
  auto rule = rules().find(call.schema());
  return rule != rules().end() && !rule->second;
}

static void addFloatResults(Operation *op, llvm::DenseSet<Value> &wanted) {
  for (Value result : op->getResults())
    if (isFloatTensor(result.getType()))
      wanted.insert(result);
}

void addReached(Operation *op, llvm::DenseSet<Value> &wanted) {
  if (!hasNoDerivative(op) &&
      llvm::any_of(hh::readValues(op),
                   [&](Value value) { return wanted.contains(value); }))
    addFloatResults(op, wanted);
}

llvm::DenseSet<Value> reachedValues(ArrayRef<hh::ProgramOp> stages,
                                    const llvm::DenseSet<StringAttr> &trained) {
  llvm::DenseSet<Value> wanted;
  llvm::DenseSet<int64_t> channels; // that carry a reached value
  auto readsTrained = [&](Operation *op) {
    return op
        ->walk([&](hh::GetParameterOp get) {
          return trained.contains(get.getParameterAttr().getAttr())
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  // Values travel to later stages only: their senders have been seen.
  for (hh::ProgramOp stage : stages)
    for (Operation &op : stage.getBody().front()) {
      if (auto recv = dyn_cast<hh::RecvOp>(op)) {
        if (channels.contains(recv.getChannel()))
          wanted.insert(recv.getResult());
      } else if (auto send = dyn_cast<hh::SendOp>(op)) {
        if (wanted.contains(send.getValue()))
          channels.insert(send.getChannel());
      } else if (readsTrained(&op)) {
        addFloatResults(&op, wanted);
      } else {
        addReached(&op, wanted);
      }
    }
  return wanted;
}

} // namespace hethub::differentiate

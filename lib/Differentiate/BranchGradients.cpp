//===- BranchGradients.cpp - gradients through hh.if ----------------------===//
//
// The backward pass of a branch is a branch: each side computes the side that
// was taken again and goes back through it, and yields the gradients of what it
// reads from outside. So nothing is kept of a side that may not have been
// taken.
//===----------------------------------------------------------------------===//

#include "StageGradients.h"

#include "ReachedValues.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hethub::differentiate {

/// One side: `made` gets what yields the gradients of `outer`.
void StageGradients::makeBranch(hh::IfOp op, Region &branch, Region &made,
                                ArrayRef<Value> outer) {
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&made);
  Gradients inner;
  inner.wanted.insert(outer.begin(), outer.end());
  IRMapping values;
  SmallVector<Operation *> operations;
  for (Operation &original : branch.front().without_terminator()) {
    operations.push_back(builder.clone(original, values));
    addReached(operations.back(), inner.wanted);
  }

  Gradients *around = std::exchange(gradients, &inner);
  for (auto [result, yielded] : llvm::zip_equal(
           op.getOutputs(), branch.front().getTerminator()->getOperands())) {
    Value value = values.lookupOrDefault(yielded);
    if (Value gradient = around->of.lookup(result);
        gradient && inner.wanted.contains(value))
      add(value, gradient, op.getLoc());
  }
  for (Operation *operation : llvm::reverse(operations))
    visit(operation);
  CallBuilder make(op.getLoc(), builder);
  SmallVector<Value> yielded;
  for (Value value : outer) {
    Value gradient = inner.of.lookup(value);
    yielded.push_back(gradient ? gradient
                               : make.fullReal(CallBuilder::dims(value), 0,
                                               CallBuilder::element(value)));
  }
  hh::YieldOp::create(builder, op.getLoc(), yielded);
  gradients = around;
}

void StageGradients::visitBranch(hh::IfOp op) {
  WalkResult draws = op.walk([](Operation *inner) {
    return isRandom(inner) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (draws.wasInterrupted())
    return refuse(op, "a gradient cannot pass a branch that draws random "
                      "numbers");
  SmallVector<Value> outer;
  for (Value value : hh::readValues(op))
    if (gradients->wanted.contains(value))
      outer.push_back(value);
  auto made = hh::IfOp::create(builder, op.getLoc(),
                               TypeRange(ValueRange(outer)), op.getCondition());
  makeBranch(op, op.getThenBody(), made.getThenBody(), outer);
  makeBranch(op, op.getElseBody(), made.getElseBody(), outer);
  for (auto [value, gradient] : llvm::zip_equal(outer, made.getOutputs()))
    add(value, gradient, op.getLoc());
}

} // namespace hethub::differentiate

//===- HoistStartUp.cpp - work on parameters alone, done once at load -----===//

#include "hethub/Conversion/ONNXToATen/Passes.h"
#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/IR/Dependence.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hethub {

#define GEN_PASS_DEF_HOISTSTARTUP
#include "hethub/Conversion/ONNXToATen/Passes.h.inc"

namespace {

/// A parameter or a constant: costs nothing to have, so it never moves for its
/// own sake.
bool isSource(Operation *op) {
  return isa<hh::GetParameterOp, hh::ConstantOp>(op);
}

/// Operations of the block that depend on constants alone, and on parameters
/// where these never change, in order.
llvm::SetVector<Operation *> constantWork(Block &block, bool training) {
  llvm::DenseSet<Value> constant;
  hh::addComputedFrom(
      block,
      [&](Operation *op) {
        return isSource(op) && !(training && isa<hh::GetParameterOp>(op));
      },
      [](Operation *op) { return isa<aten::CallInterface>(op) && isPure(op); },
      constant);
  llvm::SetVector<Operation *> work;
  for (Operation &op : block)
    if (!isSource(&op) && op.getNumResults() > 0 &&
        constant.contains(op.getResult(0)))
      work.insert(&op);
  return work;
}

void hoist(hh::ProgramOp program, bool training) {
  Block &block = program.getBody().front();
  llvm::SetVector<Operation *> work = constantWork(block, training);
  if (work.empty())
    return;
  // Values that others read leave the region.
  SmallVector<Value> outputs;
  for (Operation *op : work)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !work.contains(block.findAncestorOpInBlock(*user));
          }))
        outputs.push_back(result);

  OpBuilder builder(&block, block.begin());
  auto startUp = hh::StartUpOp::create(builder, program.getLoc(),
                                       TypeRange(ValueRange(outputs)));
  Block *body = builder.createBlock(&startUp.getBody());
  // Sources are copied in: the rest of the program may read them as well.
  IRMapping mapping;
  for (Operation *op : work) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          isSource(source) && !mapping.contains(operand))
        builder.clone(*source, mapping);
    builder.clone(*op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  builder.setInsertionPointToEnd(body);
  hh::YieldOp::create(builder, program.getLoc(), yielded);
  for (auto [output, result] : llvm::zip_equal(outputs, startUp.getOutputs()))
    output.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(work))
    op->erase();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isSource(&op) && op.use_empty())
      op.erase();
}

struct HoistStartUpPass : impl::HoistStartUpBase<HoistStartUpPass> {
  using HoistStartUpBase::HoistStartUpBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<hh::ProgramOp>())
      hoist(program, training);
  }
};

} // namespace
} // namespace hethub

//===- KeepOperation.cpp - a stage needs something to run -----------------===//

#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hethub::ox {

#define GEN_PASS_DEF_KEEPOPERATION
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

namespace {
struct KeepOperation : impl::KeepOperationBase<KeepOperation> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        keepOne(function.getBody().front());
  }

private:
  static void keepOne(Block &block) {
    Operation *end = block.getTerminator();
    bool hasOne = llvm::any_of(block.without_terminator(), [](Operation &op) {
      return op.getName().getDialectNamespace() == "onnx" &&
             op.getName().getStringRef() != "onnx.Constant";
    });
    if (hasOne || end->getNumOperands() == 0)
      return;
    Value first = end->getOperand(0);
    OpBuilder builder(end);
    OperationState state(NameLoc::get(builder.getStringAttr(valueName(first))),
                         "onnx.Identity");
    state.addOperands(first);
    state.addTypes(first.getType());
    end->setOperand(0, builder.create(state)->getResult(0));
  }
};
} // namespace

} // namespace hethub::ox

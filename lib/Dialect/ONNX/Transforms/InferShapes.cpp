//===- InferShapes.cpp - types by ONNX's own inference --------------------===//

#include "InferFunction.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hethub::ox {

#define GEN_PASS_DEF_INFERSHAPES
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

LogicalResult inferFunction(func::FuncOp function, Inference &inference) {
  Block &block = function.getBody().front();
  if (failed(inference.infer(block)))
    return failure();
  function.setType(FunctionType::get(function.getContext(),
                                     block.getArgumentTypes(),
                                     block.getTerminator()->getOperandTypes()));
  return success();
}

namespace {
struct InferShapes : impl::InferShapesBase<InferShapes> {
  using InferShapesBase::InferShapesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Inference inference;
      if (!function.isExternal() && failed(inferFunction(function, inference)))
        return signalPassFailure();
    }
  }
};
} // namespace

} // namespace hethub::ox

//===- LowerPrecision.cpp - products in the type that a device trains in --===//

#include "hethub/Conversion/ONNXToATen/Passes.h"
#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/ATen/Utils/CallBuilder.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hethub {

#define GEN_PASS_DEF_LOWERPRECISION
#include "hethub/Conversion/ONNXToATen/Passes.h.inc"

namespace {

/// What matrix units compute. LibTorch adds up in float32 in all of them.
const llvm::StringSet<> products{"addmm",
                                 "bmm",
                                 "convolution",
                                 "linear",
                                 "matmul",
                                 "mm",
                                 "scaled_dot_product_attention"};

bool isFloat32(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.getElementType().isF32();
}

void lowerPrecision(Operation *op, Type type) {
  aten::CallView call(op);
  if (!call || !products.contains(call.layout().name) ||
      op->getNumResults() != 1 || !isFloat32(op->getResult(0)))
    return;
  OpBuilder builder(op);
  CallBuilder casts(op->getLoc(), builder);
  for (OpOperand &operand : op->getOpOperands())
    if (isFloat32(operand.get()))
      operand.set(casts.cast(operand.get(), type));
  Value result = op->getResult(0);
  result.setType(CallBuilder::typeOf(result).clone(type));
  builder.setInsertionPointAfter(op);
  Value wide = casts.cast(result, builder.getF32Type());
  result.replaceAllUsesExcept(wide, wide.getDefiningOp());
}

struct LowerPrecisionPass : impl::LowerPrecisionBase<LowerPrecisionPass> {
  void runOnOperation() override {
    llvm::StringSet<> types;
    for (auto type : getOperation().getOps<hh::DeviceTypeOp>())
      if (type.getTrainingPrecision() == "bfloat16")
        types.insert(type.getSymName());
    for (auto program : getOperation().getOps<hh::ProgramOp>())
      if (types.contains(program.getDevice()))
        program.walk([](Operation *op) {
          lowerPrecision(op, BFloat16Type::get(op->getContext()));
        });
  }
};

} // namespace
} // namespace hethub

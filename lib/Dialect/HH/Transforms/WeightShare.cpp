//===- WeightShare.cpp - backward time that makes gradients ---------------===//

#include "WeightShare.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace hethub::hh;

double hethub::hh::weightShare(Operation *op, CloneRules &rules) {
  double share = llvm::StringSwitch<double>(op->getName().getStringRef())
                     .Cases({"onnx.MatMul", "onnx.Gemm", "onnx.Einsum"}, 0.5)
                     .Cases({"onnx.Conv", "onnx.ConvTranspose"}, 0.5)
                     .Case("onnx.Gather", 1)
                     .Default(0);
  if (share == 0)
    return 0;
  // The operand that can be a table is the first one.
  ValueRange operands = op->getOperands();
  if (share == 1)
    operands = operands.take_front();
  bool ofParameter = llvm::any_of(operands.take_front(2), [&](Value operand) {
    return operand.getDefiningOp() && rules.sources(operand).empty();
  });
  return ofParameter ? share : 0;
}

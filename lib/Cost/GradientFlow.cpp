//===- GradientFlow.cpp - what depends on parameters ----------------------===//

#include "hethub/Cost/GradientFlow.h"

#include "hethub/Dialect/HH/IR/Dependence.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace hethub;

static bool isFloat(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && isa<FloatType, ComplexType>(shaped.getElementType());
}

llvm::DenseSet<Value>
hethub::cost::valuesWithGradient(Block &block,
                                 llvm::function_ref<bool(StringRef)> trains) {
  llvm::DenseSet<Value> values;
  for (Operation &op : block) {
    auto parameter = dyn_cast<hh::GetParameterOp>(op);
    bool reached = parameter && trains(parameter.getParameter());
    // Sub-graphs read outer values without listing them as operands.
    op.walk([&](Operation *inner) {
      reached |= llvm::any_of(inner->getOperands(), [&](Value operand) {
        return values.contains(operand);
      });
    });
    if (!reached)
      continue;
    for (Value result : op.getResults())
      if (isFloat(result.getType()))
        values.insert(result);
  }
  return values;
}

llvm::DenseSet<Value> hethub::cost::valuesOfParameters(Block &block) {
  llvm::DenseSet<Value> values;
  hh::addComputedFrom(
      block, [](Operation *op) { return isa<hh::GetParameterOp>(op); },
      [](Operation *op) { return op->getNumRegions() == 0; }, values);
  return values;
}

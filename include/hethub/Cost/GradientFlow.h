//===- GradientFlow.h - what depends on parameters -------------*- C++ -*-===//

#ifndef HETHUB_COST_GRADIENTFLOW_H
#define HETHUB_COST_GRADIENTFLOW_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace hethub::cost {

/// The float values of `block` that a parameter of which `trains` is true
/// reaches: those that a gradient flows back through. Positions, masks and
/// whatever else is made of model inputs alone have none.
llvm::DenseSet<mlir::Value>
valuesWithGradient(mlir::Block &block,
                   llvm::function_ref<bool(llvm::StringRef)> trains);

/// The values of `block` that depend on parameters and constants alone.
llvm::DenseSet<mlir::Value> valuesOfParameters(mlir::Block &block);

} // namespace hethub::cost

#endif // HETHUB_COST_GRADIENTFLOW_H

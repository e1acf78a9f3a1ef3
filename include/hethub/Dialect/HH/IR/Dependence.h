//===- Dependence.h - what is computed from what alone ---------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_IR_DEPENDENCE_H
#define HETHUB_DIALECT_HH_IR_DEPENDENCE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace hethub::hh {

using OperationTest = llvm::function_ref<bool(mlir::Operation *)>;

/// Adds to `values` the results of the block's operations that are a source,
/// or that read members of `values` alone, in their regions too, have no effect
/// and are of those that count. With parameters and constants as sources these
/// are the same for every microbatch.
void addComputedFrom(mlir::Block &block, OperationTest isSource,
                     OperationTest counts, llvm::DenseSet<mlir::Value> &values);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_IR_DEPENDENCE_H

//===- ReachedValues.h - which values need a gradient ----------*- C++ -*-===//

#ifndef HETHUB_LIB_DIFFERENTIATE_REACHEDVALUES_H
#define HETHUB_LIB_DIFFERENTIATE_REACHEDVALUES_H

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/ADT/DenseSet.h"

namespace hethub::differentiate {

/// Adds the results of the operation that change with a value of `wanted`.
/// Those of integer type and of operators that have no derivative do not.
void addReached(mlir::Operation *op, llvm::DenseSet<mlir::Value> &wanted);

/// The values of all programs (stages in order) that change with one of the
/// parameters `trained`, followed through the channels.
llvm::DenseSet<mlir::Value>
reachedValues(llvm::ArrayRef<hh::ProgramOp> stages,
              const llvm::DenseSet<mlir::StringAttr> &trained);

bool isFloatTensor(mlir::Type type);

} // namespace hethub::differentiate

#endif // HETHUB_LIB_DIFFERENTIATE_REACHEDVALUES_H

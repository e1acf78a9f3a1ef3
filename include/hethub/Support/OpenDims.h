//===- OpenDims.h - dimensions that the user has not fixed -----*- C++ -*-===//

#ifndef HETHUB_SUPPORT_OPENDIMS_H
#define HETHUB_SUPPORT_OPENDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hethub {

/// One error that names every dimension of the inputs that has no size yet, a
/// nameless one by its input and axis as --dim takes it. Costs and plans need
/// all of them.
llvm::LogicalResult requireFixedDims(mlir::func::FuncOp function);

} // namespace hethub

#endif // HETHUB_SUPPORT_OPENDIMS_H

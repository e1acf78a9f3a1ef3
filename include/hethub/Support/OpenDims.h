//===- OpenDims.h - dimensions that the user has not fixed -----*- C++ -*-===//

#ifndef HETHUB_SUPPORT_OPENDIMS_H
#define HETHUB_SUPPORT_OPENDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hethub {

/// Of a function: names of the dims that stay open, so that programs take any
/// size of them; "*" for all.
constexpr llvm::StringLiteral openDimsAttrName = "hh.open_dims";

/// One error that names every dimension of the inputs that has no size yet and
/// is not meant to stay open, a nameless one by its input and axis as --dim
/// takes it.
llvm::LogicalResult requireFixedDims(mlir::func::FuncOp function);

} // namespace hethub

#endif // HETHUB_SUPPORT_OPENDIMS_H

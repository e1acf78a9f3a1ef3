//===- Simplify.h - what is seen over several rules only -------*- C++ -*-===//

#ifndef HETHUB_LIB_DIFFERENTIATE_SIMPLIFY_H
#define HETHUB_LIB_DIFFERENTIATE_SIMPLIFY_H

#include "mlir/IR/Block.h"

namespace hethub::differentiate {

/// Gradients of pieces that make up a whole are put side by side, where their
/// rules pad each with zeros and add; transposed products become products of
/// the transposed, whose result lies in order.
void simplifyGradients(mlir::Block &block);

/// Calls that differ only in which results they are asked for become one. Rules
/// ask for gradients of parameters apart, so that they can move to the weight
/// program.
void mergeMaskedCalls(mlir::Block &block);

} // namespace hethub::differentiate

#endif // HETHUB_LIB_DIFFERENTIATE_SIMPLIFY_H

//===- VerifyTraining.h - what holds of training programs ------*- C++ -*-===//

#ifndef HETHUB_LIB_DIALECT_HH_TRANSFORMS_VERIFYTRAINING_H
#define HETHUB_LIB_DIALECT_HH_TRANSFORMS_VERIFYTRAINING_H

#include "mlir/IR/BuiltinOps.h"

namespace hethub::hh {

/// True where stages have more than their forward program.
bool isTraining(mlir::ModuleOp module);

// Checks of the contract between phases (VerifyPhase.cpp), as docs/Training.md
// has them. They hold of modules without training programs, but the first.

/// There are backward programs, and weight programs only beside such.
llvm::LogicalResult differentiated(mlir::ModuleOp module);
/// Arguments and results say what they are; there is one loss.
llvm::LogicalResult trainingPorts(mlir::ModuleOp module);
/// A slot is written once, before it is read, and read at all.
llvm::LogicalResult savedSlots(mlir::ModuleOp module);
/// Gradients and new values have the types of their parameters; none has both.
llvm::LogicalResult parameterResults(mlir::ModuleOp module);
/// Values go to later stages, gradients back along the channels of values.
llvm::LogicalResult channelDirections(mlir::ModuleOp module);

} // namespace hethub::hh

#endif // HETHUB_LIB_DIALECT_HH_TRANSFORMS_VERIFYTRAINING_H

//===- Fingerprint.h - what a module computes, as hashes -------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_FINGERPRINT_H
#define HETHUB_DIALECT_HH_TRANSFORMS_FINGERPRINT_H

#include "hethub/Dialect/HH/IR/HHDialect.h"

namespace hethub::hh {

/// An operation of the model, wherever it stands.
struct OperationRecord {
  mlir::Operation *op = nullptr;
  int64_t stage = -1; ///< -1: in no stage
  bool clone = false;
  uint64_t own = 0;  ///< Operator, attributes, types.
  uint64_t hash = 0; ///< The same, and what its operands are computed from.
};

/// What a module computes. Constants and parameters are no records of their
/// own: they are part of their readers.
struct Fingerprint {
  std::vector<OperationRecord> operations; ///< In order of stages.
  std::vector<uint64_t> outputs;           ///< By index of the model's output.
};

/// Reads a module in any form before lowering: @main with or without hh.stage
/// regions, or programs with channels. Fails, with an error, where stages or
/// messages are out of order, so that no value can be told.
mlir::FailureOr<Fingerprint> takeFingerprint(mlir::ModuleOp module);

/// Leaves the fingerprint of the module in an hh.fingerprint at its end, in
/// place of an older one.
void recordFingerprint(mlir::ModuleOp module);

/// Compares the module with its hh.fingerprint: nothing lost, doubled, changed
/// or reordered. Emits an error for each operation that breaks this, by its
/// name in the model.
mlir::LogicalResult verifyPlan(mlir::ModuleOp module);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_FINGERPRINT_H

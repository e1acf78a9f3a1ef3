// Evaluates models and programs on hashes in place of tensors.
//
// The value of an operation is a hash over its name, attributes and operand
// values: two computations have equal values only if they are the same. It is
// written apart from lib/Dialect/HH/Transforms/Fingerprint.cpp, which it
// checks.
#ifndef HETHUB_UNITTESTS_PARTITION_LOOPBACK_H
#define HETHUB_UNITTESTS_PARTITION_LOOPBACK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <string>

namespace hethub::test {

/// Values of the model's outputs by (microbatch, index).
using Outputs = std::map<std::pair<int, int64_t>, uint64_t>;

/// The outputs of @main with no stages, for `microbatches` unlike inputs.
Outputs runModel(mlir::ModuleOp module, int microbatches);

/// The outputs of the module's programs as its hh.schedule lets them run, all
/// ranks in one process. A rank that cannot go on ends the run: its outputs
/// are then missing.
Outputs runPrograms(mlir::ModuleOp module, int microbatches);

/// A context with the dialects that models need.
std::unique_ptr<mlir::MLIRContext> makeContext();
mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                        const std::string &text);

/// Runs a textual pass pipeline; returns the diagnostics, "" where it succeeds
/// without one.
std::string runPasses(mlir::ModuleOp module, const std::string &pipeline);

} // namespace hethub::test

#endif

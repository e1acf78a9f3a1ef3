//===- StageParts.h - the programs of each stage ---------------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_STAGEPARTS_H
#define HETHUB_DIALECT_HH_TRANSFORMS_STAGEPARTS_H

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include <map>
#include <vector>

namespace hethub::hh {

/// On stages and programs: how many microbatches, of all replicas together, the
/// schedule keeps between their forward and their backward pass; and how many
/// fit in memory.
constexpr llvm::StringLiteral inFlightAttrName = "hh.in_flight";
constexpr llvm::StringLiteral inFlightLimitAttrName = "hh.in_flight_limit";
/// On stages and programs: rank of the first replica, where stages share ranks
/// (interleaved stages).
constexpr llvm::StringLiteral firstRankAttrName = "hh.first_rank";
/// The part of `hh.backward_seconds` that gradients of parameters take.
constexpr llvm::StringLiteral weightSecondsAttrName = "hh.weight_seconds";

/// The programs of one stage. `backward` and `weight` are null in inference.
struct StageParts {
  ProgramOp forward, backward, weight;

  /// Those that there are, in that order.
  llvm::SmallVector<ProgramOp, 3> programs() const;

  /// Predicted seconds of a microbatch's backward pass, of both parts together,
  /// and what `weight` has of them. 0 where there is no such part.
  double backwardSeconds() const;
  double weightSeconds() const;

  /// Gradients of parameters that the stage makes, with their types.
  llvm::SmallVector<std::pair<mlir::StringAttr, mlir::Type>> gradients() const;
};

/// Orders names as text, so that what is made of them does not depend on where
/// they lie in memory.
struct NameOrder {
  bool operator()(mlir::StringAttr a, mlir::StringAttr b) const {
    return a.getValue() < b.getValue();
  }
};

/// The stages, in order, that make a gradient of a parameter: their gradients
/// are summed.
using GradientStages =
    std::map<mlir::StringAttr, std::vector<unsigned>, NameOrder>;
GradientStages gradientStages(llvm::ArrayRef<StageParts> stages);

/// All stages in order. Emits an error and fails where there is none, stages
/// are not numbered from 0 without gaps, a stage has no forward program or a
/// part twice.
mlir::FailureOr<std::vector<StageParts>> readStages(mlir::ModuleOp module);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_STAGEPARTS_H

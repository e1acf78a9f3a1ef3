//===- StageParts.h - the programs of each stage ---------------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_STAGEPARTS_H
#define HETHUB_DIALECT_HH_TRANSFORMS_STAGEPARTS_H

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include <vector>

namespace hethub::hh {

/// The programs of one stage. `backward` and `weight` are null in inference.
struct StageParts {
  ProgramOp forward, backward, weight;

  /// Those that there are, in that order.
  llvm::SmallVector<ProgramOp, 3> programs() const;
};

/// All stages in order. Emits an error and fails where there is none, stages
/// are not numbered from 0 without gaps, a stage has no forward program or a
/// part twice.
mlir::FailureOr<std::vector<StageParts>> readStages(mlir::ModuleOp module);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_STAGEPARTS_H

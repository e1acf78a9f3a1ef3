//===- Pipelines.h - the named pipelines -----------------------*- C++ -*-===//

#ifndef HETHUB_PIPELINES_PIPELINES_H
#define HETHUB_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace hethub {

struct CompileOptions {
  std::string
      cluster; ///< cluster file; empty: `stages` equal devices of this machine
  unsigned stages = 0; ///< exactly this many stages; 0: as many as are best
  unsigned microbatches = 1;        ///< of one step
  unsigned microbatchSize = 0;      ///< samples of one; 0: not known
  bool training = false;            ///< of a training step
  unsigned stagesPerDevice = 1;     ///< training: more are interleaved
  bool replicas = true;             ///< stages may have several
  bool tensorParallel = false;      ///< devices of a node may share operations
  bool recompute = false;           ///< stages may compute forward passes again
  uint64_t workLimit = 100'000'000; ///< steps of the search
  std::string planFile;             ///< a user's stage map; empty: search
  bool explain = false;             ///< the plan says why it is not better
  bool whatIf = false; ///< and what one more device of each type would gain
  std::vector<std::string> dims; ///< "name=size"

  // Training (docs/Training.md).
  bool lossRequired = true; ///< plans alone do without
  std::string loss;         ///< cross-entropy or mse; empty: the model's own
  std::string lossOutput;   ///< of which output; empty: the only one
  std::vector<std::string> trainingMode; ///< operators: batch-norm, dropout
  std::vector<std::string> frozen;       ///< parameters: glob patterns of names
  std::string schedule = "1f1b";         ///< gpipe, zero-bubble
};

/// Imported model -> static shapes, folded shape arithmetic, one op for what
/// exporters decompose.
void buildNormalizePipeline(mlir::OpPassManager &pm,
                            const CompileOptions &options);
/// -> hh.stage regions with a plan.
void buildPlanPipeline(mlir::OpPassManager &pm, const CompileOptions &options);
/// -> hh.programs of aten calls, one a stage or, in training, one for each part
/// of a step, with their schedule.
void buildLowerPipeline(mlir::OpPassManager &pm, const CompileOptions &options);

/// Makes two of them available to hh-opt as hh-normalize and hh-lower-stages.
void registerPipelines();

} // namespace hethub

#endif // HETHUB_PIPELINES_PIPELINES_H

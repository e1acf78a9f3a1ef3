// A configuration of transformer training, and tables of them.
#ifndef HETHUB_PREDICTOR_TRAININGRUN_H
#define HETHUB_PREDICTOR_TRAININGRUN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace hethub::predictor {

/// GPT-like training with tensor, data and pipeline parallelism. The MLP is
/// 4 x hidden wide. Ranks are numbered tensor first, then data, then pipeline.
struct TrainingRun {
  std::string id;
  int gpus = 1;
  int globalBatch = 1; ///< Sequences of an iteration.
  int microBatch = 1;  ///< Sequences of a microbatch of one pipeline.
  int hidden = 1, heads = 1, layers = 1;
  int sequence = 1; ///< Tokens of a sequence.
  int tensorParallel = 1, dataParallel = 1, pipelineParallel = 1;

  int microbatches() const { return globalBatch / (dataParallel * microBatch); }
  int stageLayers() const { return layers / pipelineParallel; }
  double tokens() const { return double(microBatch) * sequence; }
};

/// Refuses what cannot be run: "gpus must be tp x dp x pp = 4, got: 8".
llvm::Error check(const TrainingRun &run);

/// A CSV file with a header; other columns than the known ones are skipped:
/// id,gpus,global_batch,micro_batch,hidden,heads,layers,seq,tp,dp,pp. Errors
/// name `file` and the line.
llvm::Expected<std::vector<TrainingRun>>
parseTrainingRuns(llvm::StringRef text, llvm::StringRef file);

} // namespace hethub::predictor

#endif

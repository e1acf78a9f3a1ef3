// Formulas of published analyses; see the header.
#include "Transformer.h"

#include <cmath>

namespace hethub::predictor {

double layerFlops(const TrainingRun &run) {
  double hidden = run.hidden;
  return (24 * hidden + 4.0 * run.sequence) * run.tokens() * hidden /
         run.tensorParallel;
}

double layerActivationBytes(const TrainingRun &run) {
  double tokens = run.tokens(), split = run.tensorParallel;
  return tokens * run.hidden * (10 + 24 / split) +
         5 * tokens * run.sequence * run.heads / split;
}

static double layerParameters(const TrainingRun &run) {
  return 12.0 * run.hidden * run.hidden;
}

double stageParameters(const TrainingRun &run, const Machine &machine) {
  return layerParameters(run) * run.stageLayers() / run.tensorParallel +
         vocabularySlice(run, machine) * run.hidden;
}

double vocabularySlice(const TrainingRun &run, const Machine &machine) {
  if (run.tensorParallel == 1)
    return machine.vocabulary;
  return 128 * std::ceil(machine.vocabulary / (128.0 * run.tensorParallel));
}

bool recomputes(const TrainingRun &run, const Machine &machine) {
  if (!machine.checkpointing)
    return false;
  TrainingRun whole = run;
  whole.microBatch = whole.tensorParallel = whole.dataParallel =
      whole.pipelineParallel = 1;
  return 18 * stageParameters(whole, machine) +
             whole.layers * layerActivationBytes(whole) >
         machine.memoryBytes;
}

} // namespace hethub::predictor

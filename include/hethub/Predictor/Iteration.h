// How long one iteration of training takes.
#ifndef HETHUB_PREDICTOR_ITERATION_H
#define HETHUB_PREDICTOR_ITERATION_H

#include "hethub/Predictor/Calibration.h"
#include "hethub/Predictor/TrainingRun.h"

namespace hethub::predictor {

struct IterationTime {
  double seconds = 0;         ///< The sum of the next four.
  double pipelineSeconds = 0; ///< All microbatches forward and backward.
  double gradientSeconds = 0; ///< All-reduces of gradients after them.
  double optimizerSeconds = 0;
  double fixedSeconds = 0; ///< Constants::iterationSeconds.

  // Of one layer and microbatch.
  double layerForwardSeconds = 0;
  double layerBackwardSeconds = 0; ///< With the forward pass where that is
                                   ///< computed again.
  bool recomputes = false;
};

/// `run` has passed `check`.
IterationTime predictIteration(const TrainingRun &run,
                               const Calibration &calibration);

} // namespace hethub::predictor

#endif

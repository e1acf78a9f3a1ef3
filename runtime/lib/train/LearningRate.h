// The learning rate of each step.
#pragma once

#include "hethub/runtime/TrainOptions.h"

namespace hethub::runtime {

/// Throws Error where the options contradict each other.
void checkLearningRate(const LearningRateOptions &options, double peak,
                       int64_t steps);

/// Of step `step`, from 0, of a run of `steps`: rises linearly to `peak` in
/// the warm-up (step + 1 of them done), then stays, or falls to the minimum
/// along half a cosine or a line.
double learningRateAt(const LearningRateOptions &options, double peak,
                      int64_t step, int64_t steps);

} // namespace hethub::runtime

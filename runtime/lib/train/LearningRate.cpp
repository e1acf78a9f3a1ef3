#include "LearningRate.h"
#include "hethub/runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace hethub::runtime;

void hethub::runtime::checkLearningRate(const LearningRateOptions &options,
                                        double peak, int64_t steps) {
  if (options.warmupSteps > steps)
    fail("--warmup-steps must be at most the ", steps,
         " steps of the run, got: ", options.warmupSteps);
  if (options.minimum > peak)
    fail("--minimum-learning-rate must be at most the learning rate ", peak,
         ", got: ", options.minimum);
}

double hethub::runtime::learningRateAt(const LearningRateOptions &options,
                                       double peak, int64_t step,
                                       int64_t steps) {
  if (step < options.warmupSteps)
    return peak * static_cast<double>(step + 1) /
           static_cast<double>(options.warmupSteps);
  if (options.schedule == "constant")
    return peak;
  double done =
      static_cast<double>(step - options.warmupSteps) /
      static_cast<double>(std::max<int64_t>(1, steps - options.warmupSteps));
  done = std::min(done, 1.0);
  double left = options.schedule == "linear"
                    ? 1 - done
                    : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return options.minimum + (peak - options.minimum) * left;
}

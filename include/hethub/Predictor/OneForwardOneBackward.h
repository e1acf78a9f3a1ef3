// The one-forward-one-backward schedule in time.
#ifndef HETHUB_PREDICTOR_ONEFORWARDONEBACKWARD_H
#define HETHUB_PREDICTOR_ONEFORWARDONEBACKWARD_H

#include <vector>

namespace hethub::predictor {

struct StageSeconds {
  double forward = 0, backward = 0; ///< Of one microbatch.
};

/// When the last backward ends. Stage i of S begins with S - 1 - i forwards,
/// then alternates; messages take `hops[i]` between stages i and i + 1 and do
/// not hold up compute.
///
/// The times are those of simulator::simulate on simulator::trainingSchedule
/// (a test compares them), without its events: a fit evaluates some 100,000
/// configurations, and this takes a microsecond for 100 microbatches on a
/// stage.
double oneForwardOneBackward(const std::vector<StageSeconds> &stages,
                             const std::vector<double> &hops, int microbatches);

} // namespace hethub::predictor

#endif

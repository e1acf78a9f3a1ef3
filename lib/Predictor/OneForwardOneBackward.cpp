// Runs each stage in its fixed order as far as what it waits for is known.
#include "hethub/Predictor/OneForwardOneBackward.h"

#include <algorithm>

namespace hethub::predictor {

namespace {

/// A stage's place in its order of forwards and backwards, and the ends of
/// those that have run.
struct Progress {
  std::vector<double> forwardEnds, backwardEnds;
  double now = 0;
};

} // namespace

double oneForwardOneBackward(const std::vector<StageSeconds> &stages,
                             const std::vector<double> &hops,
                             int microbatches) {
  const size_t count = stages.size(), total = microbatches;
  std::vector<Progress> progress(count);
  // One sweep ends when each stage waits for its neighbours.
  while (progress[0].backwardEnds.size() < total) {
    for (size_t stage = 0; stage < count; ++stage) {
      Progress &own = progress[stage];
      const size_t warmUp = std::min(total, count - stage);
      while (own.backwardEnds.size() < total) {
        const size_t forwards = own.forwardEnds.size(),
                     backwards = own.backwardEnds.size();
        double ready = 0;
        if (forwards < total && forwards - backwards < warmUp) {
          if (stage > 0) {
            const std::vector<double> &ends = progress[stage - 1].forwardEnds;
            if (ends.size() <= forwards)
              break;
            ready = ends[forwards] + hops[stage - 1];
          }
          own.now = std::max(own.now, ready) + stages[stage].forward;
          own.forwardEnds.push_back(own.now);
          continue;
        }
        if (stage + 1 < count) {
          const std::vector<double> &ends = progress[stage + 1].backwardEnds;
          if (ends.size() <= backwards)
            break;
          ready = ends[backwards] + hops[stage];
        }
        own.now = std::max(own.now, ready) + stages[stage].backward;
        own.backwardEnds.push_back(own.now);
      }
    }
  }
  double last = 0;
  for (const Progress &stage : progress)
    last = std::max(last, stage.now);
  return last;
}

} // namespace hethub::predictor

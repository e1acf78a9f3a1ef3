// Runs each stage in its fixed order as far as what it waits for is known.
#include "hethub/Predictor/OneForwardOneBackward.h"

#include <algorithm>

namespace hethub::predictor {

namespace {

class Schedule {
public:
  Schedule(const std::vector<StageSeconds> &stages,
           const std::vector<double> &hops, size_t microbatches)
      : stages(stages), hops(hops), microbatches(microbatches),
        progress(stages.size()) {}

  double run() {
    std::vector<size_t> ready{0};
    while (!ready.empty()) {
      const size_t stage = ready.back();
      ready.pop_back();
      if (!advance(stage))
        continue;
      if (stage > 0)
        ready.push_back(stage - 1);
      if (stage + 1 < stages.size())
        ready.push_back(stage + 1);
    }
    double last = 0;
    for (const Progress &stage : progress)
      last = std::max(last, stage.now);
    return last;
  }

private:
  /// The ends of the forwards and backwards of a stage that have run.
  struct Progress {
    std::vector<double> forwardEnds, backwardEnds;
    double now = 0;
  };

  /// Runs a stage until it waits for a neighbour; whether anything ran.
  bool advance(size_t stage) {
    bool any = false;
    while (step(stage))
      any = true;
    return any;
  }

  bool step(size_t stage) {
    Progress &own = progress[stage];
    const size_t forwards = own.forwardEnds.size(),
                 backwards = own.backwardEnds.size();
    const size_t inFlight = stages.size() - stage;
    if (backwards == microbatches)
      return false;
    if (forwards < microbatches && forwards - backwards < inFlight) {
      if (stage == 0)
        return finish(own, own.forwardEnds, 0, stages[stage].forward);
      const std::vector<double> &ends = progress[stage - 1].forwardEnds;
      return forwards < ends.size() &&
             finish(own, own.forwardEnds, ends[forwards] + hops[stage - 1],
                    stages[stage].forward);
    }
    if (stage + 1 == stages.size())
      return finish(own, own.backwardEnds, 0, stages[stage].backward);
    const std::vector<double> &ends = progress[stage + 1].backwardEnds;
    return backwards < ends.size() &&
           finish(own, own.backwardEnds, ends[backwards] + hops[stage],
                  stages[stage].backward);
  }

  static bool finish(Progress &own, std::vector<double> &ends, double arrival,
                     double seconds) {
    own.now = std::max(own.now, arrival) + seconds;
    ends.push_back(own.now);
    return true;
  }

  const std::vector<StageSeconds> &stages;
  const std::vector<double> &hops;
  const size_t microbatches;
  std::vector<Progress> progress;
};

} // namespace

double oneForwardOneBackward(const std::vector<StageSeconds> &stages,
                             const std::vector<double> &hops,
                             int microbatches) {
  return Schedule(stages, hops, microbatches).run();
}

} // namespace hethub::predictor

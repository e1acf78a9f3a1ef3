// One forward, one backward.
//
// Why no table waits for ever: a replica of stage i runs k_i forwards ahead, so
// its forward of microbatch j stands after its backward of j - k_i r_i, and its
// backward of j after its forward of j + (k_i - 1) r_i. Give forwards the date
// j and backwards j + s_i: every row stands after what it waits for when
// s_i > s_i+1 and (k_i - 1) r_i <= s_i < k_i r_i. Such s exist when
// k_i r_i > (k_l - 1) r_l for every later stage l.
#include "StageRows.h"

#include <algorithm>

namespace hethub::simulator {

/// Forwards of each replica before its first backward, that one included.
static std::vector<int> forwardsAhead(const Pipeline &pipeline,
                                      int microbatches) {
  std::vector<int> rule = microbatchesInFlight(pipeline, microbatches);
  std::vector<int> ahead(pipeline.stages.size(), 1);
  int64_t later = 0; // most of (k - 1) r among the stages behind
  for (size_t stage = pipeline.stages.size(); stage-- > 0;) {
    const PipelineStage &of = pipeline.stages[stage];
    int inFlight = of.inFlight > 0 ? of.inFlight : rule[stage];
    int64_t least = later / of.replicas + 1;
    int64_t wanted = (int64_t(inFlight) + of.replicas - 1) / of.replicas;
    ahead[stage] = int(std::max(least, wanted));
    later = std::max(later, int64_t(ahead[stage] - 1) * of.replicas);
  }
  return ahead;
}

Schedule trainingSchedule(const Pipeline &pipeline, int microbatches) {
  Schedule schedule;
  schedule.training = true;
  schedule.microbatches = microbatches;
  StageRows rowsOf(pipeline);
  schedule.rows.reserve(2 * size_t(microbatches) *
                        (pipeline.stages.size() + pipeline.channels.size()));
  std::vector<int> ahead = forwardsAhead(pipeline, microbatches);
  for (int stage = 0; stage < int(pipeline.stages.size()); ++stage) {
    const PipelineStage &of = pipeline.stages[stage];
    for (int replica = 0; replica < of.replicas; ++replica) {
      // In units of r: the microbatches of one replica are r apart.
      int64_t offset = int64_t(ahead[stage] - 1) * of.replicas;
      int64_t end = microbatches + offset;
      for (int64_t next = replica; next < end; next += of.replicas) {
        if (next < microbatches)
          rowsOf.append(stage, Action::Forward, int(next), schedule.rows);
        if (next >= offset && next - offset < microbatches)
          rowsOf.append(stage, Action::Backward, int(next - offset),
                        schedule.rows);
      }
      if (of.replicas > 1)
        schedule.rows.push_back({stage, replica, Action::AllReduce, 0, -1, -1,
                                 -1, of.gradientBytes});
      schedule.rows.push_back({stage, replica, Action::OptimizerStep, 0});
    }
  }
  return schedule;
}

} // namespace hethub::simulator

// The order of forwards and backwards in a training step.
//
// Why no table of one forward, one backward waits for ever: a replica of stage
// i runs k_i forwards ahead, so its forward of microbatch j stands after its
// backward of j - k_i r_i, and its backward of j after its forward of
// j + (k_i - 1) r_i. Give forwards the date j and backwards j + s_i: every row
// stands after what it waits for when s_i > s_i+1 and
// (k_i - 1) r_i <= s_i < k_i r_i. Such s exist when k_i r_i > (k_l - 1) r_l for
// every later stage l. GPipe is the case where all k_i r_i are at least m.
#include "TrainingTables.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace llvm;

namespace hethub::simulator {

StringRef toString(ScheduleKind kind) {
  switch (kind) {
  case ScheduleKind::GPipe:
    return "gpipe";
  case ScheduleKind::OneForwardOneBackward:
    return "1f1b";
  case ScheduleKind::ZeroBubble:
    return "zero-bubble";
  }
  return "unknown";
}

std::optional<ScheduleKind> scheduleKindOf(StringRef name) {
  return StringSwitch<std::optional<ScheduleKind>>(name)
      .Case("gpipe", ScheduleKind::GPipe)
      .Case("1f1b", ScheduleKind::OneForwardOneBackward)
      .Case("zero-bubble", ScheduleKind::ZeroBubble)
      .Default(std::nullopt);
}

std::string scheduleKindNames() {
  return (toString(ScheduleKind::GPipe) + ", " +
          toString(ScheduleKind::OneForwardOneBackward) + " or " +
          toString(ScheduleKind::ZeroBubble))
      .str();
}

/// Forwards of each replica before its first backward, that one included.
static std::vector<int> forwardsAhead(const Pipeline &pipeline,
                                      int microbatches, ScheduleKind kind) {
  std::vector<int> rule = microbatchesInFlight(pipeline, microbatches);
  std::vector<int> ahead(pipeline.stages.size(), 1);
  int64_t later = 0; // most of (k - 1) r among the stages behind
  for (size_t stage = pipeline.stages.size(); stage-- > 0;) {
    const PipelineStage &of = pipeline.stages[stage];
    if (!of.hasBackward)
      continue;
    int inFlight = kind == ScheduleKind::GPipe ? microbatches
                   : of.inFlight > 0           ? of.inFlight
                                               : rule[stage];
    int64_t least = later / of.replicas + 1;
    int64_t wanted = (int64_t(inFlight) + of.replicas - 1) / of.replicas;
    ahead[stage] = int(std::max(least, wanted));
    later = std::max(later, int64_t(ahead[stage] - 1) * of.replicas);
  }
  return ahead;
}

Schedule startTraining(const Pipeline &pipeline, int microbatches) {
  Schedule schedule;
  schedule.training = true;
  schedule.microbatches = microbatches;
  schedule.rows.reserve(2 * size_t(microbatches) *
                        (pipeline.stages.size() + pipeline.channels.size()));
  return schedule;
}

void endStep(const Pipeline &pipeline, int stage, int replica, Action action,
             std::vector<Row> &rows) {
  const PipelineStage &of = pipeline.stages[stage];
  if (action == Action::OptimizerStep)
    rows.push_back({stage, replica, action, 0});
  else if (of.sumsGradients())
    rows.push_back({stage, replica, action, 0, -1, -1, -1, of.gradientBytes});
}

Schedule inTurn(const Pipeline &pipeline, int microbatches, ScheduleKind kind,
                Parts parts) {
  Schedule schedule = startTraining(pipeline, microbatches);
  StageRows rowsOf(pipeline, parts);
  std::vector<int> ahead = forwardsAhead(pipeline, microbatches, kind);
  for (int stage = 0; stage < int(pipeline.stages.size()); ++stage) {
    const PipelineStage &of = pipeline.stages[stage];
    for (int replica = 0; replica < of.replicas; ++replica) {
      // In units of r: the microbatches of one replica are r apart.
      int64_t offset = int64_t(ahead[stage] - 1) * of.replicas;
      int64_t end = microbatches + offset;
      for (int64_t next = replica; next < end; next += of.replicas) {
        if (next < microbatches)
          rowsOf.append(stage, Action::Forward, int(next), schedule.rows);
        if (of.hasBackward && next >= offset && next - offset < microbatches)
          rowsOf.append(stage, Action::Backward, int(next - offset),
                        schedule.rows);
      }
      for (Action action : {Action::AllReduce, Action::OptimizerStep})
        endStep(pipeline, stage, replica, action, schedule.rows);
    }
  }
  return schedule;
}

Schedule trainingSchedule(const Pipeline &pipeline, int microbatches,
                          ScheduleKind kind) {
  if (kind == ScheduleKind::ZeroBubble)
    return zeroBubble(pipeline, microbatches);
  if (isInterleaved(pipeline))
    return interleaved(pipeline, microbatches, kind);
  return inTurn(pipeline, microbatches, kind, Parts::Whole);
}

} // namespace hethub::simulator

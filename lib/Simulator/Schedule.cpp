// Tables for inference, and rows as text.
#include "StageRows.h"

using namespace llvm;

namespace hethub::simulator {

StringRef toString(Action action) {
  switch (action) {
  case Action::Receive:
    return "receive";
  case Action::Forward:
    return "forward";
  case Action::Send:
    return "send";
  case Action::Backward:
    return "backward";
  case Action::Weight:
    return "weight";
  case Action::AllReduce:
    return "all-reduce";
  case Action::OptimizerStep:
    return "optimizer step";
  }
  return "unknown";
}

bool Row::operator==(const Row &other) const {
  return stage == other.stage && replica == other.replica &&
         action == other.action && microbatch == other.microbatch &&
         peerStage == other.peerStage && peerReplica == other.peerReplica &&
         channel == other.channel && bytes == other.bytes;
}

std::string toString(const Row &row) {
  std::string text = "stage " + std::to_string(row.stage) + " replica " +
                     std::to_string(row.replica) + ": " +
                     toString(row.action).str();
  if (row.action != Action::AllReduce && row.action != Action::OptimizerStep)
    text += " microbatch " + std::to_string(row.microbatch);
  if (row.channel >= 0)
    text += " on channel " + std::to_string(row.channel);
  if (row.peerStage >= 0)
    text += std::string(row.action == Action::Send ? " to" : " from") +
            " stage " + std::to_string(row.peerStage) + " replica " +
            std::to_string(row.peerReplica);
  return text;
}

Schedule inferenceSchedule(const Pipeline &pipeline, int microbatches) {
  Schedule schedule;
  schedule.microbatches = microbatches;
  StageRows rowsOf(pipeline);
  for (size_t stage = 0; stage < pipeline.stages.size(); ++stage)
    for (int replica = 0; replica < pipeline.stages[stage].replicas; ++replica)
      for (int microbatch = replica; microbatch < microbatches;
           microbatch += pipeline.stages[stage].replicas)
        rowsOf.append(int(stage), Action::Forward, microbatch, schedule.rows);
  return schedule;
}

Schedule inferenceStream(const Pipeline &pipeline) {
  Schedule schedule = inferenceSchedule(pipeline, 1);
  schedule.perMicrobatch = true;
  return schedule;
}

Schedule expand(const Schedule &schedule, const Pipeline &pipeline,
                int microbatches) {
  if (!schedule.perMicrobatch)
    return schedule;
  Schedule whole;
  whole.microbatches = microbatches;
  auto replicaOf = [&](int stage, int microbatch) {
    return stage >= 0 && size_t(stage) < pipeline.stages.size()
               ? microbatch % pipeline.stages[stage].replicas
               : -1;
  };
  for (size_t stage = 0; stage < pipeline.stages.size(); ++stage)
    for (int replica = 0; replica < pipeline.stages[stage].replicas; ++replica)
      for (int microbatch = replica; microbatch < microbatches;
           microbatch += pipeline.stages[stage].replicas)
        for (Row row : schedule.rows) {
          if (row.stage != int(stage))
            continue;
          row.replica = replica;
          row.microbatch = microbatch;
          row.peerReplica = replicaOf(row.peerStage, microbatch);
          whole.rows.push_back(row);
        }
  return whole;
}

} // namespace hethub::simulator

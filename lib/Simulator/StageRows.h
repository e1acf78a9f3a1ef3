// The rows around one compute.
#ifndef HETHUB_LIB_SIMULATOR_STAGEROWS_H
#define HETHUB_LIB_SIMULATOR_STAGEROWS_H

#include "hethub/Simulator/Schedule.h"

namespace hethub::simulator {

/// How the backward of a stage stands in a table.
enum class Parts {
  Whole,       ///< One row.
  SendLast,    ///< Weight after it, then what it sends: the times of Whole.
  WeightLast,  ///< What it sends, then Weight.
  WeightApart, ///< Weight elsewhere.
};

/// Finds the channels of a stage once.
class StageRows {
public:
  explicit StageRows(const Pipeline &pipeline, Parts parts = Parts::Whole)
      : pipeline(pipeline), parts(parts), in(2 * pipeline.stages.size()),
        out(2 * pipeline.stages.size()) {
    for (size_t index = 0; index < pipeline.channels.size(); ++index) {
      const Channel &channel = pipeline.channels[index];
      in[2 * channel.toStage + channel.isGradient()].push_back(int(index));
      out[2 * channel.fromStage + channel.isGradient()].push_back(int(index));
    }
  }

  /// What a forward or backward receives, the compute, and what it sends, in
  /// channel order; the weight part of a backward where `parts` has it.
  void append(int stage, Action compute, int microbatch,
              std::vector<Row> &rows) const {
    int place = 2 * stage + (compute == Action::Backward);
    int replica = replicaOf(stage, microbatch);
    for (int channel : in[place])
      appendMessage(Action::Receive, stage, replica, channel, microbatch, rows);
    rows.push_back({stage, replica, compute, microbatch});
    bool weight =
        compute == Action::Backward && pipeline.stages[stage].hasWeight;
    if (weight && parts == Parts::SendLast)
      appendWeight(stage, microbatch, rows);
    for (int channel : out[place])
      appendMessage(Action::Send, stage, replica, channel, microbatch, rows);
    if (weight && parts == Parts::WeightLast)
      appendWeight(stage, microbatch, rows);
  }

  void appendWeight(int stage, int microbatch, std::vector<Row> &rows) const {
    rows.push_back(
        {stage, replicaOf(stage, microbatch), Action::Weight, microbatch});
  }

  const std::vector<int> &received(int stage, Action compute) const {
    return in[2 * stage + (compute == Action::Backward)];
  }
  const std::vector<int> &sent(int stage, Action compute) const {
    return out[2 * stage + (compute == Action::Backward)];
  }

private:
  int replicaOf(int stage, int microbatch) const {
    return microbatch % pipeline.stages[stage].replicas;
  }

  void appendMessage(Action action, int stage, int replica, int channel,
                     int microbatch, std::vector<Row> &rows) const {
    const Channel &edge = pipeline.channels[channel];
    int peer = action == Action::Send ? edge.toStage : edge.fromStage;
    rows.push_back({stage, replica, action, microbatch, peer,
                    replicaOf(peer, microbatch), channel, edge.bytes});
  }

  const Pipeline &pipeline;
  Parts parts;
  std::vector<std::vector<int>> in, out; ///< by stage, values before gradients
};

} // namespace hethub::simulator

#endif

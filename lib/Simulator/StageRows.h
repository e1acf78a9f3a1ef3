// The rows around one compute.
#ifndef HETHUB_LIB_SIMULATOR_STAGEROWS_H
#define HETHUB_LIB_SIMULATOR_STAGEROWS_H

#include "hethub/Simulator/Schedule.h"

namespace hethub::simulator {

/// Finds the channels of a stage once.
class StageRows {
public:
  explicit StageRows(const Pipeline &pipeline)
      : pipeline(pipeline), in(2 * pipeline.stages.size()),
        out(2 * pipeline.stages.size()) {
    for (size_t index = 0; index < pipeline.channels.size(); ++index) {
      const Channel &channel = pipeline.channels[index];
      in[2 * channel.toStage + channel.isGradient()].push_back(int(index));
      out[2 * channel.fromStage + channel.isGradient()].push_back(int(index));
    }
  }

  /// What a forward or backward receives, the compute, and what it sends, in
  /// channel order.
  void append(int stage, Action compute, int microbatch,
              std::vector<Row> &rows) const {
    int place = 2 * stage + (compute == Action::Backward);
    int replica = replicaOf(stage, microbatch);
    for (int channel : in[place])
      appendMessage(Action::Receive, stage, replica, channel, microbatch, rows);
    rows.push_back({stage, replica, compute, microbatch});
    for (int channel : out[place])
      appendMessage(Action::Send, stage, replica, channel, microbatch, rows);
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
  std::vector<std::vector<int>> in, out; ///< by stage, values before gradients
};

} // namespace hethub::simulator

#endif

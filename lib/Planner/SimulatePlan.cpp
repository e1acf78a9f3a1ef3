// From stages and messages to a pipeline.
#include "hethub/Planner/SimulatePlan.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

void setChannelTimes(const cluster::Cluster &cluster, unsigned from,
                     unsigned to, simulator::Channel &channel) {
  cluster::Link link = cluster.linkFor(from, to, channel.bytes);
  const cluster::RuntimeFigures &sender = cluster.types[from].runtime,
                                &receiver = cluster.types[to].runtime;
  double bytes = double(channel.bytes);
  channel.sendSeconds = sender.send + sender.sendPerByte * bytes;
  channel.receiveSeconds = receiver.receive + receiver.receivePerByte * bytes;
  // The link's figures are those of a whole message, in which both ends' own
  // work is a part. An emulated one is counted from the begin of the sending to
  // the delivery.
  if (link.emulated) {
    channel.latencySeconds = std::max(
        0.0, link.latency + bytes / link.bandwidth - channel.sendSeconds);
    channel.transferSeconds = 0;
  } else {
    channel.latencySeconds =
        std::max(0.0, link.latency - sender.send - receiver.receive);
    channel.transferSeconds =
        bytes * std::max(0.0, 1 / link.bandwidth - sender.sendPerByte -
                                  receiver.receivePerByte);
  }
  // Measured figures have the copies in them.
  auto copySeconds = [&](unsigned type) {
    double bandwidth = cluster.types[type].hostBandwidth;
    return link.viaHost && link.routes.empty() && bandwidth > 0
               ? bytes / bandwidth
               : 0;
  };
  channel.copyOutSeconds = copySeconds(from);
  channel.copyInSeconds = copySeconds(to);
}

simulator::Pipeline pipelineOf(const Graph &graph,
                               const cluster::Cluster &cluster,
                               const Plan &plan, bool mergeMessages) {
  simulator::Pipeline pipeline;
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    const Stage &stage = plan.stages[index];
    simulator::PipelineStage added;
    added.name = "stage " + std::to_string(index) + " (" +
                 cluster.types[stage.deviceType].name + ")";
    added.replicas = int(stage.replicas);
    added.firstRank = stage.firstRank;
    added.forwardSeconds = stage.forwardSeconds;
    added.overheadSeconds = cluster.types[stage.deviceType].runtime.microbatch;
    if (plan.training) {
      added.backwardSeconds = stage.backwardSeconds;
      added.inFlight = int(stage.inFlight);
      added.weightSeconds = stage.weightSeconds;
      added.gradientBytes = stage.trainedBytes;
      added.allReduceSeconds = stage.allReduceSeconds;
      added.optimizerSeconds = stage.optimizerSeconds;
      added.activationBytes = stage.activationBytes;
    }
    added.residentBytes =
        stage.memoryBytes - stage.workspaceBytes -
        (plan.training ? int64_t(stage.inFlightOnReplica()) : 1) *
            stage.activationBytes;
    added.workspaceBytes = stage.workspaceBytes;
    if (!plan.isInterleaved())
      added.inFlightLimit = inFlightLimitOf(added, stage.memoryLimit);
    pipeline.stages.push_back(std::move(added));
  }
  for (const Message &message : plan.messages) {
    if (message.cloned) {
      pipeline.stages[message.toStage].forwardSeconds += message.seconds;
      continue;
    }
    // Copies of one message overlap the transfer of another, and emulated
    // messages each other: those stay apart. Messages stand by receiving stage.
    cluster::Link link = cluster.link(plan.stages[message.fromStage].deviceType,
                                      plan.stages[message.toStage].deviceType);
    bool mergeable = mergeMessages && !link.viaHost && !link.emulated,
         merge = false;
    for (size_t index = pipeline.channels.size(); mergeable && index-- > 0;)
      if (const simulator::Channel &other = pipeline.channels[index];
          other.toStage != int(message.toStage)) {
        break;
      } else if (other.fromStage == int(message.fromStage)) {
        std::swap(pipeline.channels[index], pipeline.channels.back());
        merge = true;
        break;
      }
    if (merge) {
      pipeline.channels.back().bytes += message.bytes;
      continue;
    }
    simulator::Channel channel;
    channel.name = graph.tensors[message.tensor].name;
    channel.fromStage = int(message.fromStage);
    channel.toStage = int(message.toStage);
    channel.bytes = message.bytes;
    // Stages are devices of their own: messages share a link with those of the
    // same two stages only.
    channel.link =
        int(message.fromStage * plan.stages.size() + message.toStage);
    pipeline.channels.push_back(std::move(channel));
  }
  for (simulator::Channel &channel : pipeline.channels)
    if (!plan.isLocal(channel.fromStage, channel.toStage))
      setChannelTimes(cluster, plan.stages[channel.fromStage].deviceType,
                      plan.stages[channel.toStage].deviceType, channel);
  if (plan.training)
    addGradientChannels(pipeline);
  return pipeline;
}

simulator::Schedule scheduleOf(const Plan &plan,
                               const simulator::Pipeline &pipeline) {
  int microbatches = int(plan.microbatches);
  return plan.training ? trainingSchedule(pipeline, microbatches, plan.schedule)
                       : inferenceSchedule(pipeline, microbatches);
}

simulator::Result simulatePlan(const Graph &graph,
                               const cluster::Cluster &cluster,
                               const Plan &plan) {
  simulator::Pipeline pipeline =
      pipelineOf(graph, cluster, plan, /*mergeMessages=*/true);
  return simulateGenerated(scheduleOf(plan, pipeline), pipeline);
}

} // namespace hethub::planner

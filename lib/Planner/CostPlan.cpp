// The figures of a given plan: times, messages, microbatches in flight, memory,
// step time.
#include "Interleave.h"
#include "StageCosts.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::planner {

static void costCompute(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options, Stage &stage) {
  stage.forwardSeconds = stage.backwardSeconds = stage.weightSeconds = 0;
  stage.parameterBytes = stage.trainedBytes = 0;
  stage.activationBytes = stage.workspaceBytes = 0;
  for (unsigned index : stage.nodes) {
    NodeCosts costs = costNode(graph.nodes[index], cluster, options,
                               stage.deviceType, stage.tensorParallel);
    stage.forwardSeconds += costs.forwardSeconds;
    stage.backwardSeconds += costs.backwardSeconds;
    stage.weightSeconds += costs.weightSeconds;
    stage.parameterBytes += costs.parameterBytes;
    if (options.training)
      stage.trainedBytes += costs.parameterBytes - costs.frozenBytes;
    stage.activationBytes += costs.activationBytes;
    stage.workspaceBytes = std::max(stage.workspaceBytes, costs.workspaceBytes);
  }
  stage.lateSeconds = putsOffWeights(options) ? stage.weightSeconds : 0;
  if (stage.recompute) {
    // The stage's inputs are kept (costMessages); all else exists for the one
    // microbatch whose backward pass runs.
    stage.backwardSeconds += stage.forwardSeconds;
    stage.workspaceBytes += stage.activationBytes;
    stage.activationBytes = 0;
  }
}

static void costMessages(const Graph &graph, const cluster::Cluster &cluster,
                         ArrayRef<unsigned> stageOf, Plan &plan) {
  plan.messages.clear();
  std::vector<unsigned> receivers;
  for (unsigned index = 0; index < graph.tensors.size(); ++index) {
    const Tensor &tensor = graph.tensors[index];
    unsigned from = stageOf[tensor.producer];
    receivers.clear();
    for (unsigned consumer : tensor.consumers)
      if (stageOf[consumer] != from)
        receivers.push_back(stageOf[consumer]);
    std::sort(receivers.begin(), receivers.end());
    receivers.erase(std::unique(receivers.begin(), receivers.end()),
                    receivers.end());
    for (unsigned to : receivers) {
      Message message{index, from, to, tensor.bytes, 0, false};
      unsigned toType = plan.stages[to].deviceType;
      if (!plan.isLocal(from, to))
        message.seconds = cluster.transferSeconds(plan.stages[from].deviceType,
                                                  toType, tensor.bytes);
      const std::vector<double> &clone =
          graph.nodes[tensor.producer].cloneSeconds;
      if (!clone.empty() && clone[toType] < message.seconds) {
        message.cloned = true;
        message.seconds = clone[toType];
      }
      Stage &stage = plan.stages[to];
      stage.receiveSeconds += message.seconds;
      if (!message.cloned)
        stage.receiveBytes += message.bytes;
      if (stage.recompute)
        stage.activationBytes += message.bytes;
      plan.messages.push_back(message);
    }
  }
  std::stable_sort(
      plan.messages.begin(), plan.messages.end(),
      [](const Message &a, const Message &b) { return a.toStage < b.toStage; });
}

void costPlan(const Graph &graph, const cluster::Cluster &cluster,
              const Options &options, Plan &plan) {
  plan.microbatches = options.microbatches;
  plan.microbatchSize = options.microbatchSize;
  plan.training = options.training;
  plan.schedule = options.schedule;
  std::vector<unsigned> stageOf(graph.nodes.size(), 0);
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    Stage &stage = plan.stages[index];
    std::sort(stage.nodes.begin(), stage.nodes.end());
    for (unsigned node : stage.nodes)
      stageOf[node] = index;
    stage.receiveSeconds = 0;
    stage.receiveBytes = 0;
    costCompute(graph, cluster, options, stage);
  }
  costMessages(graph, cluster, stageOf, plan);

  std::vector<unsigned> users;
  for (const SharedParameter &parameter : graph.sharedParameters) {
    users.clear();
    for (unsigned user : parameter.users)
      users.push_back(stageOf[user]);
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
    for (unsigned index : users) {
      Stage &stage = plan.stages[index];
      const int64_t bytes = sharedBytes(graph, parameter, stage.tensorParallel);
      stage.parameterBytes += bytes;
      if (options.training && !parameter.frozen)
        stage.trainedBytes += bytes;
    }
  }

  // T = sum(f + b) + 2 sum c + max((ceil(m / r) - 1) (f + b) + once a step);
  // inference sends forward only, and what is put off counts once a step.
  double sum = 0, steady = 0;
  plan.bottleneckSeconds = 0;
  for (Stage &stage : plan.stages) {
    stage.allReduceSeconds = stage.optimizerSeconds = 0;
    if (options.training) {
      stage.allReduceSeconds =
          linkOfReplicas(cluster, stage.deviceType)
              .seconds(stage.replicas, double(stage.trainedBytes));
      stage.optimizerSeconds = optimizerSeconds(
          cluster, options, stage.deviceType, stage.trainedBytes);
    }
    sum +=
        stage.fillSeconds() + (options.training ? 2 : 1) * stage.receiveSeconds;
    plan.bottleneckSeconds = std::max(plan.bottleneckSeconds, stage.load());
    steady = std::max(steady, stage.steadySeconds(options.microbatches));
  }
  plan.stepSeconds = sum + steady;

  // In flight, from the last stage: each replica runs as many ahead as it takes
  // to feed all that is in flight behind it, and one more. All of them where
  // backwards come last.
  const double pace = steady / std::max(1.0, options.microbatches - 1.0);
  double ahead = 0;
  for (unsigned index = plan.stages.size(); index-- > 0;) {
    Stage &stage = plan.stages[index];
    double inFlight = stage.replicas * (1 + std::ceil(ahead / stage.replicas));
    if (options.schedule == simulator::ScheduleKind::GPipe)
      inFlight = options.microbatches;
    stage.inFlight =
        options.training
            ? unsigned(std::min<double>(inFlight, options.microbatches))
            : stage.replicas;
    ahead =
        inFlight + (pace > 0 ? std::ceil(2 * stage.receiveSeconds / pace) : 0);
    stage.memoryBytes =
        parameterMemory(options, double(stage.parameterBytes),
                        double(stage.trainedBytes)) +
        int64_t(stage.inFlightOnReplica()) * stage.activationBytes +
        stage.workspaceBytes;
    stage.memoryLimit = memoryLimitOf(cluster, options, stage.deviceType);
  }
  if (plan.isInterleaved())
    costInterleaved(graph, cluster, options, plan);
}

} // namespace hethub::planner

// The figures of a given plan: times, messages, microbatches in flight, memory,
// step time.
#include "hethub/Planner/Plan.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::planner {

static int64_t memoryLimitOf(const cluster::Cluster &cluster,
                             const Options &options, unsigned type) {
  if (type < options.memoryLimits.size() && options.memoryLimits[type] > 0)
    return options.memoryLimits[type];
  return cluster.types[type].memoryBytes;
}

static void costCompute(const Graph &graph, const Options &options,
                        Stage &stage) {
  stage.forwardSeconds = stage.backwardSeconds = 0;
  stage.parameterBytes = stage.activationBytes = stage.workspaceBytes = 0;
  for (unsigned index : stage.nodes) {
    const Node &node = graph.nodes[index];
    stage.forwardSeconds += node.forwardSeconds[stage.deviceType];
    stage.parameterBytes += node.parameterBytes;
    stage.workspaceBytes = std::max(stage.workspaceBytes, node.workspaceBytes);
    if (!options.training)
      continue;
    if (!node.backwardSeconds.empty())
      stage.backwardSeconds += node.backwardSeconds[stage.deviceType];
    stage.activationBytes += node.activationBytes;
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
  plan.training = options.training;
  std::vector<unsigned> stageOf(graph.nodes.size(), 0);
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    Stage &stage = plan.stages[index];
    std::sort(stage.nodes.begin(), stage.nodes.end());
    for (unsigned node : stage.nodes)
      stageOf[node] = index;
    stage.receiveSeconds = 0;
    stage.receiveBytes = 0;
    costCompute(graph, options, stage);
  }
  costMessages(graph, cluster, stageOf, plan);

  std::vector<unsigned> users;
  for (const SharedParameter &parameter : graph.sharedParameters) {
    users.clear();
    for (unsigned user : parameter.users)
      users.push_back(stageOf[user]);
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
    for (unsigned stage : users)
      plan.stages[stage].parameterBytes += parameter.bytes;
  }

  // T = sum(f + b) + 2 sum c + (m - 1) max(f + b); inference sends forward
  // only.
  double sum = 0;
  plan.bottleneckSeconds = 0;
  for (const Stage &stage : plan.stages) {
    sum += stage.forwardSeconds + stage.backwardSeconds +
           (options.training ? 2 : 1) * stage.receiveSeconds;
    plan.bottleneckSeconds = std::max(plan.bottleneckSeconds, stage.load());
  }
  plan.stepSeconds =
      sum + (double(options.microbatches) - 1) * plan.bottleneckSeconds;

  // In flight, from the last stage: K = K' + 1 + ceil(2 c / bottleneck), never
  // more than there are microbatches.
  double inFlight = 1;
  for (unsigned index = plan.stages.size(); index-- > 0;) {
    Stage &stage = plan.stages[index];
    stage.inFlight =
        options.training
            ? unsigned(std::min<double>(inFlight, options.microbatches))
            : 1;
    double hop = stage.receiveSeconds;
    inFlight += 1 + (plan.bottleneckSeconds > 0
                         ? std::ceil(2 * hop / plan.bottleneckSeconds)
                         : 0);
    double factor = options.training ? options.parameterMemoryFactor : 1;
    stage.memoryBytes =
        int64_t(std::ceil(factor * double(stage.parameterBytes))) +
        int64_t(stage.inFlight) * stage.activationBytes + stage.workspaceBytes;
    stage.memoryLimit = memoryLimitOf(cluster, options, stage.deviceType);
  }
}

} // namespace hethub::planner

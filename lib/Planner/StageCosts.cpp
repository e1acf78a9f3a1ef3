// Costs of nodes whose work is divided, and of what a stage does once a step.
#include "StageCosts.h"

#include "hethub/Simulator/Pipeline.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::planner {

int64_t memoryLimitOf(const cluster::Cluster &cluster, const Options &options,
                      unsigned type) {
  if (type < options.memoryLimits.size() && options.memoryLimits[type] > 0)
    return options.memoryLimits[type];
  return cluster.types[type].memoryBytes;
}

unsigned devicesOfNode(const cluster::DeviceType &type) {
  return std::max(1u, type.count / std::max(1u, type.nodes));
}

double SumLink::seconds(unsigned participants, double bytes) const {
  return participants < 2 || bytes == 0
             ? 0
             : simulator::allReduceSeconds(participants, bytes, latencySeconds,
                                           bandwidth);
}

static SumLink makeSumLink(const cluster::DeviceType &type,
                           const cluster::Link &link) {
  double secondsPerByte = 1 / link.bandwidth;
  if (link.viaHost && link.routes.empty() && type.hostBandwidth > 0)
    secondsPerByte += 2 / type.hostBandwidth;
  return {link.latency, 1 / secondsPerByte};
}

SumLink linkOfReplicas(const cluster::Cluster &cluster, unsigned type) {
  const cluster::DeviceType &device = cluster.types[type];
  const cluster::Link link = cluster.link(type, type);
  // What sums were measured at holds for processes of this machine.
  if (!link.stated && device.nodes == 1 && device.runtime.sumBytesPerSecond > 0)
    return {device.runtime.sumLatency, device.runtime.sumBytesPerSecond};
  return makeSumLink(device, link);
}

/// Between devices of one node. The link of a type on several nodes is the one
/// between the nodes.
static cluster::Link linkInsideNode(const cluster::Cluster &cluster,
                                    unsigned type) {
  if (cluster.types[type].nodes <= 1)
    return cluster.link(type, type);
  cluster::Cluster oneNode;
  oneNode.types.push_back(cluster.types[type]);
  oneNode.types.front().nodes = 1;
  cluster::Link inside = oneNode.link(0, 0), between = cluster.link(type, type);
  return inside.bandwidth > between.bandwidth ? inside : between;
}

NodeCosts costNode(const Node &node, const cluster::Cluster &cluster,
                   const Options &options, unsigned type, unsigned width) {
  const unsigned shares = node.splits ? width : 1;
  auto share = [&](int64_t bytes) { return (bytes + shares - 1) / shares; };
  NodeCosts costs;
  costs.forwardSeconds = node.forwardSeconds[type] / shares;
  costs.parameterBytes = share(node.parameterBytes);
  costs.frozenBytes = share(node.frozenBytes);
  costs.workspaceBytes = share(node.workspaceBytes);
  if (options.training) {
    if (!node.backwardSeconds.empty())
      costs.backwardSeconds = node.backwardSeconds[type] / shares;
    if (!node.weightSeconds.empty())
      costs.weightSeconds = node.weightSeconds[type] / shares;
    costs.activationBytes = share(node.activationBytes);
  }
  if (width > 1 && node.reduceBytes > 0) {
    double seconds =
        makeSumLink(cluster.types[type], linkInsideNode(cluster, type))
            .seconds(width, double(node.reduceBytes));
    costs.forwardSeconds += seconds;
    if (options.training)
      costs.backwardSeconds += seconds;
  }
  return costs;
}

int64_t sharedBytes(const Graph &graph, const SharedParameter &parameter,
                    unsigned width) {
  bool splits =
      std::all_of(parameter.users.begin(), parameter.users.end(),
                  [&](unsigned user) { return graph.nodes[user].splits; });
  return splits ? (parameter.bytes + width - 1) / width : parameter.bytes;
}

double optimizerSeconds(const cluster::Cluster &cluster, const Options &options,
                        unsigned type, int64_t trainedBytes) {
  const cluster::DeviceType &device = cluster.types[type];
  double perByte = device.runtime.optimizerPerByte;
  if (!(perByte > 0) && device.memoryBandwidth > 0)
    perByte = options.optimizerTrafficFactor / device.memoryBandwidth;
  const double slowdown =
      device.emulatedSlowdown > 0 ? device.emulatedSlowdown : 1;
  return slowdown * perByte * double(trainedBytes);
}

int64_t parameterMemory(const Options &options, double parameterBytes,
                        double trainedBytes) {
  if (!options.training)
    return int64_t(parameterBytes);
  return int64_t(std::ceil(options.parameterMemoryFactor * trainedBytes)) +
         int64_t(parameterBytes - trainedBytes);
}

bool putsOffWeights(const Options &options) {
  return options.training &&
         options.schedule == simulator::ScheduleKind::ZeroBubble;
}

} // namespace hethub::planner

// Costs of nodes whose work is divided, and of what a stage does once a step.
#include "StageCosts.h"

#include "hethub/Simulator/Pipeline.h"

#include <algorithm>

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

/// `link` as a ring or tree sees it: each byte also passes through host memory
/// at both ends where messages do.
static double sumSeconds(const cluster::DeviceType &type,
                         const cluster::Link &link, unsigned participants,
                         int64_t bytes) {
  double secondsPerByte = 1 / link.bandwidth;
  if (link.viaHost && type.hostBandwidth > 0)
    secondsPerByte += 2 / type.hostBandwidth;
  return simulator::allReduceSeconds(participants, double(bytes), link.latency,
                                     1 / secondsPerByte);
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
  costs.workspaceBytes = share(node.workspaceBytes);
  if (options.training) {
    if (!node.backwardSeconds.empty())
      costs.backwardSeconds = node.backwardSeconds[type] / shares;
    costs.activationBytes = share(node.activationBytes);
  }
  if (width > 1 && node.reduceBytes > 0) {
    double seconds =
        sumSeconds(cluster.types[type], linkInsideNode(cluster, type), width,
                   node.reduceBytes);
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

double gradientSumSeconds(const cluster::Cluster &cluster, unsigned type,
                          unsigned replicas, int64_t parameterBytes) {
  if (replicas < 2 || parameterBytes == 0)
    return 0;
  return sumSeconds(cluster.types[type], cluster.link(type, type), replicas,
                    parameterBytes);
}

double optimizerSeconds(const cluster::Cluster &cluster, const Options &options,
                        unsigned type, int64_t parameterBytes) {
  double bandwidth = cluster.types[type].memoryBandwidth;
  return bandwidth > 0 ? options.optimizerTrafficFactor *
                             double(parameterBytes) / bandwidth
                       : 0;
}

} // namespace hethub::planner

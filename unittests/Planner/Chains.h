// Problems that a person can reckon: chains of layers on a few device types.
#ifndef HETHUB_UNITTESTS_PLANNER_CHAINS_H
#define HETHUB_UNITTESTS_PLANNER_CHAINS_H

#include "hethub/Planner/Planner.h"

#include <gtest/gtest.h>

namespace hethub::planner::test {

inline cluster::DeviceType device(std::string name, unsigned count,
                                  int64_t memory = 0) {
  cluster::DeviceType type;
  type.name = std::move(name);
  type.kind = "cpu";
  type.count = count;
  type.memoryBytes = memory;
  return type;
}

/// Links within a type have four times the bandwidth of those between types.
inline void setLinks(cluster::Cluster &cluster, double bandwidth,
                     double latency) {
  for (unsigned a = 0; a < cluster.types.size(); ++a)
    for (unsigned b = a; b < cluster.types.size(); ++b) {
      cluster::Link link;
      link.bandwidth = a == b ? 4 * bandwidth : bandwidth;
      link.latency = latency;
      cluster.setLink(a, b, link);
    }
}

/// A chain of layers; slowness[t]: seconds of one unit of work on type t.
inline Graph chain(llvm::ArrayRef<double> work,
                   llvm::ArrayRef<double> slowness) {
  Graph graph;
  for (unsigned index = 0; index < work.size(); ++index) {
    Node node;
    node.name = "layer" + std::to_string(index);
    for (double slow : slowness)
      node.forwardSeconds.push_back(work[index] * slow);
    graph.nodes.push_back(node);
    if (index > 0)
      graph.tensors.push_back(
          {"value" + std::to_string(index), index - 1, {index}, 1, true});
  }
  return graph;
}

inline std::vector<size_t> sizesOf(const Plan &plan) {
  std::vector<size_t> sizes;
  for (const Stage &stage : plan.stages)
    sizes.push_back(stage.nodes.size());
  return sizes;
}

inline Plan mustPlan(const Graph &graph, const cluster::Cluster &cluster,
                     const Options &options) {
  llvm::Expected<Plan> plan = findPlan(graph, cluster, options);
  if (!plan) {
    ADD_FAILURE() << llvm::toString(plan.takeError());
    return {};
  }
  return *plan;
}

inline std::string messageOf(const Graph &graph,
                             const cluster::Cluster &cluster,
                             const Options &options) {
  llvm::Expected<Plan> plan = findPlan(graph, cluster, options);
  return plan ? "accepted" : llvm::toString(plan.takeError());
}

} // namespace hethub::planner::test

#endif

// What the device types would reach alone.
#include "FindPlan.h"
#include "StageCosts.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

/// What one device type sees of a graph. Tables of costs grow with the square
/// of the number of types.
static Graph onlyType(Graph graph, unsigned type) {
  for (Node &node : graph.nodes)
    for (std::vector<double> *figures :
         {&node.forwardSeconds, &node.backwardSeconds, &node.weightSeconds,
          &node.cloneSeconds})
      if (!figures->empty())
        *figures = {(*figures)[type]};
  return graph;
}

static cluster::Cluster onlyType(const cluster::Cluster &cluster,
                                 unsigned type) {
  cluster::Cluster alone;
  alone.types = {cluster.types[type]};
  alone.setLink(0, 0, cluster.link(type, type));
  return alone;
}

Expected<double> upperBoundThroughput(const Graph &graph,
                                      const cluster::Cluster &cluster,
                                      const Options &options) {
  if (Error error = verifyGraph(graph, cluster.types.size()))
    return error;
  // Throughput for each device hardly grows with more devices than needed: it
  // is lost to filling, draining and sums of gradients, and won back only where
  // they happen to divide the work more evenly.
  Options shorter = options;
  shorter.exactStages = shorter.maxStages = 0;
  shorter.stagesPerDevice = 1;
  shorter.anyOrder = false;
  double sum = 0;
  for (unsigned type = 0; type < cluster.types.size(); ++type) {
    const Graph seen = onlyType(graph, type);
    cluster::Cluster alone = onlyType(cluster, type);
    if (!options.memoryLimits.empty())
      shorter.memoryLimits = {options.memoryLimits[type]};
    const unsigned inNode = devicesOfNode(cluster.types[type]),
                   most = cluster.types[type].count;
    double best = 0;
    // Microbatches/s of each device; 0: does not fit.
    auto attempt = [&](unsigned count) {
      alone.types[0].count = count;
      alone.types[0].nodes = (count + inNode - 1) / inNode;
      Expected<Plan> plan = findPlan(seen, alone, shorter, /*thorough=*/false);
      if (!plan) {
        consumeError(plan.takeError());
        return 0.0;
      }
      unsigned used = 0;
      for (const Stage &stage : plan->stages)
        used += stage.devices();
      double rate = options.microbatches / plan->stepSeconds / used;
      best = std::max(best, rate);
      return rate;
    };
    shorter.workLimit = options.workLimit / (32 * cluster.types.size());
    // The fewest devices that hold the model: none with `low`, all of it with
    // `high`.
    unsigned low = 0, high = 1;
    while (high < most && attempt(high) == 0) {
      low = high;
      high = std::min(2 * high, most);
    }
    if (high == most && best == 0 && attempt(high) == 0)
      continue;
    while (high - low > 1) {
      unsigned middle = (low + high) / 2;
      (attempt(middle) > 0 ? high : low) = middle;
    }
    // One device that holds all loses nothing.
    shorter.workLimit = options.workLimit / (8 * cluster.types.size());
    if (high > 1)
      for (unsigned count : {high, high + 1, 2 * high, most})
        if (count <= most)
          attempt(count);
    sum += best * cluster.types[type].count;
  }
  return sum;
}

} // namespace hethub::planner

// What the device types would reach alone.
#include "StageCosts.h"
#include "hethub/Planner/Planner.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

Expected<double> upperBoundThroughput(const Graph &graph,
                                      const cluster::Cluster &cluster,
                                      const Options &options) {
  if (Error error = verifyGraph(graph, cluster.types.size()))
    return error;
  // Throughput for each device hardly grows with more devices than needed: it
  // is lost to filling, draining and sums of gradients, and won back only where
  // they happen to divide the work more evenly.
  constexpr unsigned tries = 16;
  double sum = 0;
  for (unsigned type = 0; type < cluster.types.size(); ++type) {
    cluster::Cluster alone = cluster;
    for (cluster::DeviceType &other : alone.types)
      other.count = 0;
    const unsigned inNode = devicesOfNode(cluster.types[type]);
    double best = 0;
    unsigned feasible = 0;
    for (unsigned count = 1;
         count <= cluster.types[type].count && feasible < tries; ++count) {
      alone.types[type].count = count;
      alone.types[type].nodes = (count + inNode - 1) / inNode;
      Expected<Plan> plan = findPlan(graph, alone, options);
      if (!plan) {
        consumeError(plan.takeError());
        continue;
      }
      ++feasible;
      unsigned used = 0;
      for (const Stage &stage : plan->stages)
        used += stage.devices();
      best = std::max(best, options.microbatches / plan->stepSeconds / used);
      if (count == 1)
        break; // nothing gives more for each device than one that holds all
    }
    sum += best * cluster.types[type].count;
  }
  return sum;
}

} // namespace hethub::planner

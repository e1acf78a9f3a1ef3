// Lower bounds by duality. For weights p of the device types (p >= 0, sum 1)
// the largest load B of any plan satisfies
//   B >= sum_t p_t load_t / N_t >= sum_v min_t p_t w_t(v) / N_t,
// where load_t is the work on all N_t devices of type t, and with S >= sum_t
// load_t the step time satisfies
//   T >= S + (m - 1) B >= sum_v min_t (1 + (m - 1) p_t / N_t) w_t(v).
// Every p gives a bound; a few steps of multiplicative weights find a good one.
#include "Bounds.h"
#include "hethub/Planner/Planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// max over p of sum_v min_t (constant + factor p_t / N_t) w_t(v)
static double dualBound(const SliceCosts &costs, double constant,
                        double factor) {
  const unsigned types = costs.typeCount;
  std::vector<double> shares(types, 0), loads(types);
  unsigned present = 0;
  for (unsigned type = 0; type < types; ++type)
    present += costs.deviceCounts[type] > 0;
  for (unsigned type = 0; type < types; ++type)
    shares[type] = costs.deviceCounts[type] > 0 ? 1.0 / present : 0;
  double best = 0;
  const unsigned rounds = present > 1 ? 200 : 1;
  for (unsigned round = 0; round < rounds; ++round) {
    std::fill(loads.begin(), loads.end(), 0);
    double bound = 0;
    for (unsigned node = 0; node < costs.nodeCount; ++node) {
      double least = infinity;
      unsigned chosen = 0;
      for (unsigned type = 0; type < types; ++type) {
        if (costs.deviceCounts[type] == 0 ||
            costs.firstUnsupported[type][node] == node)
          continue;
        double value =
            (constant + factor * shares[type] / costs.deviceCounts[type]) *
            costs.load(type, node, node + 1);
        if (value < least) {
          least = value;
          chosen = type;
        }
      }
      bound += least;
      loads[chosen] += costs.load(chosen, node, node + 1) /
                       std::max(costs.deviceCounts[chosen], 1u);
    }
    best = std::max(best, bound);
    // More weight to types with more work for each device.
    double largest = *std::max_element(loads.begin(), loads.end()), sum = 0;
    if (largest <= 0)
      break;
    double step = 2.0 / std::sqrt(1.0 + round);
    for (unsigned type = 0; type < types; ++type) {
      if (costs.deviceCounts[type] > 0)
        shares[type] = std::max(shares[type], 1e-9) *
                       std::exp(step * (loads[type] / largest - 1));
      sum += shares[type];
    }
    for (double &share : shares)
      share /= sum;
  }
  return best;
}

/// The heaviest operation on its fastest type: replicas take turns, so that all
/// devices of a type may share it.
static double heaviestOperation(const SliceCosts &costs) {
  double heaviest = 0;
  for (unsigned node = 0; node < costs.nodeCount; ++node) {
    double least = infinity;
    for (unsigned type = 0; type < costs.typeCount; ++type)
      if (costs.deviceCounts[type] > 0 &&
          costs.firstUnsupported[type][node] != node)
        least = std::min(least, costs.load(type, node, node + 1));
    heaviest = std::max(heaviest, least);
  }
  return heaviest;
}

double bottleneckBound(const SliceCosts &costs) {
  return std::max(dualBound(costs, 0, 1), heaviestOperation(costs));
}

double stepBound(const SliceCosts &costs) {
  double repeats = double(costs.options.microbatches) - 1;
  return std::max(dualBound(costs, 1, repeats),
                  costs.leastWork() + repeats * heaviestOperation(costs));
}

double lowerBoundSeconds(const Graph &graph, const cluster::Cluster &cluster,
                         const Options &options) {
  return stepBound(SliceCosts(graph, cluster, options));
}

Expected<double> upperBoundThroughput(const Graph &graph,
                                      const cluster::Cluster &cluster,
                                      const Options &options) {
  if (Error error = verifyGraph(graph, cluster.types.size()))
    return error;
  // Throughput for each device hardly grows with more stages than needed: it is
  // lost to filling, draining and messages, and won back only where one more
  // stage happens to divide the work more evenly.
  constexpr unsigned triedStages = 16;
  double sum = 0;
  for (unsigned type = 0; type < cluster.types.size(); ++type) {
    cluster::Cluster alone = cluster;
    for (unsigned other = 0; other < cluster.types.size(); ++other)
      if (other != type)
        alone.types[other].count = 0;
    double best = 0;
    unsigned feasible = 0;
    unsigned most =
        std::min<size_t>(cluster.types[type].count, graph.nodes.size());
    for (unsigned stages = 1; stages <= most && feasible < triedStages;
         ++stages) {
      Options exactly = options;
      exactly.exactStages = stages;
      Expected<Plan> plan = findPlan(graph, alone, exactly);
      if (!plan) {
        consumeError(plan.takeError());
        continue;
      }
      ++feasible;
      best = std::max(best, options.microbatches / plan->stepSeconds / stages);
      if (stages == 1)
        break; // no pipeline gives more for each device than one device that
               // holds the model
    }
    sum += best * cluster.types[type].count;
  }
  return sum;
}

} // namespace hethub::planner

// Lower bounds by duality; docs/Rationale/Planner.md has theorems and proofs.
//
// Stage i has r_i replicas of w_i devices of type t, N_t in all, and is steady
// for O_i >= (m / r_i - 1) L_i. For weights p of the types (p >= 0, sum 1) the
// average of O over all devices gives
//   max O >= sum_i p_t r_i w_i / N_t O_i >= sum_i p_t w_i (m - r_i) / N_t L_i,
// and each L_i is a sum over nodes that may at best choose their cheapest kind.
// Every p gives a bound; a few steps of multiplicative weights find a good one.
#include "Bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

static bool usable(const SliceCosts &costs, unsigned kind, unsigned node) {
  const StageKind &of = costs.kinds[kind];
  return costs.deviceCounts[of.type] >= of.width &&
         costs.firstUnsupported[of.type][node] != node;
}

/// max over p of sum_v min_k (constant + p_t slope_k) L_k(v)
static double dualBound(const SliceCosts &costs, double constant,
                        ArrayRef<double> slopes) {
  const unsigned types = costs.typeCount;
  std::vector<double> shares(types, 0), loads(types);
  unsigned present = 0;
  for (unsigned type = 0; type < types; ++type)
    present += costs.deviceCounts[type] > 0;
  for (unsigned type = 0; type < types; ++type)
    shares[type] = costs.deviceCounts[type] > 0 ? 1.0 / present : 0;
  double best = 0;
  const double size = double(costs.nodeCount) * costs.kinds.size();
  const unsigned rounds =
      present > 1 ? unsigned(std::clamp(2e7 / size, 30.0, 200.0)) : 1;
  for (unsigned round = 0; round < rounds; ++round) {
    std::fill(loads.begin(), loads.end(), 0);
    double bound = 0;
    for (unsigned node = 0; node < costs.nodeCount; ++node) {
      double least = infinity;
      unsigned chosen = 0;
      for (unsigned kind = 0; kind < costs.kinds.size(); ++kind) {
        if (!usable(costs, kind, node))
          continue;
        double value =
            (constant + shares[costs.kinds[kind].type] * slopes[kind]) *
            costs.load(kind, node, node + 1);
        if (value < least) {
          least = value;
          chosen = kind;
        }
      }
      bound += least;
      loads[costs.kinds[chosen].type] +=
          costs.load(chosen, node, node + 1) * slopes[chosen];
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

/// Most replicas that a stage of this kind can have.
static double mostReplicas(const SliceCosts &costs, unsigned kind) {
  const StageKind &of = costs.kinds[kind];
  return std::max(1u, std::min(costs.deviceCounts[of.type] / of.width,
                               costs.replicaLimit(of.type)));
}

/// By kind: w (m - r) / N, where r may be chosen.
static std::vector<double> slopes(const SliceCosts &costs, bool replicasCount) {
  std::vector<double> result;
  for (unsigned kind = 0; kind < costs.kinds.size(); ++kind) {
    const StageKind &of = costs.kinds[kind];
    double replicas = replicasCount ? mostReplicas(costs, kind) : 0;
    result.push_back(of.width * (costs.options.microbatches - replicas) /
                     std::max(1u, costs.deviceCounts[of.type]));
  }
  return result;
}

/// The heaviest operation on its fastest kind: the busiest replica of its stage
/// has at least ceil(m / r) microbatches.
static double heaviestOperation(const SliceCosts &costs) {
  double heaviest = 0;
  for (unsigned node = 0; node < costs.nodeCount; ++node) {
    double least = infinity;
    for (unsigned kind = 0; kind < costs.kinds.size(); ++kind)
      if (usable(costs, kind, node))
        least = std::min(least, (std::ceil(costs.options.microbatches /
                                           mostReplicas(costs, kind)) -
                                 1) *
                                    costs.load(kind, node, node + 1));
    heaviest = std::max(heaviest, least);
  }
  return heaviest;
}

/// No stage has a larger load: it would not fit in memory.
static double largestLoad(const SliceCosts &costs) {
  double largest = 0;
  for (unsigned kind = 0; kind < costs.kinds.size(); ++kind) {
    const StageKind &of = costs.kinds[kind];
    if (costs.deviceCounts[of.type] < of.width)
      continue;
    unsigned end = 0;
    for (unsigned begin = 0; begin < costs.nodeCount; ++begin) {
      end = std::max(end, begin);
      // A slice that fits without its first node may not fit with it, but it is
      // no larger for that.
      while (end < costs.firstUnsupported[of.type][begin] &&
             costs.memory(kind, begin, end + 1, 1) <=
                 costs.memoryLimits[of.type])
        ++end;
      if (end > begin)
        largest = std::max(largest, costs.load(kind, begin, end));
    }
  }
  return largest;
}

double steadyBound(const SliceCosts &costs) {
  return std::max(dualBound(costs, 0, slopes(costs, true)),
                  heaviestOperation(costs));
}

double stepBound(const SliceCosts &costs) {
  double bound = std::max(dualBound(costs, 1, slopes(costs, true)),
                          costs.leastWork() + heaviestOperation(costs));
  // sum_i p_t r_i w_i / N_t L_i is an average of loads, so that leaving out
  // "- r_i" costs at most the largest one.
  if (costs.options.replicas)
    bound = std::max(bound, dualBound(costs, 1, slopes(costs, false)) -
                                largestLoad(costs));
  return bound;
}

} // namespace hethub::planner

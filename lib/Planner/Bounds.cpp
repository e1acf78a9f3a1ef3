// Lower bounds by duality; docs/Rationale/Planner.md has theorems and proofs.
//
// Stage i has r_i replicas of w_i devices of type t, N_t in all, and is steady
// for O_i >= (m / r_i - 1) L_i. For weights p of the types (p >= 0, sum 1) the
// average of O over all devices gives
//   max O >= sum_i p_t r_i w_i / N_t O_i >= sum_i p_t w_i (m - r_i) / N_t L_i,
// and each L_i is a sum over nodes that may at best choose their cheapest kind.
// Every p gives a bound; a few steps of multiplicative weights find a good one.
// What a schedule puts off is part of L, not of the sum over stages.
#include "Bounds.h"

#include "llvm/ADT/STLExtras.h"

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

/// max over p of sum_v min_k (constant fill_k(v) + p_t slope_k L_k(v))
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
        double value = constant * costs.fill(kind, node, node + 1) +
                       shares[costs.kinds[kind].type] * slopes[kind] *
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

/// Whether each node reaches, or is reached by, every other one.
static std::vector<char> findComparable(const Graph &graph) {
  const unsigned n = graph.nodes.size();
  std::vector<unsigned> firstUse(n, n);
  std::vector<int> lastInput(n, -1);
  for (const Tensor &tensor : graph.tensors)
    for (unsigned consumer : tensor.consumers) {
      unsigned &use = firstUse[tensor.producer];
      use = std::min(use, consumer);
      lastInput[consumer] = std::max(lastInput[consumer], int(tensor.producer));
    }
  // All before a node reach it when each of them is read by it or by another
  // one before it; the same backwards.
  std::vector<char> comparable(n, true);
  unsigned latest = 0;
  for (unsigned node = 0; node < n; ++node) {
    comparable[node] = latest <= node;
    latest = std::max(latest, firstUse[node]);
  }
  int earliest = int(n);
  for (unsigned node = n; node-- > 0;) {
    comparable[node] = comparable[node] && earliest >= int(node);
    earliest = std::min(earliest, lastInput[node]);
  }
  return comparable;
}

namespace {
/// Neighbours in the order: one comparable node, or all between two of them.
struct Run {
  unsigned begin, end;
  bool comparable;
};
} // namespace

static std::vector<Run> findRuns(const Graph &graph) {
  std::vector<Run> runs;
  for (auto [node, comparable] : llvm::enumerate(findComparable(graph))) {
    const unsigned begin = node, end = begin + 1;
    if (comparable || runs.empty() || runs.back().comparable)
      runs.push_back({begin, end, bool(comparable)});
    else
      runs.back().end = end;
  }
  return runs;
}

/// No stage of any order has a larger load: it would not fit in memory. A stage
/// with nodes of two runs has all that stands between these.
static double largestLoad(const SliceCosts &costs) {
  const std::vector<Run> runs = findRuns(costs.graph);
  double largest = 0;
  for (unsigned kind = 0; kind < costs.kinds.size(); ++kind) {
    const StageKind &of = costs.kinds[kind];
    if (costs.deviceCounts[of.type] < of.width)
      continue;
    auto fits = [&](const Run &first, const Run &last) {
      const unsigned begin = first.comparable ? first.begin : first.end,
                     end = last.comparable ? last.end : last.begin;
      if (begin >= end)
        return true;
      // What such a stage reads is known where it begins with a comparable
      // node; else recomputation may keep nothing: memory as with one
      // microbatch and without it (the kind before).
      const unsigned least =
          of.recompute && !first.comparable ? kind - 1 : kind;
      return end <= costs.firstUnsupported[of.type][begin] &&
             costs.memory(least, begin, end, 1) <= costs.memoryLimits[of.type];
    };
    size_t last = 0; // behind the stage
    for (size_t first = 0; first < runs.size(); ++first) {
      last = std::max(last, first);
      // A slice that fits without its first node may not fit with it, but it is
      // no larger for that.
      while (last < runs.size() && fits(runs[first], runs[last]))
        ++last;
      if (last > first)
        largest = std::max(
            largest, costs.load(kind, runs[first].begin, runs[last - 1].end));
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

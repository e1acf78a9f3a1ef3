// Small random planning problems.
#ifndef HETHUB_UNITTESTS_PLANNER_RANDOMGRAPHS_H
#define HETHUB_UNITTESTS_PLANNER_RANDOMGRAPHS_H

#include "hethub/Planner/Planner.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <limits>
#include <random>

namespace hethub::planner::test {

struct Problem {
  Graph graph;
  cluster::Cluster cluster;
  Options options;
};

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  unsigned below(unsigned limit) { return engine() % limit; }
  bool chance(double probability) { return real(0, 1) < probability; }
  double real(double low, double high) {
    return low + (high - low) * (double(engine()) / double(engine.max()));
  }

private:
  std::mt19937 engine;
};

/// A DAG of up to `maxNodes` nodes on up to three device types. All features of
/// the graph occur: skips, many consumers, cheap clones, groups, values that
/// may not cross, shared parameters, types that cannot run a node, memory
/// limits. Plans are those of the nodes' own order (`anyOrder` is false).
Problem randomProblem(unsigned seed, unsigned maxNodes);

struct Best {
  double step = std::numeric_limits<double>::infinity();
  Plan plan;
};

/// The best of all plans of the problem's orders that fit and are `admitted`; a
/// step of infinity where there is none.
Best bruteForce(
    const Problem &problem, llvm::function_ref<bool(const Plan &)> admitted =
                                [](const Plan &) { return true; });

} // namespace hethub::planner::test

#endif

// Placements for the finish of one sample against all placements.
#include "Oracle.h"

#include <gtest/gtest.h>

using namespace hethub::planner;
using namespace hethub::planner::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Pools have no limit and pay nothing.
static PlacementProblem randomLatencyProblem(unsigned seed) {
  PlacementProblem problem = randomPlacement(seed, 7, 4, false);
  for (DeviceClass &deviceClass : problem.classes)
    if (deviceClass.pooled && seed % 2) {
      deviceClass.pooled = false; // calls alone
    } else if (deviceClass.pooled) {
      deviceClass.memoryBytes = infinity;
      deviceClass.transferScale = 0;
    }
  return problem;
}

TEST(PlacementLatency, IsValidBoundedAndMostlyOptimal) {
  PlacementOptions options;
  options.objective = PlacementObjective::Latency;
  unsigned found = 0, optimal = 0, proven = 0;
  for (unsigned seed = 0; seed < 1200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PlacementProblem problem = randomLatencyProblem(seed);
    llvm::Expected<Placement> placement = findPlacement(problem, options);
    ASSERT_TRUE(bool(placement)) << llvm::toString(placement.takeError());
    const double best = bruteForce(problem, options);
    ASSERT_EQ(placement->status, best == infinity
                                     ? Placement::Status::Infeasible
                                     : Placement::Status::Found)
        << placement->reason;
    if (best == infinity)
      continue;
    const double slack = 1e-9 * (1 + best);
    EXPECT_EQ(brokenRule(problem, options, placement->devices), "");
    EXPECT_NEAR(placement->objective,
                objectiveOf(problem, options, placement->devices), slack);
    EXPECT_GE(placement->objective, best - slack);
    EXPECT_LE(placement->lowerBound, best + slack);
    ++found;
    optimal += placement->objective <= best + slack;
    proven += placement->lowerBound >= best - slack;
  }
  EXPECT_GE(found, 600u);
  EXPECT_GE(optimal, found * 95 / 100);
  EXPECT_GE(proven, found / 4);
}

/// On a chain the bound of its one path is the optimum.
TEST(PlacementLatency, ChainsAreProven) {
  PlacementOptions options;
  options.objective = PlacementObjective::Latency;
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacementProblem problem = randomLatencyProblem(seed);
    problem.classes.resize(1 + seed % 2);
    problem.classes[0].count = 1 + seed % 3;
    if (seed % 2) {
      problem.classes[1].pooled = true;
      problem.classes[1].memoryBytes = infinity;
      problem.classes[1].transferScale = 0;
      problem.classes[1].count = 1;
    }
    for (unsigned node = 0; node < problem.nodes.size(); ++node) {
      PlacementNode &what = problem.nodes[node];
      what.seconds.resize(1 + seed % 2, 3.0 * node);
      what.color = -1;
      what.consumers.clear();
      if (node + 1 < problem.nodes.size())
        what.consumers.push_back(node + 1);
    }
    llvm::Expected<Placement> placement = findPlacement(problem, options);
    ASSERT_TRUE(bool(placement)) << llvm::toString(placement.takeError());
    const double best = bruteForce(problem, options);
    if (best == infinity) {
      EXPECT_EQ(placement->status, Placement::Status::Infeasible);
      continue;
    }
    EXPECT_NEAR(placement->lowerBound, best, 1e-9 * (1 + best));
    EXPECT_NEAR(placement->objective, best, 1e-9 * (1 + best));
  }
}

TEST(PlacementLatency, RefusesBackwardNodes) {
  PlacementProblem problem = randomLatencyProblem(1);
  problem.nodes.back().backward = true;
  problem.nodes.back().consumers.clear();
  PlacementOptions options;
  options.objective = PlacementObjective::Latency;
  llvm::Expected<Placement> placement = findPlacement(problem, options);
  ASSERT_FALSE(bool(placement));
  EXPECT_EQ(llvm::toString(placement.takeError()),
            "latency needs forward nodes only, got: backward node " +
                problem.nodes.back().name);
}

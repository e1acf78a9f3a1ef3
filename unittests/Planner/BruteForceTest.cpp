// The planner against all contiguous plans of small random graphs.
#include "RandomGraphs.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hethub;
using namespace hethub::planner;

namespace hethub::planner::test {
namespace {

void compare(const Problem &problem, unsigned seed) {
  Best best = bruteForce(problem);
  llvm::Expected<Plan> plan =
      findPlan(problem.graph, problem.cluster, problem.options);
  if (!plan) {
    std::string message = llvm::toString(plan.takeError());
    ASSERT_FALSE(std::isfinite(best.step))
        << "seed " << seed << ": " << message << ", but " << best.step;
    return;
  }
  ASSERT_TRUE(std::isfinite(best.step)) << "seed " << seed;
  ASSERT_NEAR(plan->stepSeconds, best.step, 1e-8 * best.step)
      << "seed " << seed;
  ASSERT_TRUE(plan->optimalForOrder()) << "seed " << seed;
  ASSERT_LE(plan->lowerBoundSeconds, best.step * (1 + 1e-9)) << "seed " << seed;
  unsigned next = 0;
  for (const Stage &stage : plan->stages) {
    ASSERT_FALSE(stage.nodes.empty()) << "seed " << seed;
    for (unsigned node : stage.nodes)
      ASSERT_EQ(node, next++) << "seed " << seed;
  }
  ASSERT_EQ(next, problem.graph.nodes.size()) << "seed " << seed;
}

TEST(BruteForce, SmallGraphsAreCutOptimally) {
  for (unsigned seed = 0; seed < 4000 && !HasFatalFailure(); ++seed)
    compare(randomProblem(seed, seed % 4 ? 6 : 7), seed);
}

TEST(BruteForce, LargerGraphsAreCutOptimally) {
  for (unsigned seed = 0; seed < 60 && !HasFatalFailure(); ++seed)
    compare(randomProblem(1000000 + seed, 10), seed);
  for (unsigned seed = 0; seed < 60 && !HasFatalFailure(); ++seed) {
    Problem problem = randomProblem(3000000 + seed, 12);
    problem.options.recompute = problem.options.tensorParallel = false;
    problem.options.maxStages = 4;
    compare(problem, seed);
  }
}

/// The search for large clusters, which a state limit of 1 asks for: plans that
/// fit, bounds that hold.
TEST(BruteForce, RunsOfTypesAreNeverBelowTheOptimum) {
  unsigned planned = 0, missed = 0;
  double excess = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Problem problem = randomProblem(4000000 + seed, 6);
    problem.options.stateLimit = 1;
    problem.options.maxStages = 0;
    Best best = bruteForce(problem);
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      missed += std::isfinite(best.step);
      continue;
    }
    ++planned;
    ASSERT_GE(plan->stepSeconds, best.step * (1 - 1e-9)) << "seed " << seed;
    ASSERT_LE(plan->lowerBoundSeconds, best.step * (1 + 1e-9))
        << "seed " << seed;
    ASSERT_LE(plan->orderBoundSeconds, best.step * (1 + 1e-9))
        << "seed " << seed;
    for (const Stage &stage : plan->stages)
      ASSERT_TRUE(stage.memoryLimit == 0 ||
                  stage.memoryBytes <= stage.memoryLimit)
          << "seed " << seed;
    excess += plan->stepSeconds / best.step - 1;
  }
  std::printf(
      "%u planned, %u not found, on average %.2f %% above the optimum\n",
      planned, missed, 100 * excess / planned);
  EXPECT_LT(missed, planned / 20);
  EXPECT_LT(excess / planned, 0.1);
}

TEST(BruteForce, ExactStageCounts) {
  unsigned planned = 0;
  for (unsigned seed = 0; seed < 1000 && !HasFatalFailure(); ++seed) {
    Problem problem = randomProblem(2000000 + seed, 7);
    problem.options.maxStages = 0;
    problem.options.exactStages = 1 + seed % 4;
    compare(problem, seed);
    if (llvm::Expected<Plan> plan =
            findPlan(problem.graph, problem.cluster, problem.options)) {
      ++planned;
      ASSERT_EQ(plan->stages.size(), problem.options.exactStages);
    } else {
      llvm::consumeError(plan.takeError());
    }
  }
  EXPECT_GT(planned, 200u);
}

} // namespace
} // namespace hethub::planner::test

// Plans of any order against all of them: every chain of sets that hold what
// their nodes read, on small random graphs.
#include "RandomGraphs.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hethub;
using namespace hethub::planner;

namespace hethub::planner::test {
namespace {

/// A branching graph without chains of one order.
Problem freeProblem(unsigned seed) {
  Problem problem = randomProblem(5000000 + seed, 6);
  Random random(seed);
  // Fewer edges than the random graphs have, so that orders differ.
  for (Tensor &tensor : problem.graph.tensors)
    if (random.chance(0.4))
      tensor.consumers.clear();
  problem.options.tensorParallel = false;
  if (problem.options.maxStages == 0)
    problem.options.maxStages = 4;
  return problem;
}

std::optional<Plan> planOf(const Problem &problem) {
  llvm::Expected<Plan> plan =
      findPlan(problem.graph, problem.cluster, problem.options);
  if (plan)
    return std::move(*plan);
  llvm::consumeError(plan.takeError());
  return std::nullopt;
}

/// Each node in one stage, no value to an earlier one, groups whole, memory
/// kept.
void expectValid(const Problem &problem, const Plan &plan, unsigned seed) {
  std::vector<int> stageOf(problem.graph.nodes.size(), -1);
  for (unsigned stage = 0; stage < plan.stages.size(); ++stage) {
    const Stage &at = plan.stages[stage];
    ASSERT_FALSE(at.nodes.empty()) << "seed " << seed;
    ASSERT_TRUE(std::is_sorted(at.nodes.begin(), at.nodes.end()));
    ASSERT_TRUE(at.memoryLimit == 0 || at.memoryBytes <= at.memoryLimit)
        << "seed " << seed;
    for (unsigned node : at.nodes) {
      ASSERT_EQ(stageOf[node], -1) << "seed " << seed;
      stageOf[node] = int(stage);
    }
  }
  for (const Tensor &tensor : problem.graph.tensors)
    for (unsigned consumer : tensor.consumers) {
      ASSERT_LE(stageOf[tensor.producer], stageOf[consumer]) << "seed " << seed;
      ASSERT_TRUE(tensor.cuttable ||
                  stageOf[tensor.producer] == stageOf[consumer])
          << "seed " << seed;
    }
  for (unsigned a = 0; a < stageOf.size(); ++a) {
    ASSERT_GE(stageOf[a], 0) << "seed " << seed;
    for (unsigned b = 0; b < a; ++b)
      ASSERT_TRUE(problem.graph.nodes[a].group < 0 ||
                  problem.graph.nodes[a].group !=
                      problem.graph.nodes[b].group ||
                  stageOf[a] == stageOf[b])
          << "seed " << seed;
  }
}

/// A state limit of 1 asks for the search for large clusters.
void compareAll(unsigned seeds, uint64_t stateLimit, double mostExcess) {
  unsigned planned = 0, better = 0, before = 0, after = 0;
  double excessBefore = 0, excessAfter = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Problem problem = freeProblem(seed);
    problem.options.stateLimit = stateLimit;
    if (stateLimit == 1)
      problem.options.maxStages = 0;
    std::optional<Plan> given = planOf(problem);
    if (!given)
      continue;
    problem.options.anyOrder = true;
    const Best best = bruteForce(problem);
    std::optional<Plan> plan = planOf(problem);
    ASSERT_TRUE(plan) << "seed " << seed;
    expectValid(problem, *plan, seed);
    if (testing::Test::HasFatalFailure())
      return;
    ASSERT_LE(plan->stepSeconds, given->stepSeconds) << "seed " << seed;
    ASSERT_GE(plan->stepSeconds, best.step * (1 - 1e-9)) << "seed " << seed;
    ASSERT_LE(plan->lowerBoundSeconds, best.step * (1 + 1e-9))
        << "seed " << seed;
    Plan again = *plan;
    costPlan(problem.graph, problem.cluster, problem.options, again);
    ASSERT_EQ(again.stepSeconds, plan->stepSeconds) << "seed " << seed;
    // What leaves the given order has to be worth it.
    constexpr double near = 1 + 1.1e-3;
    ++planned;
    better += plan->stepSeconds < given->stepSeconds;
    before += given->stepSeconds <= best.step * near;
    after += plan->stepSeconds <= best.step * near;
    excessBefore += given->stepSeconds / best.step - 1;
    excessAfter += plan->stepSeconds / best.step - 1;
  }
  std::printf("%u planned, %u better in another order; at the optimum of all "
              "orders %u before, %u after; above it on average %.2f %% before, "
              "%.3f %% after\n",
              planned, better, before, after, 100 * excessBefore / planned,
              100 * excessAfter / planned);
  EXPECT_GT(better, planned / 10);
  EXPECT_GT(after, before);
  EXPECT_LT(excessAfter / planned, mostExcess);
}

TEST(OrderSearch, SmallGraphsAgainstAllOrders) {
  compareAll(1000, Options().stateLimit, 0.001);
}

TEST(OrderSearch, RunsOfTypesAgainstAllOrders) { compareAll(200, 1, 0.1); }

} // namespace
} // namespace hethub::planner::test

// Plans of any order against all of them: every chain of sets that hold what
// their nodes read, on small random graphs.
#include "Chains.h"
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

/// Two towers whose nodes stand in turns, on two devices: the given order has
/// to cut both, and pays for two values; tower behind tower sends one.
TEST(OrderSearch, TowersAreTakenApart) {
  Problem problem;
  problem.cluster.types = {device("a", 2)};
  setLinks(problem.cluster, /*bandwidth=*/0.25, /*latency=*/0); // 1 within
  const unsigned layers = 4;
  for (unsigned node = 0; node < 2 * layers; ++node) {
    Node operation;
    operation.name = "node" + std::to_string(node);
    operation.forwardSeconds = {1};
    problem.graph.nodes.push_back(operation);
    if (node + 2 < 2 * layers)
      problem.graph.tensors.push_back(
          {"value" + std::to_string(node), node, {node + 2}, 1, true});
  }
  problem.options.microbatches = 10;
  problem.options.replicas = false;
  problem.options.anyOrder = false;
  // 8 of work, 9 x 4 on the busier device, two values of a second.
  EXPECT_NEAR(planOf(problem)->stepSeconds, 8 + 2 + 36, 1e-9);
  problem.options.anyOrder = true;
  std::optional<Plan> plan = planOf(problem);
  EXPECT_NEAR(plan->stepSeconds, 8 + 36, 1e-9);
  EXPECT_NEAR(plan->simulatedSeconds, 40, 1e-9);
  EXPECT_TRUE(plan->messages.empty());
  EXPECT_LE(plan->lowerBoundSeconds, plan->stepSeconds);
  // Without work that is left the given order stays.
  problem.options.workLimit = 1;
  if (std::optional<Plan> early = planOf(problem))
    EXPECT_GE(early->stepSeconds, plan->stepSeconds);
}

/// A chain has one order: the plan is the same bit for bit.
TEST(OrderSearch, ChainsStayAsTheyAre) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Problem problem = randomProblem(6000000 + seed, 8);
    problem.graph.tensors.clear();
    for (unsigned node = 0; node + 1 < problem.graph.nodes.size(); ++node)
      problem.graph.tensors.push_back(
          {"value" + std::to_string(node), node, {node + 1}, 1, true});
    std::optional<Plan> given = planOf(problem);
    problem.options.anyOrder = true;
    std::optional<Plan> plan = planOf(problem);
    ASSERT_EQ(bool(given), bool(plan)) << "seed " << seed;
    if (!given)
      continue;
    ASSERT_EQ(given->stepSeconds, plan->stepSeconds) << "seed " << seed;
    ASSERT_EQ(given->lowerBoundSeconds, plan->lowerBoundSeconds);
    ASSERT_EQ(given->stages.size(), plan->stages.size());
    for (unsigned stage = 0; stage < plan->stages.size(); ++stage)
      ASSERT_EQ(given->stages[stage].nodes, plan->stages[stage].nodes);
  }
}

TEST(OrderSearch, SmallGraphsAgainstAllOrders) {
  compareAll(1000, Options().stateLimit, 0.001);
}

TEST(OrderSearch, RunsOfTypesAgainstAllOrders) { compareAll(200, 1, 0.1); }

} // namespace
} // namespace hethub::planner::test

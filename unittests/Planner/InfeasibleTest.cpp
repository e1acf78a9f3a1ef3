// When nothing fits: the message names the smallest addition of memory with
// which something would.
#include "RandomGraphs.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <regex>

using namespace hethub;
using namespace hethub::planner;
using namespace hethub::planner::test;

namespace {

/// Bytes that every device must have more for some plan to fit; -1: no memory
/// helps.
int64_t smallestAddition(const Problem &problem) {
  Problem roomy = problem;
  roomy.options.memoryLimits.assign(problem.cluster.types.size(), int64_t(1)
                                                                      << 60);
  int64_t smallest = -1;
  bruteForce(roomy, [&](const Plan &plan) {
    int64_t addition = 0;
    for (const Stage &stage : plan.stages) {
      int64_t limit = problem.options.memoryLimits[stage.deviceType];
      addition = std::max(addition, stage.memoryBytes - limit);
    }
    if (smallest < 0 || addition < smallest)
      smallest = addition;
    return false;
  });
  return smallest;
}

TEST(Infeasible, TheSmallestAdditionOfMemoryIsNamed) {
  unsigned infeasible = 0, training = 0;
  const std::regex figure("lacks (\\d+) bytes");
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Problem problem = randomProblem(4000000 + seed, 6);
    Random random(seed);
    problem.options.memoryLimits.clear();
    for (unsigned type = 0; type < problem.cluster.types.size(); ++type)
      problem.options.memoryLimits.push_back(1 + random.below(12));
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    const int64_t addition = smallestAddition(problem);
    if (plan) {
      ASSERT_EQ(addition, 0) << "seed " << seed;
      continue;
    }
    const std::string message = llvm::toString(plan.takeError());
    ++infeasible;
    training += problem.options.training;
    std::smatch found;
    if (addition < 0) {
      EXPECT_EQ(message.find("lacks"), std::string::npos) << message;
      continue;
    }
    ASSERT_TRUE(std::regex_search(message, found, figure))
        << "seed " << seed << ": " << message;
    EXPECT_EQ(std::stoll(found[1]), addition)
        << "seed " << seed << (problem.options.training ? " training" : "")
        << ": " << message;
  }
  EXPECT_GT(infeasible, 300u);
  EXPECT_GT(training, 100u);
}

/// Clusters that are too large for the exact search, which a state limit of 1
/// stands for: what is named is enough, and never less than is needed.
TEST(Infeasible, LargeClustersNameAnAdditionThatIsEnough) {
  unsigned infeasible = 0, smallest = 0;
  const std::regex figure("lacks (\\d+) bytes");
  for (unsigned seed = 0; seed < 600; ++seed) {
    Problem problem = randomProblem(4000000 + seed, 6);
    Random random(seed);
    problem.options.stateLimit = 1;
    problem.options.maxStages = 0;
    problem.options.memoryLimits.clear();
    for (unsigned type = 0; type < problem.cluster.types.size(); ++type)
      problem.options.memoryLimits.push_back(1 + random.below(12));
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (plan)
      continue;
    const std::string message = llvm::toString(plan.takeError());
    std::smatch found;
    if (!std::regex_search(message, found, figure))
      continue;
    ++infeasible;
    const int64_t named = std::stoll(found[1]),
                  least = smallestAddition(problem);
    ASSERT_GE(named, least) << "seed " << seed << ": " << message;
    smallest += named == least;
    for (int64_t &limit : problem.options.memoryLimits)
      limit += named;
    llvm::Expected<Plan> roomy =
        findPlan(problem.graph, problem.cluster, problem.options);
    ASSERT_TRUE(bool(roomy))
        << "seed " << seed << ": " << message
        << ", but with it: " << llvm::toString(roomy.takeError());
  }
  std::printf("%u infeasible, %u of them with the smallest addition\n",
              infeasible, smallest);
  EXPECT_GT(infeasible, 150u);
  EXPECT_GT(smallest, infeasible * 8 / 10);
}

} // namespace

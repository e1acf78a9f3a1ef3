// Why a plan is not better: by hand where the reason is known, against all
// plans for what is planned again.
#include "hethub/Planner/Explain.h"
#include "Chains.h"
#include "RandomGraphs.h"

#include <algorithm>
#include <cmath>

using namespace hethub;
using namespace hethub::planner;
using namespace hethub::planner::test;

namespace {

std::vector<std::string> layers(unsigned begin, unsigned end) {
  std::vector<std::string> names;
  for (unsigned layer = begin; layer < end; ++layer)
    names.push_back("layer" + std::to_string(layer));
  return names;
}

/// Two devices of one type and as many of another, fast links.
Problem chainProblem(llvm::ArrayRef<double> work,
                     llvm::ArrayRef<double> slowness) {
  Problem problem;
  for (unsigned type = 0; type < slowness.size(); ++type)
    problem.cluster.types.push_back(device(std::string(1, 'a' + type), 2));
  setLinks(problem.cluster, 1e9, 0);
  problem.graph = chain(work, slowness);
  problem.options.microbatches = 8;
  return problem;
}

Explanation explain(const Problem &problem,
                    llvm::ArrayRef<StageRequest> stages) {
  llvm::Expected<Plan> plan =
      checkPlan(problem.graph, problem.cluster, stages, problem.options);
  if (!plan) {
    ADD_FAILURE() << llvm::toString(plan.takeError());
    return {};
  }
  return explainPlan(problem.graph, problem.cluster, problem.options, *plan,
                     {/*alternatives=*/false});
}

TEST(Explain, TheStepIsTheSumOfItsParts) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Problem problem = randomProblem(seed, 7);
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    Explanation why =
        explainPlan(problem.graph, problem.cluster, problem.options, *plan,
                    {/*alternatives=*/false});
    EXPECT_NEAR(why.fillSeconds + why.messageSeconds + why.steadySeconds +
                    why.onceSeconds,
                plan->stepSeconds, 1e-9 * plan->stepSeconds)
        << "seed " << seed;
    EXPECT_GE(why.imbalance, 0);
    EXPECT_LT(why.imbalance, 1);
  }
}

// 2, 3 and 4 of 4 layers of 1 s: the devices are busy 2 of 3 seconds in the
// mean, (2 + 3 + 1) / (3 x 3).
TEST(Explain, BottleneckHeaviestOperationAndImbalance) {
  Problem problem = chainProblem({1, 1, 0.5, 1.5, 1, 1}, {1, 1});
  Explanation why = explain(problem, {{"a", 1, 1, layers(0, 2)},
                                      {"b", 1, 1, layers(2, 5)},
                                      {"a", 1, 1, layers(5, 6)}});
  EXPECT_EQ(why.bottleneck, 1u);
  EXPECT_EQ(why.heaviest, 3u);
  EXPECT_DOUBLE_EQ(why.heaviestSeconds, 1.5);
  EXPECT_NEAR(why.imbalance, 1 - 6.0 / 9, 1e-12);
  EXPECT_EQ(why.unusedDevices, (std::vector<unsigned>{0, 1}));
  // 7 more microbatches at 3 s.
  EXPECT_DOUBLE_EQ(why.steadySeconds, 21);
  // Layer 2 would make the front 2.5 s and this stage 2.5 s, layer 4 the back 2
  // and this 2: the better move to each side is found.
  ASSERT_EQ(why.borders.size(), 2u);
  EXPECT_EQ(why.borders[0].moved, (std::vector<unsigned>{2}));
  EXPECT_EQ(why.borders[0].hold, Hold::Nothing);
  EXPECT_NEAR(why.borders[0].stepSeconds, 6 + 7 * 2.5, 1e-6);
  EXPECT_EQ(why.borders[1].moved, (std::vector<unsigned>{4}));
  EXPECT_EQ(why.borders[1].hold, Hold::Nothing);
  EXPECT_NEAR(why.borders[1].stepSeconds, 6 + 7 * 2, 1e-6);
}

TEST(Explain, TheNeighbourWouldBeAsSlow) {
  Problem problem = chainProblem({1, 1, 1, 1, 1}, {1, 1});
  Explanation why =
      explain(problem, {{"a", 1, 1, layers(0, 2)}, {"b", 1, 1, layers(2, 5)}});
  ASSERT_EQ(why.borders.size(), 1u);
  EXPECT_EQ(why.borders[0].hold, Hold::Load);
  EXPECT_EQ(why.borders[0].neighbour, 0u);
  EXPECT_EQ(why.borders[0].moved, (std::vector<unsigned>{2}));
  EXPECT_DOUBLE_EQ(why.borders[0].neighbourLoadSeconds, 3);
}

TEST(Explain, TheNeighbourLacksMemory) {
  Problem problem = chainProblem({1, 1, 1, 1, 1}, {1, 1});
  for (Node &node : problem.graph.nodes)
    node.parameterBytes = 10;
  problem.options.memoryLimits = {15, 100};
  Explanation why =
      explain(problem, {{"a", 1, 1, layers(0, 1)}, {"b", 1, 1, layers(1, 5)}});
  ASSERT_EQ(why.borders.size(), 1u);
  EXPECT_EQ(why.borders[0].hold, Hold::Memory);
  EXPECT_EQ(why.borders[0].moved, (std::vector<unsigned>{1}));
  EXPECT_EQ(why.borders[0].neighbourMemoryBytes, 20);
  EXPECT_EQ(why.borders[0].neighbourMemoryLimit, 15);
  // Without the limit it would have been a better plan.
  EXPECT_NEAR(why.borders[0].stepSeconds, 5 + 7 * 3, 1e-6);
}

TEST(Explain, NoCutIsAllowed) {
  Problem problem = chainProblem({1, 1, 1, 1, 1}, {1, 1});
  for (unsigned layer : {1, 2, 3, 4})
    problem.graph.nodes[layer].group = 7;
  Explanation why =
      explain(problem, {{"a", 1, 1, layers(0, 1)}, {"b", 1, 1, layers(1, 5)}});
  ASSERT_EQ(why.borders.size(), 1u);
  EXPECT_EQ(why.borders[0].hold, Hold::NoCut);
  EXPECT_TRUE(why.borders[0].moved.empty());
  // A sequence that all of them read ties them just so.
  for (Node &node : problem.graph.nodes)
    node.group = -1;
  problem.graph.tensors.push_back({"sequence", 1, {2, 4}, 1, false});
  why =
      explain(problem, {{"a", 1, 1, layers(0, 1)}, {"b", 1, 1, layers(1, 5)}});
  EXPECT_EQ(why.borders[0].hold, Hold::NoCut);
}

TEST(Explain, TheNeighbourCannotRunIt) {
  Problem problem = chainProblem({1, 1, 1, 1, 1}, {1, 1});
  problem.graph.nodes[1].forwardSeconds[0] = INFINITY;
  Explanation why =
      explain(problem, {{"a", 1, 1, layers(0, 1)}, {"b", 1, 1, layers(1, 5)}});
  ASSERT_EQ(why.borders.size(), 1u);
  EXPECT_EQ(why.borders[0].hold, Hold::CannotRun);
  EXPECT_EQ(why.borders[0].moved, (std::vector<unsigned>{1}));
}

TEST(Explain, AnotherStageIsAsSlow) {
  Problem problem = chainProblem({1, 1, 1, 1, 1, 1, 1}, {1, 1});
  Explanation why = explain(problem, {{"a", 1, 1, layers(0, 3)},
                                      {"b", 1, 1, layers(3, 4)},
                                      {"a", 1, 1, layers(4, 7)}});
  EXPECT_EQ(why.bottleneck, 0u);
  ASSERT_EQ(why.borders.size(), 1u);
  EXPECT_EQ(why.borders[0].hold, Hold::Tied);
}

// The cut behind layer 0 carries 1 byte, that behind layer 1 carries 100 at one
// byte a second: balance gains 7 x 1 s and the message costs 99 s more.
TEST(Explain, MessagesWouldCostMore) {
  Problem problem = chainProblem({1, 1, 2}, {1, 1});
  setLinks(problem.cluster, 1, 0);
  problem.graph.tensors[1].bytes = 100;
  Explanation why =
      explain(problem, {{"a", 1, 1, layers(0, 1)}, {"b", 1, 1, layers(1, 3)}});
  ASSERT_EQ(why.borders.size(), 1u);
  EXPECT_EQ(why.borders[0].hold, Hold::Sum);
  EXPECT_NEAR(why.borders[0].stepSeconds, 4 + 100 + 7 * 2, 1e-6);
}

/// By trying: of the moves over the border that take time from the stage and
/// keep groups and what cannot be cut together, up to the first that makes the
/// neighbour as slow, the best that fits.
double bestMove(Problem problem, const Plan &plan, unsigned stage,
                unsigned neighbour) {
  double best = INFINITY;
  const size_t size = plan.stages[stage].nodes.size();
  const unsigned m = plan.microbatches;
  // checkPlan is to refuse for all other reasons but memory.
  problem.options.memoryLimits.assign(problem.cluster.types.size(), int64_t(1)
                                                                        << 60);
  for (size_t count = 1; count < size; ++count) {
    std::vector<StageRequest> requests;
    for (const Stage &each : plan.stages) {
      StageRequest request;
      request.deviceType = problem.cluster.types[each.deviceType].name;
      request.replicas = each.replicas;
      request.recompute = each.recompute;
      for (unsigned node : each.nodes)
        request.nodes.push_back(problem.graph.nodes[node].name);
      requests.push_back(request);
    }
    auto &from = requests[stage].nodes, &to = requests[neighbour].nodes;
    if (neighbour < stage) {
      to.insert(to.end(), from.begin(), from.begin() + count);
      from.erase(from.begin(), from.begin() + count);
    } else {
      to.insert(to.begin(), from.end() - count, from.end());
      from.resize(size - count);
    }
    llvm::Expected<Plan> moved =
        checkPlan(problem.graph, problem.cluster, requests, problem.options);
    if (!moved) {
      llvm::consumeError(moved.takeError());
      continue;
    }
    const double before = plan.stages[stage].steadySeconds(m);
    if (moved->stages[stage].steadySeconds(m) >= before * (1 - 1e-12))
      continue;
    bool fits = true;
    for (size_t index = 0; index < plan.stages.size(); ++index)
      fits &=
          plan.stages[index].memoryLimit == 0 ||
          moved->stages[index].memoryBytes <= plan.stages[index].memoryLimit;
    if (fits)
      best = std::min(best, moved->stepSeconds);
    if (moved->stages[neighbour].steadySeconds(m) >= before)
      break;
  }
  return best;
}

TEST(Explain, NoMoveOfABorderIsBetterThanTheOneNamed) {
  unsigned borders = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Problem problem = randomProblem(5000000 + seed, 8);
    problem.options.tensorParallel = false; // checkPlan refuses it
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    Explanation why =
        explainPlan(problem.graph, problem.cluster, problem.options, *plan,
                    {/*alternatives=*/false});
    for (const Border &border : why.borders) {
      // The plan is the best, so no move is better.
      EXPECT_NE(border.hold, Hold::Nothing) << "seed " << seed;
      if (plan->microbatches == 1 && !plan->training)
        continue; // then no stage is a bottleneck
      double best = bestMove(problem, *plan, why.bottleneck, border.neighbour);
      EXPECT_GE(best, plan->stepSeconds * (1 - 1e-8)) << "seed " << seed;
      if (border.hold == Hold::Load || border.hold == Hold::Tied ||
          border.hold == Hold::Sum) {
        ++borders;
        EXPECT_NEAR(border.stepSeconds, best, 1e-9 * best) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(borders, 300u);
}

const Alternative *find(llvm::ArrayRef<Alternative> alternatives,
                        llvm::StringRef change) {
  for (const Alternative &alternative : alternatives)
    if (llvm::is_contained(alternative.changes, change))
      return &alternative;
  return nullptr;
}

void expectBest(const Alternative *alternative, const Best &best,
                unsigned seed) {
  ASSERT_TRUE(alternative) << "seed " << seed;
  ASSERT_EQ(bool(alternative->plan), std::isfinite(best.step))
      << "seed " << seed << " " << alternative->changes.front() << ": "
      << alternative->error;
  if (alternative->plan) {
    EXPECT_NEAR(alternative->plan->stepSeconds, best.step, 1e-8 * best.step)
        << "seed " << seed << " " << alternative->changes.front();
  }
}

TEST(Explain, AlternativesAreTheBestOfTheirKind) {
  unsigned fewer = 0, more = 0, first = 0, without = 0, single = 0;
  for (unsigned seed = 0; seed < 250 && !HasFatalFailure(); ++seed) {
    Problem problem = randomProblem(6000000 + seed, 6);
    problem.options.maxStages = 0;
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    Explanation why =
        explainPlan(problem.graph, problem.cluster, problem.options, *plan, {});
    const size_t stages = plan->stages.size();
    auto best = [&](auto admitted) { return bruteForce(problem, admitted); };
    if (stages > 1) {
      ++fewer;
      expectBest(find(why.alternatives, "one stage fewer"),
                 best([&](const Plan &other) {
                   return other.stages.size() == stages - 1;
                 }),
                 seed);
    }
    if (find(why.alternatives, "one stage more")) {
      ++more;
      expectBest(find(why.alternatives, "one stage more"),
                 best([&](const Plan &other) {
                   return other.stages.size() == stages + 1;
                 }),
                 seed);
    }
    for (unsigned type = 0; type < problem.cluster.types.size(); ++type) {
      const std::string &name = problem.cluster.types[type].name;
      const Alternative *other =
          find(why.alternatives, "without device type '" + name + "'");
      if (!other)
        continue;
      ++without;
      expectBest(other, best([&](const Plan &plan) {
                   return llvm::none_of(plan.stages, [&](const Stage &stage) {
                     return stage.deviceType == type;
                   });
                 }),
                 seed);
    }
    const unsigned front = plan->stages.front().deviceType;
    if (const Alternative *other = find(
            why.alternatives, "a first stage that is not on '" +
                                  problem.cluster.types[front].name + "'")) {
      ++first;
      expectBest(other, best([&](const Plan &plan) {
                   return plan.stages.front().deviceType != front;
                 }),
                 seed);
    }
    if (const Alternative *other = find(why.alternatives, "no replicas")) {
      ++single;
      expectBest(other, best([&](const Plan &plan) {
                   return llvm::all_of(plan.stages, [](const Stage &stage) {
                     return stage.replicas == 1;
                   });
                 }),
                 seed);
    }
    // By step time, and none better than the plan itself.
    double last = plan->stepSeconds * (1 - 1e-8);
    for (const Alternative &alternative : why.alternatives)
      if (alternative.plan) {
        EXPECT_GE(alternative.plan->stepSeconds, last) << "seed " << seed;
        last = alternative.plan->stepSeconds;
      }
  }
  for (unsigned count : {fewer, more, first, without, single})
    EXPECT_GT(count, 20u);
}

// With next to no work allowed, what is found is a plan of at most twice the
// step, or nothing, and it says so.
TEST(Explain, SearchesThatAreCutShortClaimNothing) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Problem problem = randomProblem(8000000 + seed, 12);
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    problem.options.workLimit = 8 * (seed % 20);
    Explanation why = explainPlan(problem.graph, problem.cluster,
                                  problem.options, *plan, {true, true});
    for (const Alternative &other : why.alternatives) {
      EXPECT_EQ(bool(other.plan), other.error.empty()) << "seed " << seed;
      if (other.plan && !other.plan->optimalForOrder()) {
        EXPECT_LE(other.plan->stepSeconds, 2 * plan->stepSeconds);
      }
    }
    for (const OneMore &more : why.whatIf)
      EXPECT_LE(more.plan.stepSeconds, plan->stepSeconds);
  }
}

TEST(Explain, OneMoreDeviceIsTheBestPlanOfTheLargerCluster) {
  unsigned gains = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Problem problem = randomProblem(7000000 + seed, 5);
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    Explanation why =
        explainPlan(problem.graph, problem.cluster, problem.options, *plan,
                    {/*alternatives=*/false, /*whatIf=*/true});
    ASSERT_EQ(why.whatIf.size(), problem.cluster.types.size());
    for (const OneMore &more : why.whatIf) {
      Problem larger = problem;
      ++larger.cluster.types[more.deviceType].count;
      const double best = bruteForce(larger).step;
      EXPECT_NEAR(more.plan.stepSeconds, best, 1e-8 * best) << "seed " << seed;
      gains += best < plan->stepSeconds * 0.99;
    }
  }
  EXPECT_GT(gains, 30u);
}

// Layers 1, 1, 1, 1 on two devices cut as 1 + 3 by hand: the automatic plan is
// two replicas of everything, 4 + 3 x 4 s against 4 + 7 x 3 s.
TEST(Explain, TheAutomaticPlanStandsBesideAUsers) {
  Problem problem = chainProblem({1, 1, 1, 1}, {1});
  Explanation why =
      explain(problem, {{"a", 1, 1, layers(0, 1)}, {"a", 1, 1, layers(1, 4)}});
  compareWithAutomatic(problem.graph, problem.cluster, problem.options,
                       /*whatIf=*/true, why);
  ASSERT_TRUE(why.automatic);
  EXPECT_NEAR(why.automatic->stepSeconds, 16, 1e-6);
  EXPECT_EQ(why.whatIf.size(), 1u);
  problem.options.exactStages = 5;
  why.automatic.reset();
  compareWithAutomatic(problem.graph, problem.cluster, problem.options,
                       /*whatIf=*/true, why);
  EXPECT_FALSE(why.automatic);
  EXPECT_EQ(why.automaticError,
            "stages must be at most the number of operations (4), got: 5");
}

TEST(Explain, JSONHasWhatWasFound) {
  Problem problem = chainProblem({1, 1, 1, 1, 1}, {2, 1});
  Plan plan = mustPlan(problem.graph, problem.cluster, problem.options);
  Explanation why = explainPlan(problem.graph, problem.cluster, problem.options,
                                plan, {true, true});
  llvm::json::Value value =
      explanationToJSON(problem.graph, problem.cluster, plan, why);
  const llvm::json::Object &object = *value.getAsObject();
  EXPECT_EQ(object.getArray("alternatives")->size(), why.alternatives.size());
  ASSERT_EQ(object.getArray("what_if")->size(), 2u);
  const llvm::json::Object &more =
      *(*object.getArray("what_if"))[1].getAsObject();
  EXPECT_EQ(more.getString("device_type"), "b");
  EXPECT_EQ(more.getInteger("count"), 3);
  EXPECT_DOUBLE_EQ(*more.getNumber("throughput_gain"),
                   plan.stepSeconds / why.whatIf[1].plan.stepSeconds - 1);
  EXPECT_EQ(object.getObject("bottleneck")->getInteger("stage"),
            why.bottleneck);
}

} // namespace

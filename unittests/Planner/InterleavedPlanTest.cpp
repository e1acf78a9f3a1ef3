// Plans whose devices have several stages each.
#include "RandomGraphs.h"

#include "hethub/Planner/Explain.h"
#include "hethub/Planner/PlanFile.h"
#include "hethub/Planner/SimulatePlan.h"

#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>
#include <map>

using namespace hethub;
using namespace hethub::planner;
using hethub::planner::test::Problem;

namespace {

/// A chain on devices of two types, the second one `ratio` times slower, with
/// links that take next to nothing.
Problem chain(unsigned nodes, unsigned each, double ratio,
              test::Random &random) {
  Problem problem;
  for (const char *name : {"fast", "slow"}) {
    cluster::DeviceType type;
    type.name = name;
    type.kind = "cpu";
    type.count = each;
    problem.cluster.types.push_back(type);
  }
  for (unsigned a = 0; a < 2; ++a)
    for (unsigned b = a; b < 2; ++b) {
      cluster::Link link;
      link.bandwidth = 1e6;
      problem.cluster.setLink(a, b, link);
    }
  for (unsigned index = 0; index < nodes; ++index) {
    Node node;
    node.name = "n" + std::to_string(index);
    double seconds = random.real(0.5, 1.5);
    node.forwardSeconds = {seconds, ratio * seconds};
    node.backwardSeconds = {2 * seconds, 2 * ratio * seconds};
    node.activationBytes = 1 + random.below(4);
    problem.graph.nodes.push_back(node);
    if (index > 0)
      problem.graph.tensors.push_back(
          {"t" + std::to_string(index), index - 1, {index}, 1, true});
  }
  problem.options.training = true;
  problem.options.microbatches = 8;
  problem.options.stagesPerDevice = 2;
  return problem;
}

Plan mustFind(const Problem &problem) {
  llvm::Expected<Plan> plan =
      findPlan(problem.graph, problem.cluster, problem.options);
  EXPECT_TRUE(bool(plan)) << (plan ? "" : toString(plan.takeError()));
  return plan ? std::move(*plan) : Plan();
}

std::map<int, double> loadsOfRanks(const Plan &plan) {
  std::map<int, double> loads;
  for (const Stage &stage : plan.stages)
    loads[stage.firstRank] += stage.load();
  return loads;
}

/// Seconds of a step whose devices are all busy all the time.
double interleavedLeast(const Problem &problem) {
  double work = 0, speed = 0;
  for (const Node &node : problem.graph.nodes)
    work += node.forwardSeconds[0] + node.backwardSeconds[0];
  for (unsigned type = 0; type < 2; ++type)
    speed += problem.cluster.types[type].count *
             problem.graph.nodes[0].forwardSeconds[0] /
             problem.graph.nodes[0].forwardSeconds[type];
  return problem.options.microbatches * work / speed;
}

TEST(InterleavedPlan, StagesTakeTurnsOnTheDevices) {
  test::Random random(1);
  for (unsigned each : {2u, 3u, 4u}) {
    Problem problem = chain(240, 2, 2.5, random);
    problem.options.stagesPerDevice = each;
    Plan plan = mustFind(problem);
    ASSERT_EQ(plan.stages.size(), 4 * each);
    std::map<int, unsigned> types;
    unsigned next = 0;
    for (unsigned index = 0; index < plan.stages.size(); ++index) {
      const Stage &stage = plan.stages[index];
      EXPECT_EQ(stage.firstRank, int(index % 4));
      EXPECT_EQ(
          types.try_emplace(stage.firstRank, stage.deviceType).first->second,
          stage.deviceType);
      for (unsigned node : stage.nodes)
        EXPECT_EQ(node, next++);
    }
    EXPECT_EQ(next, problem.graph.nodes.size());
    double most = 0;
    for (auto [rank, load] : loadsOfRanks(plan))
      most = std::max(most, load);
    EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, most);
    EXPECT_LE(plan.lowerBoundSeconds, plan.stepSeconds);
    EXPECT_LE(plan.stepSeconds, plan.simulatedSeconds * (1 + 1e-9));
  }
}

TEST(InterleavedPlan, TheBubbleShrinksAsItShould) {
  test::Random random(2);
  for (double ratio : {1.0, 2.5})
    for (unsigned each : {2u, 3u, 4u}) {
      Problem problem = chain(240, 2, ratio, random);
      problem.options.stagesPerDevice = each;
      Plan plan = mustFind(problem);
      const double devices = plan.stages.size() / each, m = 8;
      // Of ideally balanced devices, with (p - 1) shares of a device for the
      // bubble: Narayanan et al. (2021).
      double work = interleavedLeast(problem);
      EXPECT_LT(plan.simulatedSeconds,
                1.025 * work * (1 + (devices - 1) / (m * each)))
          << each << " stages a device, ratio " << ratio;
      EXPECT_GE(plan.simulatedSeconds, work);
    }
}

/// The fastest table of all cuts for the devices of `plan`.
double bestOfAllCuts(const Problem &problem, const Plan &plan) {
  const unsigned n = problem.graph.nodes.size(), stages = plan.stages.size();
  double best = 1e9;
  std::vector<unsigned> ends;
  auto search = [&](auto &&self, unsigned begin) -> void {
    if (ends.size() + 1 == stages) {
      std::vector<StageRequest> requests;
      unsigned from = 0;
      for (unsigned index = 0; index < stages; ++index) {
        const unsigned to = index + 1 < stages ? ends[index] : n;
        StageRequest request;
        request.deviceType =
            problem.cluster.types[plan.stages[index].deviceType].name;
        request.firstRank = plan.stages[index].firstRank;
        for (; from < to; ++from)
          request.nodes.push_back(problem.graph.nodes[from].name);
        requests.push_back(request);
      }
      llvm::Expected<Plan> other =
          checkPlan(problem.graph, problem.cluster, requests, problem.options);
      ASSERT_TRUE(bool(other)) << toString(other.takeError());
      best = std::min(best, other->simulatedSeconds);
      return;
    }
    for (unsigned end = begin + 1; end + stages - ends.size() <= n + 1; ++end) {
      ends.push_back(end);
      self(self, end);
      ends.pop_back();
    }
  };
  search(search, 0);
  return best;
}

TEST(InterleavedPlan, CutsAreNearTheBestOnes) {
  double sum = 0;
  constexpr unsigned rounds = 40;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    test::Random random(seed);
    Problem problem = chain(9, 1, random.real(1, 3), random);
    Plan plan = mustFind(problem);
    ASSERT_EQ(plan.stages.size(), 4u);
    double ratio = plan.simulatedSeconds / bestOfAllCuts(problem, plan);
    EXPECT_LT(ratio, 1.15) << "seed " << seed;
    sum += ratio;
  }
  // With nine operations few sums are alike.
  EXPECT_LT(sum / rounds, 1.03);
  RecordProperty("mean", std::to_string(sum / rounds));
}

TEST(InterleavedPlan, HoldsOnRandomGraphs) {
  unsigned found = 0, limited = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Problem problem = test::randomProblem(seed, 14);
    problem.options.training = true;
    problem.options.tensorParallel = false;
    problem.options.stagesPerDevice = 2 + seed % 2;
    problem.options.exactStages = problem.options.maxStages = 0;
    problem.options.schedule = simulator::ScheduleKind::OneForwardOneBackward;
    for (Node &node : problem.graph.nodes)
      if (node.backwardSeconds.empty())
        node.backwardSeconds = node.forwardSeconds;
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    ++found;
    EXPECT_LE(plan->lowerBoundSeconds, plan->stepSeconds);
    simulator::Pipeline pipeline =
        pipelineOf(problem.graph, problem.cluster, *plan);
    llvm::Expected<simulator::Result> result =
        simulate(scheduleOf(*plan, pipeline), pipeline);
    ASSERT_TRUE(bool(result)) << toString(result.takeError());
    for (size_t stage = 0; stage < plan->stages.size(); ++stage)
      if (int64_t limit = plan->stages[stage].memoryLimit) {
        EXPECT_LE(result->stages[stage].peakBytes, limit);
        ++limited;
      }
    // The file has all that makes the plan.
    std::string text =
        llvm::formatv("{0}", planToJSON(problem.graph, problem.cluster, *plan));
    auto requests = parseStageMap(text, "plan.json");
    ASSERT_TRUE(bool(requests)) << toString(requests.takeError());
    llvm::Expected<Plan> again =
        checkPlan(problem.graph, problem.cluster, *requests, problem.options);
    ASSERT_TRUE(bool(again)) << toString(again.takeError());
    EXPECT_DOUBLE_EQ(again->stepSeconds, plan->stepSeconds);
    EXPECT_DOUBLE_EQ(again->simulatedSeconds, plan->simulatedSeconds);
    Explanation explanation =
        explainPlan(problem.graph, problem.cluster, problem.options, *plan,
                    {/*alternatives=*/false});
    EXPECT_NEAR(explanation.fillSeconds + explanation.messageSeconds +
                    explanation.steadySeconds + explanation.onceSeconds,
                plan->stepSeconds, 1e-9 * plan->stepSeconds);
  }
  EXPECT_GT(found, 60u);
  EXPECT_GT(limited, 60u);
}

TEST(InterleavedPlan, MemoryIsThatOfARank) {
  test::Random random(3);
  Problem problem = chain(60, 1, 1, random);
  for (Node &node : problem.graph.nodes)
    node.parameterBytes = 10;
  Plan free = mustFind(problem);
  int64_t most = 0;
  std::map<int, int64_t> bytes;
  for (const Stage &stage : free.stages)
    bytes[stage.firstRank] += stage.memoryBytes;
  for (auto [rank, sum] : bytes)
    most = std::max(most, sum);
  // Less memory: fewer microbatches in flight, a slower table.
  for (cluster::DeviceType &type : problem.cluster.types)
    type.memoryBytes = most - most / 16;
  Plan tight = mustFind(problem);
  bytes.clear();
  unsigned before = 0, after = 0;
  for (const Stage &stage : free.stages)
    before += stage.inFlight;
  for (const Stage &stage : tight.stages) {
    bytes[stage.firstRank] += stage.memoryBytes;
    after += stage.inFlight;
  }
  for (auto [rank, sum] : bytes)
    EXPECT_LE(sum, most - most / 16);
  EXPECT_LT(after, before);
  EXPECT_GE(tight.simulatedSeconds, free.simulatedSeconds * (1 - 1e-9));
  for (cluster::DeviceType &type : problem.cluster.types)
    type.memoryBytes = 100;
  llvm::Expected<Plan> none =
      findPlan(problem.graph, problem.cluster, problem.options);
  ASSERT_FALSE(bool(none));
  EXPECT_NE(toString(none.takeError()).find("memory"), std::string::npos);
}

TEST(InterleavedPlan, SaysWhatCannotBe) {
  test::Random random(4);
  auto messageOf = [](const Problem &problem) {
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    return plan ? "no error" : toString(plan.takeError());
  };
  Problem problem = chain(12, 1, 1, random);
  problem.options.exactStages = 5;
  EXPECT_EQ(messageOf(problem),
            "stages must be 2 for each of at least 2 devices, got: 5");
  problem.options.exactStages = 14;
  EXPECT_EQ(messageOf(problem),
            "stages must be at most the number of operations (12), got: 14");
  problem.options.exactStages = 0;
  problem.options.training = false;
  EXPECT_EQ(messageOf(problem), "several stages a device need a training step: "
                                "in inference they gain nothing");
  problem.options.training = true;
  problem.options.stagesPerDevice = 7;
  EXPECT_EQ(messageOf(problem),
            "no plan with 7 stages a device was found that fits in the "
            "devices' memory and has enough places to cut the model");
  problem.options.stagesPerDevice = 2;
  problem.cluster.types[1].count = 0;
  EXPECT_EQ(messageOf(problem),
            "several stages a device need at least 2 devices, got: 1");
}

TEST(InterleavedPlan, ChecksRanksOfAPlan) {
  test::Random random(5);
  Problem problem = chain(4, 2, 1, random);
  auto messageOf = [&](llvm::ArrayRef<std::tuple<const char *, int>> stages,
                       unsigned replicas = 1) {
    std::vector<StageRequest> requests;
    for (auto [type, rank] : stages) {
      StageRequest request;
      request.deviceType = type;
      request.replicas = replicas;
      request.nodes = {"n" + std::to_string(requests.size())};
      if (rank >= 0)
        request.firstRank = rank;
      requests.push_back(request);
    }
    llvm::Expected<Plan> plan =
        checkPlan(problem.graph, problem.cluster, requests, problem.options);
    return plan ? "accepted" : toString(plan.takeError());
  };
  EXPECT_EQ(messageOf({{"fast", 0}, {"slow", 1}, {"fast", 0}, {"slow", 1}}),
            "accepted");
  EXPECT_EQ(messageOf({{"fast", 0}, {"fast", 1}, {"slow", 2}, {"slow", 3}}),
            "accepted");
  EXPECT_EQ(messageOf({{"fast", 0}, {"slow", 2}, {"fast", 0}, {"slow", 1}}),
            "stage 1: first_rank must be at most 1, so that no rank is left "
            "out, got: 2");
  EXPECT_EQ(messageOf({{"fast", 0}, {"slow", 1}, {"slow", 0}, {"slow", 1}}),
            "stage 2: all stages of rank 0 must have its device type 'fast', "
            "got: 'slow'");
  EXPECT_EQ(messageOf({{"fast", 0}, {"slow", 1}, {"fast", 0}, {"slow", -1}}),
            "all stages of a plan must have a first_rank, or none, got: some "
            "that do");
  EXPECT_NE(messageOf({{"fast", 0}, {"slow", 1}, {"fast", 0}, {"slow", 1}}, 2)
                .find("stage 0: a stage with a first_rank must be on one "
                      "device, got: 2"),
            std::string::npos);
  problem.options.training = false;
  EXPECT_EQ(messageOf({{"fast", 0}, {"slow", 1}, {"fast", 0}, {"slow", 1}}),
            "first_rank must be left out in a plan for inference: stages have "
            "ranks of their own there");
}

} // namespace

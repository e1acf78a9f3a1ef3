// What a plan must be in settings that a person can reckon, and the planner's
// speed.
#include "Chains.h"
#include "RandomGraphs.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>

using namespace hethub;
using namespace hethub::planner;
using namespace hethub::planner::test;

namespace {

TEST(Planner, AHeavyLastLayerGetsAStageOfItsOwn) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 3)};
  setLinks(cluster, 1e9, 0);
  Options options;
  options.replicas = false;
  options.microbatches = 64;
  Plan plan =
      mustPlan(chain({1, 1, 1, 1, 1, 1, 1, 1, 4}, {1}), cluster, options);
  EXPECT_EQ(sizesOf(plan), (std::vector<size_t>{4, 4, 1}));
}

TEST(Planner, DevicesGetWorkBySpeedAndTheOrderOfTypesIsFound) {
  cluster::Cluster cluster;
  cluster.types = {device("slow", 1), device("fast", 1)};
  setLinks(cluster, 1e9, 0);
  Options options;
  options.microbatches = 32;
  // The big layer must be on the fast device, which therefore comes last.
  Plan plan = mustPlan(chain({1, 1, 1, 9}, {3, 1}), cluster, options);
  EXPECT_EQ(sizesOf(plan), (std::vector<size_t>{3, 1}));
  EXPECT_EQ(plan.stages[1].deviceType, 1u);
  EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, 9);
}

TEST(Planner, OnlyMemoryForcesASecondDevice) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 2, 50)};
  setLinks(cluster, 1, 10);
  Graph graph = chain({1, 1, 1, 1}, {1});
  for (Node &node : graph.nodes)
    node.parameterBytes = 20;
  Options options;
  Plan plan = mustPlan(graph, cluster, options);
  EXPECT_EQ(sizesOf(plan), (std::vector<size_t>{2, 2}));
  cluster.types[0].memoryBytes = 80;
  EXPECT_EQ(mustPlan(graph, cluster, options).stages.size(), 1u);
  cluster.types[0].memoryBytes = 30;
  EXPECT_EQ(messageOf(graph, cluster, options),
            "the model must fit in the devices' memory, got: no plan does; in "
            "the best attempt (2 stages) stage 0 "
            "('layer0' to 'layer1') on device type 'a' needs 40 bytes of 30 "
            "bytes and lacks 10 bytes");
}

TEST(Planner, TiedWeightsCountOnceAStage) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 2, 100)};
  setLinks(cluster, 1, 10);
  Graph graph = chain({1, 1, 1}, {1});
  graph.sharedParameters = {{"embedding", 90, {0, 2}}};
  Plan plan = mustPlan(graph, cluster, {});
  EXPECT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0].memoryBytes, 90);
}

TEST(Planner, FrozenParametersHaveNeitherGradientNorOptimizerState) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 1, 1000)};
  cluster.types[0].memoryBandwidth = 7;
  Graph graph = chain({1, 1}, {1});
  graph.nodes[0].parameterBytes = graph.nodes[0].frozenBytes = 10;
  graph.nodes[1].parameterBytes = 20;
  graph.sharedParameters = {{"frozen", 100, {0, 1}, true},
                            {"trained", 200, {0, 1}, false}};
  Options options;
  options.training = true;
  Stage stage = mustPlan(graph, cluster, options).stages[0];
  EXPECT_EQ(stage.parameterBytes, 330);
  EXPECT_EQ(stage.trainedBytes, 220);
  EXPECT_EQ(stage.memoryBytes, 110 + 4 * 220);
  // Adam moves 7 bytes for each.
  EXPECT_DOUBLE_EQ(stage.optimizerSeconds, 220);
  // What was measured goes before; an emulated device is slower there too.
  cluster.types[0].runtime.optimizerPerByte = 0.5;
  cluster.types[0].emulatedSlowdown = 3;
  EXPECT_DOUBLE_EQ(mustPlan(graph, cluster, options).stages[0].optimizerSeconds,
                   330);
}

/// Two stages that do not fit on one device, each of which keeps 10 bytes a
/// microbatch.
TEST(Planner, MemoryFollowsTheSchedule) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 2, 100)};
  setLinks(cluster, 1e9, 0);
  Graph graph = chain({1, 1}, {1});
  for (Node &node : graph.nodes) {
    node.parameterBytes = 15;
    node.activationBytes = 10;
    node.backwardSeconds = {1};
  }
  Options options;
  options.training = true;
  options.replicas = false;
  options.microbatches = 4;
  Plan plan = mustPlan(graph, cluster, options);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].inFlight, 3u); // one of them on its way
  EXPECT_EQ(plan.stages[1].inFlight, 1u);
  // All forwards first: all four microbatches are kept in both.
  options.schedule = simulator::ScheduleKind::GPipe;
  plan = mustPlan(graph, cluster, options);
  for (const Stage &stage : plan.stages) {
    EXPECT_EQ(stage.inFlight, 4u);
    EXPECT_EQ(stage.memoryBytes, 100);
  }
  cluster.types[0].memoryBytes = 99;
  EXPECT_EQ(messageOf(graph, cluster, options),
            "the model must fit in the devices' memory, got: no plan does; in "
            "the best attempt (2 stages) stage 0 ('layer0' to 'layer0') on "
            "device type 'a' needs 100 bytes of 99 bytes and lacks 1 bytes");
}

/// Gradients of parameters wait for nobody: a microbatch's way forth and back
/// is shorter without them, and what a stage has to do is the same.
TEST(Planner, WhatZeroBubblePutsOffIsNotOnTheWay) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 2)};
  setLinks(cluster, 1e9, 0);
  Graph graph = chain({1, 1}, {1});
  for (Node &node : graph.nodes) {
    node.backwardSeconds = {2};
    node.weightSeconds = {1};
  }
  Options options;
  options.training = true;
  options.replicas = false;
  options.microbatches = 5;
  options.exactStages = 2;
  Plan inTurn = mustPlan(graph, cluster, options);
  options.schedule = simulator::ScheduleKind::ZeroBubble;
  Plan apart = mustPlan(graph, cluster, options);
  EXPECT_NEAR(inTurn.stepSeconds, 2 * 3 + 4 * 3, 1e-6);
  EXPECT_NEAR(apart.stepSeconds, 2 * 2 + 4 * 3 + 1, 1e-6);
  EXPECT_LT(apart.simulatedSeconds, inTurn.simulatedSeconds);
  EXPECT_LE(apart.lowerBoundSeconds, apart.stepSeconds);
}

TEST(Planner, CutsGoWhereScopesChange) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 2)};
  setLinks(cluster, 1e9, 0);
  // Zero work in the middle: cuts at 3, 4 and 5 are equally good.
  Graph graph = chain({1, 1, 1, 0, 0, 1, 1, 1}, {1});
  for (unsigned index = 0; index < graph.nodes.size(); ++index)
    graph.nodes[index].scope = index < 4 ? "block0" : "block1";
  Options options;
  options.replicas = false;
  options.microbatches = 16;
  EXPECT_EQ(sizesOf(mustPlan(graph, cluster, options)),
            (std::vector<size_t>{4, 4}));
}

TEST(Planner, ClonesAreCheaperThanMessages) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 2)};
  setLinks(cluster, 1, 0);
  Graph graph = chain({0.1, 2, 2}, {1});
  graph.tensors.push_back({"mask", 0, {1, 2}, 100, true});
  graph.nodes[0].cloneSeconds = {0.1};
  Options options;
  options.replicas = false;
  options.microbatches = 8;
  Plan plan = mustPlan(graph, cluster, options);
  ASSERT_EQ(plan.stages.size(), 2u);
  unsigned clones = 0;
  for (const Message &message : plan.messages)
    clones += message.cloned;
  EXPECT_EQ(clones, 1u);
}

TEST(Planner, EachMistakeHasItsMessage) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 2)};
  Options options;
  Graph good = chain({1, 1}, {1});
  options.exactStages = 3;
  EXPECT_EQ(messageOf(good, cluster, options),
            "stages must be at most the number of operations (2), got: 3");
  Graph three = chain({1, 1, 1}, {1});
  EXPECT_EQ(messageOf(three, cluster, options),
            "stages must be at most the number of devices (2), got: 3");
  options.exactStages = 2;
  Graph whole = good;
  whole.tensors[0].cuttable = false;
  EXPECT_EQ(messageOf(whole, cluster, options),
            "stages must be at most 1, since the model can be cut in no more "
            "places, got: 2");
  Graph bad = good;
  bad.nodes[1].forwardSeconds[0] = std::nan("");
  EXPECT_EQ(messageOf(bad, cluster, options),
            "operation 'layer1': forward seconds must be at least 0, got: nan");
  bad = good;
  bad.nodes[1].name = "layer0";
  EXPECT_EQ(messageOf(bad, cluster, options),
            "operation names must be unique, got twice: 'layer0'");
  bad = good;
  bad.tensors[0] = {"back", 1, {0}, 1, true};
  EXPECT_EQ(messageOf(bad, cluster, options),
            "value 'back': operations must stand in topological order, got: "
            "'layer0', which reads what 'layer1' makes, "
            "before it");
  bad = good;
  bad.nodes[0].forwardSeconds[0] = INFINITY;
  EXPECT_EQ(
      messageOf(bad, cluster, options),
      "operation 'layer0' must be able to run on some device type, got: none");
  bad = good;
  bad.nodes[1].parameterBytes = -1;
  EXPECT_EQ(messageOf(bad, cluster, options),
            "operation 'layer1': bytes must be at least 0, got: -1");
  bad.nodes[1].parameterBytes = 0;
  bad.nodes[1].backwardSeconds = {-2};
  EXPECT_EQ(messageOf(bad, cluster, options),
            "operation 'layer1': backward seconds must be at least 0, got: "
            "-2.000000");
  EXPECT_EQ(messageOf(Graph(), cluster, options),
            "a graph must have at least one operation");
}

TEST(Planner, ReplicasOfASlowTypeFeedAFastOne) {
  cluster::Cluster cluster;
  cluster.types = {device("slow", 2, 100), device("fast", 1, 100)};
  setLinks(cluster, 1e9, 0);
  Graph graph = chain({2, 2, 2, 2, 2, 2}, {4, 1});
  for (Node &node : graph.nodes)
    node.parameterBytes = 25;
  Options options;
  options.microbatches = 64;
  // Memory wants two stages. 2 layers of 8 s on two slow devices and 4 layers
  // of 2 s on the fast one take 8 s each for every microbatch.
  Plan plan = mustPlan(graph, cluster, options);
  ASSERT_EQ(plan.stages.size(), 2u);
  const Stage &slow = plan.stages[plan.stages[0].deviceType == 0 ? 0 : 1];
  EXPECT_EQ(slow.nodes.size(), 2u);
  EXPECT_EQ(slow.replicas, 2u);
  EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, 8);
  EXPECT_NEAR(plan.stepSeconds, 16 + 8 + 63 * 8, 1e-6);
}

// Colocation that cannot be met: both must stand in one stage, and no type runs
// both.
TEST(Planner, WhatMustStandTogetherNeedsATypeThatRunsIt) {
  cluster::Cluster cluster;
  cluster.types = {device("a", 1), device("b", 1)};
  Graph graph = chain({1, 1, 1}, {1, 1});
  graph.nodes[0].forwardSeconds = {1, INFINITY};
  graph.nodes[2].forwardSeconds = {INFINITY, 1};
  EXPECT_EQ(mustPlan(graph, cluster, {}).stages.size(), 2u);
  const std::string message =
      "operations of one stage must be able to run on one device type, got "
      "none for those that must stay with 'layer0' and 'layer2'";
  Graph grouped = graph;
  grouped.nodes[0].group = grouped.nodes[2].group = 3;
  EXPECT_EQ(messageOf(grouped, cluster, {}), message);
  Graph uncuttable = graph;
  uncuttable.tensors[0].cuttable = uncuttable.tensors[1].cuttable = false;
  EXPECT_EQ(messageOf(uncuttable, cluster, {}), message);
}

TEST(Planner, UpperBoundAddsWhatEachTypeReachesAlone) {
  cluster::Cluster cluster;
  cluster.types = {device("slow", 3), device("fast", 2)};
  setLinks(cluster, 1e9, 0);
  Options options;
  options.microbatches = 16;
  Graph graph = chain({1, 1, 1, 1}, {5, 2});
  llvm::Expected<double> bound = upperBoundThroughput(graph, cluster, options);
  ASSERT_TRUE(bool(bound));
  EXPECT_NEAR(*bound, 3 / 20.0 + 2 / 8.0, 1e-9);
  Plan plan = mustPlan(graph, cluster, options);
  EXPECT_LE(options.microbatches / plan.stepSeconds, *bound);
  // A type that cannot hold the model alone adds nothing.
  for (Node &node : graph.nodes)
    node.parameterBytes = 10;
  options.memoryLimits = {5, 100};
  bound = upperBoundThroughput(graph, cluster, options);
  ASSERT_TRUE(bool(bound));
  EXPECT_NEAR(*bound, 2 / 8.0, 1e-9);
}

/// Like a decoder: per block a residual stream, some small operations and two
/// large ones, a mask that all blocks read.
Problem decoder(unsigned nodes, unsigned types, unsigned devices, bool training,
                unsigned seed) {
  Random random(seed);
  Problem problem;
  for (unsigned type = 0; type < types; ++type)
    problem.cluster.types.push_back(
        device("type" + std::to_string(type),
               devices / types + (type < devices % types)));
  setLinks(problem.cluster, 3e9, 30e-6);
  Graph &graph = problem.graph;
  unsigned residual = 0;
  for (unsigned index = 0; index < nodes; ++index) {
    Node node;
    node.name = "node" + std::to_string(index);
    unsigned inBlock = index % 30;
    node.scope = "block" + std::to_string(index / 30);
    double seconds = inBlock % 10 == 5 ? 1e-3 : 1e-5 * random.real(0.5, 2);
    for (unsigned type = 0; type < types; ++type) {
      node.forwardSeconds.push_back(seconds * (1 + 0.7 * type) *
                                    random.real(0.9, 1.1));
      node.backwardSeconds.push_back(2 * node.forwardSeconds.back());
    }
    node.parameterBytes = inBlock % 10 == 5 ? 8 << 20 : 0;
    node.activationBytes = 1 << 20;
    graph.nodes.push_back(node);
    if (index > 0)
      graph.tensors.push_back({"v" + std::to_string(index),
                               index - 1,
                               {index},
                               int64_t(1 + random.below(4)) << 20,
                               true});
    if (inBlock == 0) {
      if (index > 0)
        graph.tensors.push_back(
            {"r" + std::to_string(index), residual, {index}, 1 << 20, true});
      residual = index;
    }
  }
  Tensor mask{"mask", 0, {}, 1 << 16, true};
  for (unsigned index = 7; index < nodes; index += 30)
    mask.consumers.push_back(index);
  graph.tensors.push_back(mask);
  problem.options.microbatches = 32;
  problem.options.training = training;
  return problem;
}

double secondsToPlan(const Problem &problem, const char *what) {
  auto begin = std::chrono::steady_clock::now();
  Plan plan = mustPlan(problem.graph, problem.cluster, problem.options);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::printf("%s: %zu stages, step %.4f s, gap %.2f %%, optimal %d, planned "
              "in %.3f s\n",
              what, plan.stages.size(), plan.stepSeconds, 100 * plan.gap(),
              plan.optimalForOrder(), seconds);
  EXPECT_TRUE(plan.optimalForOrder()) << what;
  return seconds;
}

// Limits are far above what an idle core needs, so that a busy machine does not
// fail.
TEST(PlannerSpeed, OperatorGraphs) {
  EXPECT_LT(secondsToPlan(decoder(1500, 1, 8, false, 1),
                          "1500 nodes, 1 type, 8 devices"),
            3);
  EXPECT_LT(secondsToPlan(decoder(1500, 3, 8, false, 1),
                          "1500 nodes, 3 types, 8 devices"),
            6);
  EXPECT_LT(secondsToPlan(decoder(1500, 3, 8, true, 1),
                          "1500 nodes, 3 types, 8 devices, training"),
            6);
  Problem tight = decoder(1500, 3, 8, true, 2);
  tight.options.memoryLimits = {int64_t(4) << 30, int64_t(3) << 30,
                                int64_t(2) << 30};
  EXPECT_LT(
      secondsToPlan(tight,
                    "1500 nodes, 3 types, 8 devices, training, little memory"),
      12);
  Problem few = decoder(1500, 3, 8, false, 3);
  few.options.microbatches = 2;
  EXPECT_LT(
      secondsToPlan(few, "1500 nodes, 3 types, 8 devices, 2 microbatches"), 6);
  EXPECT_LT(secondsToPlan(decoder(10000, 3, 8, false, 4),
                          "10000 nodes, 3 types, 8 devices"),
            30);
}

} // namespace

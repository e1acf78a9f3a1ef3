// Plans as tables: valid, never faster than their busiest replica, and about
// what the closed form says.
#include "RandomGraphs.h"

#include "hethub/Planner/SimulatePlan.h"

#include <gtest/gtest.h>

using namespace hethub;
using namespace hethub::planner;
using hethub::planner::test::Problem;

namespace {

TEST(SimulatePlan, IsNeverFasterThanItsBusiestReplica) {
  unsigned simulated = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    Problem problem = test::randomProblem(seed, 10);
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    simulator::Pipeline pipeline =
        pipelineOf(problem.graph, problem.cluster, *plan);
    llvm::Expected<simulator::Result> result =
        simulate(scheduleOf(*plan, pipeline), pipeline);
    ASSERT_TRUE(bool(result)) << seed << ": " << toString(result.takeError());
    // The closed form and its bound charge branches, fill and drain one after
    // the other, which the table may overlap; but each replica has its work.
    for (const Stage &stage : plan->stages)
      ASSERT_GE(result->stepSeconds * (1 + 1e-9),
                stage.fillSeconds() + stage.steadySeconds(plan->microbatches))
          << "seed " << seed;
    ASSERT_LE(simulatePlan(problem.graph, problem.cluster, *plan).stepSeconds,
              result->stepSeconds * (1 + 1e-9))
        << "seed " << seed;
    for (size_t stage = 0; stage < plan->stages.size(); ++stage)
      ASSERT_EQ(result->stages[stage].peakBytes,
                plan->stages[stage].memoryBytes -
                    (int64_t(plan->stages[stage].inFlightOnReplica()) -
                     result->stages[stage].mostInFlight) *
                        plan->stages[stage].activationBytes);
    ++simulated;
  }
  EXPECT_GT(simulated, 200u);
}

cluster::Cluster twoTypes(bool viaHost) {
  cluster::Cluster cluster;
  for (const char *name : {"slow", "fast"}) {
    cluster::DeviceType type;
    type.name = name;
    type.kind = "cpu";
    type.count = 2;
    type.hostBandwidth = 4;
    cluster.types.push_back(type);
  }
  cluster::Link link;
  link.bandwidth = 2;
  link.latency = 0.5;
  link.viaHost = viaHost;
  cluster.setLink(0, 1, link);
  return cluster;
}

/// Two nodes, a value of 8 bytes between them; slow takes 4 seconds and fast 2.
struct Example {
  Graph graph;
  Options options;
  Plan plan;

  Example(const cluster::Cluster &cluster, bool training) {
    for (const char *name : {"a", "b"}) {
      Node node;
      node.name = name;
      node.forwardSeconds = {4, 2};
      if (training)
        node.backwardSeconds = {8, 4};
      graph.nodes.push_back(node);
    }
    graph.tensors = {{"value", 0, {1}, 8, true}};
    options.microbatches = 4;
    options.training = training;
    plan.stages.resize(2);
    plan.stages[0].nodes = {0};
    plan.stages[0].deviceType = 0;
    plan.stages[0].replicas = 2;
    plan.stages[1].nodes = {1};
    plan.stages[1].deviceType = 1;
    costPlan(graph, cluster, options, plan);
  }
};

TEST(SimulatePlan, InferenceWithReplicas) {
  cluster::Cluster cluster = twoTypes(false);
  Example example(cluster, false);
  // Two replicas give a pair of values every 4 seconds; the first comes 4.5
  // seconds after its forward.
  EXPECT_DOUBLE_EQ(
      simulatePlan(example.graph, cluster, example.plan).stepSeconds,
      4 + 4.5 + 4 * 2);
}

TEST(SimulatePlan, CopiesOfStagedLinksTakeTurnsWithTransfers) {
  cluster::Cluster cluster = twoTypes(true);
  Example example(cluster, false);
  // A copy of 2 seconds at either end, beside compute.
  simulator::Pipeline pipeline =
      pipelineOf(example.graph, cluster, example.plan);
  ASSERT_EQ(pipeline.channels.size(), 1u);
  EXPECT_DOUBLE_EQ(pipeline.channels[0].copyOutSeconds, 2);
  EXPECT_DOUBLE_EQ(pipeline.channels[0].copyInSeconds, 2);
  EXPECT_DOUBLE_EQ(
      simulatePlan(example.graph, cluster, example.plan).stepSeconds,
      4 + 2 + 4.5 + 2 + 4 * 2);
}

TEST(SimulatePlan, TrainingStaysWithinTheClosedForm) {
  cluster::Cluster cluster = twoTypes(false);
  Example example(cluster, true);
  simulator::Result result = simulatePlan(example.graph, cluster, example.plan);
  EXPECT_LE(result.stepSeconds, example.plan.stepSeconds);
  // All microbatches of the fast stage, between the first value's way there and
  // the last gradient's way back.
  EXPECT_GE(result.stepSeconds, 4 + 4.5 + 4 * 6 + 4.5 + 8);
}

} // namespace

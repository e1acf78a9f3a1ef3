// A user's stage map: one message for each mistake, costs when there is none;
// plan.json there and back.
#include "RandomGraphs.h"
#include "hethub/Planner/PlanFile.h"

#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

using namespace hethub;
using namespace hethub::planner;
using hethub::planner::test::Problem;
using hethub::planner::test::randomProblem;

namespace {

/// a -> b -> c -> d, a -> d; two types.
Problem diamond() {
  Problem problem;
  for (const char *name : {"slow", "fast"}) {
    cluster::DeviceType type;
    type.name = name;
    type.kind = "cpu";
    type.count = 2;
    type.memoryBytes = 100;
    problem.cluster.types.push_back(type);
  }
  for (unsigned a = 0; a < 2; ++a)
    for (unsigned b = a; b < 2; ++b) {
      cluster::Link link;
      link.bandwidth = a == b ? 10 : 5;
      link.latency = 0.5;
      problem.cluster.setLink(a, b, link);
    }
  for (const char *name : {"a", "b", "c", "d"}) {
    Node node;
    node.name = name;
    node.forwardSeconds = {4, 2};
    node.parameterBytes = 20;
    node.workspaceBytes = 5;
    problem.graph.nodes.push_back(node);
  }
  problem.graph.tensors = {{"ab", 0, {1, 3}, 10, true},
                           {"bc", 1, {2}, 20, true},
                           {"cd", 2, {3}, 30, true}};
  problem.options.microbatches = 3;
  return problem;
}

std::string messagesOf(const Problem &problem,
                       llvm::ArrayRef<StageRequest> stages) {
  llvm::Expected<Plan> plan =
      checkPlan(problem.graph, problem.cluster, stages, problem.options);
  return plan ? "accepted" : llvm::toString(plan.takeError());
}

TEST(CheckPlan, CostsAGoodPlan) {
  Problem problem = diamond();
  llvm::Expected<Plan> plan = checkPlan(problem.graph, problem.cluster,
                                        {{"fast", 1, 1, {"b", "a"}},
                                         {"slow", 1, 1, {"c"}},
                                         {"fast", 1, 1, {"d"}}},
                                        problem.options);
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  ASSERT_EQ(plan->messages.size(), 3u);
  EXPECT_EQ(plan->messages[0].tensor, 1u); // bc, fast to slow: 0.5 + 20 / 5
  EXPECT_DOUBLE_EQ(plan->messages[0].seconds, 4.5);
  EXPECT_EQ(plan->messages[1].tensor,
            0u); // ab skips a stage, fast to fast: 0.5 + 10 / 10
  EXPECT_DOUBLE_EQ(plan->messages[1].seconds, 1.5);
  EXPECT_DOUBLE_EQ(plan->messages[2].seconds, 6.5); // cd: 0.5 + 30 / 5
  EXPECT_DOUBLE_EQ(plan->stages[2].receiveSeconds, 8);
  EXPECT_DOUBLE_EQ(plan->bottleneckSeconds, 4);
  EXPECT_DOUBLE_EQ(plan->stepSeconds, 4 + 4 + 2 + 12.5 + 2 * 4);
  EXPECT_EQ(plan->stages[0].memoryBytes, 45);
  EXPECT_GT(plan->gap(), 0);
}

TEST(CheckPlan, TrainingCountsGradientsAndMicrobatchesInFlight) {
  Problem problem = diamond();
  problem.options.training = true;
  for (Node &node : problem.graph.nodes) {
    node.backwardSeconds = {8, 4};
    node.parameterBytes = 2;
    node.activationBytes = 3;
  }
  llvm::Expected<Plan> plan =
      checkPlan(problem.graph, problem.cluster,
                {{"fast", 1, 1, {"a", "b"}}, {"fast", 1, 1, {"c", "d"}}},
                problem.options);
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  // messages 1.5 + 2.5, there and back
  EXPECT_DOUBLE_EQ(plan->stepSeconds, 24 + 2 * 4 + 2 * 12);
  EXPECT_EQ(plan->stages[1].inFlight, 1u);
  EXPECT_EQ(plan->stages[0].inFlight, 3u); // 1 + 1 + ceil(2 * 4 / 12)
  EXPECT_EQ(plan->stages[0].memoryBytes, 4 * 4 + 3 * 6 + 5);
}

TEST(CheckPlan, ReplicasShareTheLoad) {
  Problem problem = diamond();
  llvm::Expected<Plan> plan =
      checkPlan(problem.graph, problem.cluster,
                {{"slow", 2, 1, {"a", "b"}}, {"fast", 1, 1, {"c", "d"}}},
                problem.options);
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_DOUBLE_EQ(plan->bottleneckSeconds, 4);
}

TEST(CheckPlan, ReplicasSumTheirGradientsOnceAStep) {
  Problem problem = diamond();
  problem.options.training = true;
  problem.cluster.types[0].memoryBandwidth = 40;
  for (Node &node : problem.graph.nodes) {
    node.backwardSeconds = {8, 4};
    node.parameterBytes = 2;
    node.activationBytes = 3;
  }
  llvm::Expected<Plan> plan =
      checkPlan(problem.graph, problem.cluster,
                {{"slow", 2, 1, {"a", "b"}}, {"fast", 1, 1, {"c", "d"}, true}},
                problem.options);
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  const Stage &first = plan->stages[0], &last = plan->stages[1];
  // Ring of two: 2 latencies of 0.5 and 4 bytes at 10 bytes/s.
  EXPECT_DOUBLE_EQ(first.allReduceSeconds, 1 + 0.4);
  EXPECT_DOUBLE_EQ(first.optimizerSeconds, 7 * 4 / 40.0);
  EXPECT_DOUBLE_EQ(last.allReduceSeconds, 0);
  EXPECT_DOUBLE_EQ(last.backwardSeconds, 8 + 4); // forward again
  // 24 and 16 of compute, messages bc 0.5 + 20 / 5 and ab 0.5 + 10 / 5 there
  // and back, then the first replica's second microbatch, the sum, the
  // optimizer; two more microbatches on the other stage are longer.
  EXPECT_DOUBLE_EQ(first.steadySeconds(3), 24 + 1.4 + 0.7);
  EXPECT_DOUBLE_EQ(last.steadySeconds(3), 2 * 16);
  EXPECT_DOUBLE_EQ(plan->stepSeconds, 24 + 16 + 2 * 7 + 32);
  // One behind, two replicas, ceil(2 * 7 / 16) on their way: three at most.
  EXPECT_EQ(first.inFlight, 3u);
  EXPECT_EQ(first.inFlightOnReplica(), 2u);
  EXPECT_EQ(first.memoryBytes, 4 * 4 + 2 * 6 + 5);
  // Keeps its inputs ab and bc, and for one microbatch all else.
  EXPECT_EQ(last.memoryBytes, 4 * 4 + 1 * 30 + 6 + 5);
}

TEST(CheckPlan, ATensorParallelStageSharesWhatSplits) {
  Problem problem = diamond();
  problem.graph.nodes[1].splits = problem.graph.nodes[2].splits = true;
  problem.graph.nodes[2].reduceBytes = 10;
  llvm::Expected<Plan> plan =
      checkPlan(problem.graph, problem.cluster,
                {{"slow", 1, 2, {"a", "b", "c", "d"}}}, problem.options);
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  // Two whole, two halved, one sum of 10 bytes over two devices.
  EXPECT_DOUBLE_EQ(plan->stages[0].forwardSeconds, 4 + 2 + 2 + 4 + (1 + 1));
  EXPECT_EQ(plan->stages[0].parameterBytes, 20 + 10 + 10 + 20);
}

TEST(CheckPlan, EachMistakeHasItsMessage) {
  Problem problem = diamond();
  EXPECT_EQ(messagesOf(problem, {}),
            "a plan must have at least one stage, got: none\n"
            "every operation must stand in a stage, got none for: 'a'\n"
            "every operation must stand in a stage, got none for: 'b'\n"
            "every operation must stand in a stage, got none for: 'c'\n"
            "every operation must stand in a stage, got none for: 'd'");
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 1, {"a", "b", "c"}}}),
            "every operation must stand in a stage, got none for: 'd'");
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 1, {"a", "b"}},
                                 {"fast", 1, 1, {"b", "c", "d"}}}),
            "stage 1: an operation must stand in one stage, got: 'b', which "
            "stage 0 has");
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 1, {"a", "c"}},
                                 {"fast", 1, 1, {"b", "d"}}}),
            "values must flow to later stages, got: 'bc' from 'b' in stage 1 "
            "to 'c' in stage 0");
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 1, {"a", "b", "c", "d", "e"}}}),
            "stage 0: operations must be those of the model, got: 'e'");
  EXPECT_EQ(
      messagesOf(problem, {{"faster", 1, 1, {"a", "b", "c", "d"}}}),
      "stage 0: the device type must be one of the cluster, got: 'faster'");
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 1, {"a", "b", "c", "d"}},
                                 {"slow", 1, 1, {}}}),
            "stage 1: a stage must have at least one operation, got: none");
  EXPECT_EQ(messagesOf(problem, {{"fast", 3, 1, {"a", "b", "c", "d"}}}),
            "stages must use at most the 2 devices of type 'fast', got: 3");
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 3, {"a", "b", "c", "d"}}}),
            "stage 0: tensor_parallel must be at most the 2 devices of a node "
            "of type 'fast', got: 3\n"
            "stages must use at most the 2 devices of type 'fast', got: 3");
  problem.options.memoryLimits = {100, 60};
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 1, {"a", "b", "c"}},
                                 {"slow", 1, 1, {"d"}}}),
            "stage 0 must fit in the 60 bytes of device type 'fast', got: 65 "
            "bytes, 5 too many");
  problem.graph.tensors[1].cuttable = false;
  problem.graph.nodes[2].group = problem.graph.nodes[3].group = 1;
  EXPECT_EQ(messagesOf(problem, {{"fast", 1, 1, {"a", "b"}},
                                 {"slow", 1, 1, {"c"}},
                                 {"slow", 1, 1, {"d"}}}),
            "only tensors may cross stages, got: 'bc' from stage 0 to stage 1\n"
            "operations 'c' and 'd' must stand in one stage, got: 1 and 2");
}

StageRequest beginning(std::string type, std::string first) {
  StageRequest stage;
  stage.deviceType = std::move(type);
  stage.first = std::move(first);
  return stage;
}

TEST(CheckPlan, StagesMaySayWhereTheyBegin) {
  Problem problem = diamond();
  for (unsigned node = 0; node < 4; ++node)
    problem.graph.nodes[node].scope =
        (node < 2 ? "layers.1" : "layers.10") + std::string(".mlp");
  auto sizes = [&](llvm::ArrayRef<StageRequest> stages) {
    llvm::Expected<Plan> plan =
        checkPlan(problem.graph, problem.cluster, stages, problem.options);
    if (!plan)
      return llvm::toString(plan.takeError());
    std::string text;
    for (const Stage &stage : plan->stages)
      text += std::to_string(stage.nodes.size());
    return text;
  };
  EXPECT_EQ(sizes({beginning("fast", "")}), "4");
  EXPECT_EQ(sizes({beginning("fast", ""), beginning("slow", "layers.10")}),
            "22");
  EXPECT_EQ(sizes({beginning("fast", "a"), beginning("slow", "b"),
                   beginning("slow", "d")}),
            "121");
  EXPECT_EQ(sizes({beginning("fast", ""), beginning("slow", "layers.2")}),
            "stage 1: first must be an operation or a scope of the model, got: "
            "'layers.2'");
  EXPECT_EQ(sizes({beginning("fast", ""), beginning("slow", "layers.1")}),
            "stage 1: a stage must begin behind the begin of the one before "
            "it, got: 'layers.1'");
  EXPECT_EQ(sizes({{"fast", 1, 1, {"a", "b"}}, beginning("slow", "c")}),
            "all stages of a plan must list their nodes, or none, got: some "
            "that do");
}

TEST(CheckPlan, RecomputationIsForTraining) {
  Problem problem = diamond();
  std::vector<StageRequest> stages = {{"fast", 1, 1, {"a", "b", "c", "d"}}};
  stages[0].recompute = true;
  EXPECT_EQ(messagesOf(problem, stages),
            "stage 0: recompute must be false in a plan for inference, got: "
            "true");
}

std::string textOf(const Problem &problem, const Plan &plan) {
  return llvm::formatv("{0:2}",
                       planToJSON(problem.graph, problem.cluster, plan));
}

TEST(PlanFile, ComesBackAsItWas) {
  unsigned plans = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Problem problem = randomProblem(seed, 10);
    llvm::Expected<Plan> plan =
        findPlan(problem.graph, problem.cluster, problem.options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    ++plans;
    std::string text = textOf(problem, *plan);
    llvm::Expected<std::vector<StageRequest>> stages =
        parseStageMap(text, "plan.json");
    ASSERT_TRUE(bool(stages)) << llvm::toString(stages.takeError());
    llvm::Expected<Plan> again =
        checkPlan(problem.graph, problem.cluster, *stages, problem.options);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(again->stepSeconds, plan->stepSeconds);
    again->orderBoundSeconds = plan->orderBoundSeconds;
    EXPECT_EQ(textOf(problem, *again), text);
  }
  EXPECT_GT(plans, 150u);
}

TEST(PlanFile, EachMistakeHasItsMessage) {
  auto messageOf = [](llvm::StringRef text) {
    auto stages = parseStageMap(text, "p.json");
    return stages ? "accepted" : llvm::toString(stages.takeError());
  };
  EXPECT_EQ(messageOf("{").rfind("p.json: a plan must be JSON: ", 0), 0u);
  EXPECT_EQ(messageOf("[]"), "p.json: a plan must be an object with stages");
  EXPECT_EQ(messageOf("{}"), "p.json: a plan must have a list of stages");
  EXPECT_EQ(messageOf("{\"version\": 2, \"stages\": []}"),
            "p.json: version must be 1, got: 2");
  EXPECT_EQ(messageOf("{\"stages\": [1]}"),
            "p.json: stage 0 must be an object");
  EXPECT_EQ(messageOf("{\"stages\": [{\"nodes\": []}]}"),
            "p.json: stage 0: device_type must be a string, got: none");
  EXPECT_EQ(messageOf("{\"stages\": [{\"device_type\": \"a\", "
                      "\"nodes\": \"b\"}]}"),
            "p.json: stage 0: nodes must be a list of operation names, got: "
            "\"b\"");
  EXPECT_EQ(messageOf("{\"stages\": [{\"device_type\": \"a\"}, "
                      "{\"device_type\": \"a\"}]}"),
            "p.json: stage 1: a stage must have nodes, or first, the scope or "
            "name that it begins with, got: none");
  EXPECT_EQ(
      messageOf("{\"stages\": [{\"device_type\": \"a\", \"nodes\": [1]}]}"),
      "p.json: stage 0: nodes must be operation names, got: 1");
  EXPECT_EQ(
      messageOf("{\"stages\": [{\"device_type\": \"a\", \"replicas\": 0, "
                "\"nodes\": []}]}"),
      "p.json: stage 0: replicas must be a whole number from 1 to 1000000, "
      "got: 0");
  EXPECT_EQ(
      messageOf("{\"stages\": [], \"stages\": []}"),
      "p.json: a plan must be JSON: an object must have each field once, got "
      "'stages' twice");
  EXPECT_EQ(messageOf("{\"stages\": [{\"device_type\": \"a\", "
                      "\"recompute\": 1, \"nodes\": []}]}"),
            "p.json: stage 0: recompute must be true or false, got: 1");
}

} // namespace

// What users of pipeline planners complain about, each with the right answer:
// reckoned by hand in a comment, or by trying all cuts.
#include "Chains.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace hethub;
using namespace hethub::planner;
using namespace hethub::planner::test;

namespace {

/// Times count alone: links are fast, and enough microbatches make the
/// bottleneck decide.
struct Setting {
  cluster::Cluster cluster;
  Options options;

  explicit Setting(std::vector<cluster::DeviceType> types) {
    cluster.types = std::move(types);
    setLinks(cluster, 1e9, 0);
    options.microbatches = 64;
  }
};

/// Each node in exactly one stage, in order, no stage empty.
void expectAllOnce(const Plan &plan, const Graph &graph) {
  unsigned next = 0;
  for (const Stage &stage : plan.stages) {
    EXPECT_FALSE(stage.nodes.empty());
    for (unsigned node : stage.nodes)
      EXPECT_EQ(node, next++);
  }
  EXPECT_EQ(next, graph.nodes.size());
}

/// The smallest largest load of all cuts of `work` into `parts` parts.
double leastBottleneck(llvm::ArrayRef<double> work, unsigned parts) {
  if (parts == 1)
    return std::accumulate(work.begin(), work.end(), 0.0);
  double least = INFINITY, first = 0;
  for (unsigned size = 1; size + parts - 1 <= work.size(); ++size) {
    first += work[size - 1];
    least = std::min(
        least,
        std::max(first, leastBottleneck(work.drop_front(size), parts - 1)));
  }
  return least;
}

// "30 layers on 4 stages builds only 28": all layers are there, spread as
// evenly as whole layers can be.
TEST(Complaints, LayersThatDoNotDivideAreAllKept) {
  for (unsigned layers : {7u, 30u, 31u, 33u, 40u})
    for (unsigned stages : {2u, 3u, 4u, 5u}) {
      Setting setting({device("a", stages)});
      setting.options.exactStages = stages;
      Graph graph = chain(std::vector<double>(layers, 1), {1});
      Plan plan = mustPlan(graph, setting.cluster, setting.options);
      ASSERT_EQ(plan.stages.size(), stages);
      expectAllOnce(plan, graph);
      EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, (layers + stages - 1) / stages);
    }
}

// "7 layers on 2 stages must be 3 + 4."
TEST(Complaints, SevenLayersOnTwoStages) {
  Setting setting({device("a", 2)});
  setting.options.exactStages = 2;
  std::vector<size_t> sizes = sizesOf(mustPlan(
      chain(std::vector<double>(7, 1), {1}), setting.cluster, setting.options));
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 4}));
}

// "A balanced partition of 5 equal layers on 4 parts returns an empty part."
TEST(Complaints, FiveEqualLayersOnFourStages) {
  Setting setting({device("a", 4)});
  setting.options.exactStages = 4;
  Graph graph = chain({1, 1, 1, 1, 1}, {1});
  Plan plan = mustPlan(graph, setting.cluster, setting.options);
  expectAllOnce(plan, graph);
  std::vector<size_t> sizes = sizesOf(plan);
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 1, 1, 2}));
}

// "42 layers, 16 stages: the last ranks get no layers", "40 layers on 16: flags
// for the first and last stage are not enough." 42 = 16 x 2 + 10 and
// 40 = 16 x 2 + 8, so some stage has 3 and none needs more.
TEST(Complaints, ManyStagesAllHaveLayers) {
  for (unsigned layers : {40u, 42u}) {
    Setting setting({device("a", 16)});
    setting.options.exactStages = 16;
    Graph graph = chain(std::vector<double>(layers, 1), {1});
    Plan plan = mustPlan(graph, setting.cluster, setting.options);
    ASSERT_EQ(plan.stages.size(), 16u);
    expectAllOnce(plan, graph);
    EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, 3);
  }
}

// "The split must count the embedding and the head, which is heavier." Work
// 0.5, 24 x 1, 3 on four stages. Below 7 the stages hold at most 6, 6, 6 and
// 3 layers, 21 of 24; with 7 they hold at most 6, 7, 7 and 4, just 24.
TEST(Complaints, HeadHeavierThanEmbedding) {
  std::vector<double> work(26, 1);
  work.front() = 0.5;
  work.back() = 3;
  Setting setting({device("a", 4)});
  setting.options.exactStages = 4;
  Plan plan = mustPlan(chain(work, {1}), setting.cluster, setting.options);
  EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, 7);
  EXPECT_EQ(sizesOf(plan), (std::vector<size_t>{1 + 6, 7, 7, 4 + 1}));
}

TEST(Complaints, HeavyFirstOrLastLayerAgainstAllCuts) {
  for (double heavy : {0.25, 1.0, 2.5, 4.0, 9.0})
    for (bool atFront : {true, false}) {
      std::vector<double> work(13, 1);
      (atFront ? work.front() : work.back()) = heavy;
      for (unsigned stages = 1; stages <= 5; ++stages) {
        Setting setting({device("a", stages)});
        setting.options.exactStages = stages;
        Plan plan =
            mustPlan(chain(work, {1}), setting.cluster, setting.options);
        EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, leastBottleneck(work, stages))
            << heavy << (atFront ? " first, " : " last, ") << stages;
      }
    }
}

// "The pipeline stays unbalanced whatever the settings" (encoder and decoder of
// unlike layers). 8 x 1 + 8 x 2 = 24 on four stages: 6 each, as 6 encoder
// layers, 2 + 2, 3, 3. Each stage behind the encoder receives its result once.
TEST(Complaints, EncoderAndDecoderAreBalancedTogether) {
  std::vector<double> work(16, 1);
  std::fill(work.begin() + 8, work.end(), 2);
  Setting setting({device("a", 4)});
  setting.options.exactStages = 4;
  Graph graph = chain(work, {1});
  // The encoder's result, which all decoder layers read.
  graph.tensors[7].consumers = {8, 9, 10, 11, 12, 13, 14, 15};
  Plan plan = mustPlan(graph, setting.cluster, setting.options);
  EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, 6);
  EXPECT_EQ(sizesOf(plan), (std::vector<size_t>{6, 4, 3, 3}));
  std::vector<unsigned> receivers;
  for (const Message &message : plan.messages)
    if (message.tensor == 7)
      receivers.push_back(message.toStage);
  EXPECT_EQ(receivers, (std::vector<unsigned>{2, 3}));
}

// "Two GPUs with different free memory." Equal speed, 12 layers of 10 bytes, 40
// and 100 bytes free: the small one takes the 4 that it can hold.
TEST(Complaints, UnlikeFreeMemory) {
  Setting setting({device("small", 1, 40), device("large", 1, 100)});
  Graph graph = chain(std::vector<double>(12, 1), {1, 1});
  for (Node &node : graph.nodes)
    node.parameterBytes = 10;
  Plan plan = mustPlan(graph, setting.cluster, setting.options);
  ASSERT_EQ(plan.stages.size(), 2u);
  for (const Stage &stage : plan.stages)
    EXPECT_EQ(stage.nodes.size(), stage.deviceType == 0 ? 4u : 8u);
}

// "Layers are placed by memory only", "a throttled device". One device needs
// 3 s for what the other does in 1 s and has ten times its memory: it still
// gets 3 of 12 layers, 9 s each.
TEST(Complaints, SpeedDecidesWhereMemoryIsEnough) {
  Setting setting({device("throttled", 1, 1000), device("whole", 1, 100)});
  Graph graph = chain(std::vector<double>(12, 1), {3, 1});
  for (Node &node : graph.nodes)
    node.parameterBytes = 10;
  Plan plan = mustPlan(graph, setting.cluster, setting.options);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, 9);
  for (const Stage &stage : plan.stages)
    EXPECT_EQ(stage.nodes.size(), stage.deviceType == 0 ? 3u : 9u);
  // With 80 bytes the fast one can hold 8, so the slow one must take 4.
  setting.cluster.types[1].memoryBytes = 80;
  EXPECT_DOUBLE_EQ(
      mustPlan(graph, setting.cluster, setting.options).bottleneckSeconds, 12);
}

// "A V100 stage replicated twice feeding one A100 stage." Work 1 and 1.5, twice
// the seconds on the slow type, 9 microbatches, messages of 1 ns.
//   slow x2, fast: 2 + 1.5 + max(4 x 2, 8 x 1.5) = 15.5
//   fast, slow x2: 1 + 3 + max(8 x 1, 4 x 3) = 16
//   slow, fast: 3.5 + max(8 x 2, 8 x 1.5) = 19.5, fast alone 2.5 + 8 x 2.5
TEST(Complaints, ReplicasOfASlowTypeFeedAFastOne) {
  Setting setting({device("slow", 2), device("fast", 1)});
  setting.options.microbatches = 9;
  Graph graph = chain({1, 1.5}, {2, 1});
  Plan plan = mustPlan(graph, setting.cluster, setting.options);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].deviceType, 0u);
  EXPECT_EQ(plan.stages[0].replicas, 2u);
  EXPECT_EQ(plan.stages[1].deviceType, 1u);
  EXPECT_EQ(plan.stages[1].replicas, 1u);
  EXPECT_NEAR(plan.stepSeconds, 15.5, 1e-6);
}

llvm::Expected<Plan> check(const Setting &setting, const Graph &graph,
                           llvm::ArrayRef<StageRequest> stages) {
  return checkPlan(graph, setting.cluster, stages, setting.options);
}

std::vector<std::string> layers(unsigned begin, unsigned end) {
  std::vector<std::string> names;
  for (unsigned layer = begin; layer < end; ++layer)
    names.push_back("layer" + std::to_string(layer));
  return names;
}

// "I want to state the layer count of every stage." It is kept as it is, and
// costed: 1 + 4 + 2, each on what was asked for.
TEST(Complaints, StatedSplitsAreKept) {
  Setting setting({device("slow", 1), device("fast", 3)});
  Graph graph = chain(std::vector<double>(7, 1), {3, 1});
  llvm::Expected<Plan> plan = check(setting, graph,
                                    {{"slow", 1, 1, layers(0, 1)},
                                     {"fast", 1, 1, layers(1, 5)},
                                     {"fast", 2, 1, layers(5, 7)}});
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(sizesOf(*plan), (std::vector<size_t>{1, 4, 2}));
  expectAllOnce(*plan, graph);
  EXPECT_DOUBLE_EQ(plan->stages[0].load(), 3);
  EXPECT_DOUBLE_EQ(plan->stages[1].load(), 4);
  EXPECT_DOUBLE_EQ(plan->stages[2].load(), 1);
  EXPECT_DOUBLE_EQ(plan->bottleneckSeconds, 4);
}

// "Cut lists cannot express a stage map that goes 0-1-2-1-0." A value from
// stage 2 to stage 1 makes a cycle of stages: it is refused, by the value's
// name, for each such value.
TEST(Complaints, AStageMapThatGoesBackIsRefused) {
  Setting setting({device("a", 3)});
  Graph graph = chain({1, 1, 1, 1, 1}, {1});
  llvm::Expected<Plan> plan = check(setting, graph,
                                    {{"a", 1, 1, {"layer0", "layer4"}},
                                     {"a", 1, 1, {"layer1", "layer3"}},
                                     {"a", 1, 1, {"layer2"}}});
  ASSERT_FALSE(bool(plan));
  EXPECT_EQ(llvm::toString(plan.takeError()),
            "values must flow to later stages, got: 'value3' from 'layer2' in "
            "stage 2 to 'layer3' in stage 1\n"
            "values must flow to later stages, got: 'value4' from 'layer3' in "
            "stage 1 to 'layer4' in stage 0");
}

// A map that no list of cuts gives but whose values all flow forward is a plan:
// two towers, each a stage, though the order has their layers in turn.
TEST(Complaints, AStageMapOfTwoTowersIsTaken) {
  Setting setting({device("a", 3)});
  Graph graph = chain({1, 2, 3, 4, 5}, {1});
  graph.tensors = {{"left", 0, {2}, 1, true},
                   {"right", 1, {3}, 1, true},
                   {"left end", 2, {4}, 1, true},
                   {"right end", 3, {4}, 1, true}};
  llvm::Expected<Plan> plan = check(setting, graph,
                                    {{"a", 1, 1, {"layer0", "layer2"}},
                                     {"a", 1, 1, {"layer1", "layer3"}},
                                     {"a", 1, 1, {"layer4"}}});
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_DOUBLE_EQ(plan->stages[0].load(), 4);
  EXPECT_DOUBLE_EQ(plan->stages[1].load(), 6);
  ASSERT_EQ(plan->messages.size(), 2u);
  EXPECT_EQ(plan->messages[0].fromStage, 0u);
  EXPECT_EQ(plan->messages[1].fromStage, 1u);
}

// "Tied embeddings on two stages": each stage that reads the table holds it,
// once however many of its layers do.
TEST(Complaints, TiedWeightsAreHeldByEachStageOnce) {
  Setting setting({device("a", 3)});
  Graph graph = chain({1, 1, 1, 1, 1}, {1});
  for (Node &node : graph.nodes)
    node.parameterBytes = 10;
  graph.sharedParameters = {{"table", 100, {0, 1, 4}}};
  llvm::Expected<Plan> plan = check(setting, graph,
                                    {{"a", 1, 1, layers(0, 2)},
                                     {"a", 1, 1, layers(2, 4)},
                                     {"a", 1, 1, layers(4, 5)}});
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->stages[0].parameterBytes, 120);
  EXPECT_EQ(plan->stages[1].parameterBytes, 20);
  EXPECT_EQ(plan->stages[2].parameterBytes, 110);
  // 150 bytes in all on one device, 120 on the fullest of two: a limit of 125
  // leaves two stages, and each holds the table.
  setting.options.memoryLimits = {125};
  Plan found = mustPlan(graph, setting.cluster, setting.options);
  EXPECT_GT(found.stages.size(), 1u);
  EXPECT_GE(found.stages.front().parameterBytes, 110);
  EXPECT_GE(found.stages.back().parameterBytes, 110);
  for (const Stage &stage : found.stages)
    EXPECT_LE(stage.memoryBytes, 125);
}

// Skip connections: layer 0's value goes to two layers of stage 1 and one of
// stage 2. It is sent to each stage once, from where it was made, on the link
// between those two device types: 8 bytes at 4 and at 2 bytes/s.
TEST(Complaints, SkipConnectionsAreChargedOncePerStage) {
  Setting setting({device("a", 1), device("b", 1), device("c", 1)});
  const double bandwidths[3][3] = {{1, 4, 2}, {4, 1, 8}, {2, 8, 1}};
  for (unsigned a = 0; a < 3; ++a)
    for (unsigned b = a; b < 3; ++b) {
      cluster::Link link;
      link.bandwidth = bandwidths[a][b];
      setting.cluster.setLink(a, b, link);
    }
  Graph graph = chain({1, 1, 1, 1, 1}, {1, 1, 1});
  graph.tensors.push_back({"skip", 0, {1, 2, 4, 4}, 8, true});
  llvm::Expected<Plan> plan = check(setting, graph,
                                    {{"a", 1, 1, layers(0, 1)},
                                     {"b", 1, 1, layers(1, 4)},
                                     {"c", 1, 1, layers(4, 5)}});
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  std::vector<std::pair<unsigned, double>> sent;
  for (const Message &message : plan->messages)
    if (graph.tensors[message.tensor].name == "skip") {
      EXPECT_EQ(message.fromStage, 0u);
      sent.emplace_back(message.toStage, message.seconds);
    }
  EXPECT_EQ(sent, (std::vector<std::pair<unsigned, double>>{{1, 2}, {2, 4}}));
  // The neighbours' values: 1 byte at 4 and at 8 bytes/s.
  EXPECT_DOUBLE_EQ(plan->stages[1].receiveSeconds, 2 + 0.25);
  EXPECT_DOUBLE_EQ(plan->stages[2].receiveSeconds, 4 + 0.125);
}

/// Layers of 1 s there, 2 s back, 10 bytes kept for each microbatch in flight.
/// Messages take no time, so that stage i of n has n - i microbatches in
/// flight.
Graph trainingChain(unsigned layers) {
  Graph graph = chain(std::vector<double>(layers, 1), {1});
  for (Node &node : graph.nodes) {
    node.backwardSeconds = {2};
    node.activationBytes = 10;
  }
  for (Tensor &tensor : graph.tensors)
    tensor.bytes = 0;
  return graph;
}

// "The first GPU is far above the rest with equal stages." That is so, and the
// plan says it.
TEST(Complaints, EarlierStagesHoldMoreMicrobatches) {
  Setting setting({device("a", 4)});
  setting.options.training = true;
  llvm::Expected<Plan> plan = check(setting, trainingChain(8),
                                    {{"a", 1, 1, layers(0, 2)},
                                     {"a", 1, 1, layers(2, 4)},
                                     {"a", 1, 1, layers(4, 6)},
                                     {"a", 1, 1, layers(6, 8)}});
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  for (unsigned stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(plan->stages[stage].inFlight, 4 - stage);
    EXPECT_EQ(plan->stages[stage].memoryBytes, (4 - stage) * 20);
  }
}

// "Per-stage memory must enter the planner; only some stages run out." With 60
// bytes stage 0 can hold one layer (4 x 10), stage 1 two (3 x 20), stage 2
// three (2 x 30), stage 3 six. Two layers a stage at most would make 7 of 8, so
// the slowest stage has three, 9 s. Equal stages are refused, by stage.
TEST(Complaints, MemoryOfEachStageDecidesTheCut) {
  Setting setting({device("a", 4, 60)});
  setting.options.training = true;
  setting.options.exactStages = 4;
  Graph graph = trainingChain(8);
  Plan plan = mustPlan(graph, setting.cluster, setting.options);
  ASSERT_EQ(plan.stages.size(), 4u);
  expectAllOnce(plan, graph);
  EXPECT_DOUBLE_EQ(plan.bottleneckSeconds, 9);
  EXPECT_EQ(plan.stages[0].nodes.size(), 1u);
  for (const Stage &stage : plan.stages)
    EXPECT_LE(stage.memoryBytes, 60);
  llvm::Expected<Plan> equal = check(setting, graph,
                                     {{"a", 1, 1, layers(0, 2)},
                                      {"a", 1, 1, layers(2, 4)},
                                      {"a", 1, 1, layers(4, 6)},
                                      {"a", 1, 1, layers(6, 8)}});
  ASSERT_FALSE(bool(equal));
  EXPECT_EQ(llvm::toString(equal.takeError()),
            "stage 0 must fit in the 60 bytes of device type 'a', got: 80 "
            "bytes, 20 too many");
}

} // namespace

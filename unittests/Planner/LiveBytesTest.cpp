// The sweep against a stage that is stepped through, value by value.
#include "RandomGraphs.h"

#include "hethub/Planner/LiveBytes.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hethub::planner;
using hethub::planner::test::Problem;
using hethub::planner::test::Random;

namespace {

/// Before each node, every value is asked whether it is there.
int64_t steppedLiveBytes(const Graph &graph,
                         const std::vector<unsigned> &nodes) {
  auto inStage = [&](unsigned node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  };
  int64_t most = 0;
  for (unsigned node : nodes) {
    int64_t alive = graph.nodes[node].workspaceBytes;
    for (const Tensor &tensor : graph.tensors) {
      bool mine = inStage(tensor.producer), leaves = false, readHere = false,
           readLater = false;
      bool touched = tensor.producer == node;
      for (unsigned consumer : tensor.consumers) {
        touched |= consumer == node;
        leaves |= !inStage(consumer);
        readHere |= inStage(consumer);
        readLater |= inStage(consumer) && consumer > node;
      }
      bool made = mine ? tensor.producer < node : readHere;
      if (!touched && made && (readLater || (mine && leaves)))
        alive += tensor.bytes;
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(LiveBytes, EqualsAStageSteppedThrough) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Problem problem = test::randomProblem(seed, 12);
    Random random(seed);
    unsigned count = problem.graph.nodes.size();
    unsigned begin = random.below(count),
             end = begin + 1 + random.below(count - begin);
    std::vector<unsigned> nodes;
    for (unsigned node = begin; node < end; ++node)
      nodes.push_back(node);
    ASSERT_EQ(liveBytes(problem.graph, nodes),
              steppedLiveBytes(problem.graph, nodes))
        << "seed " << seed;
  }
}

TEST(LiveBytes, ASkipConnectionStaysAliveBesideTheNodesBetween) {
  Graph graph;
  for (const char *name : {"a", "b", "c", "d"}) {
    Node node;
    node.name = name;
    node.forwardSeconds = {1};
    node.workspaceBytes = 20;
    graph.nodes.push_back(node);
  }
  graph.tensors = {{"ab", 0, {1, 3}, 10, true},
                   {"bc", 1, {2}, 10, true},
                   {"cd", 2, {3}, 10, true}};
  // While c reads and writes 10 each, the skip's 10 wait for d.
  EXPECT_EQ(liveBytes(graph, {0, 1, 2, 3}), 30);
  // A value that leaves the stage stays until the end.
  EXPECT_EQ(liveBytes(graph, {0, 1, 2}), 30);
  EXPECT_EQ(liveBytes(graph, {3}), 20);
}

} // namespace

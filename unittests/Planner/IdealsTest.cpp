// Ideals of random graphs against all subsets.
#include "../../lib/Planner/Ideals.h"

#include "RandomGraphs.h"

#include <gtest/gtest.h>
#include <set>

using namespace hethub::planner;
using test::Random;

namespace {

std::vector<Ideals::Edge> randomEdges(Random &random, unsigned nodeCount) {
  std::vector<Ideals::Edge> edges;
  const double density = random.real(0, 0.6);
  for (unsigned target = 0; target < nodeCount; ++target)
    for (unsigned source = 0; source < target; ++source)
      if (random.chance(density))
        for (unsigned copy = 0; copy < 1 + random.below(2); ++copy)
          edges.push_back({source, target});
  return edges;
}

std::set<uint64_t> allIdeals(unsigned nodeCount,
                             llvm::ArrayRef<Ideals::Edge> edges) {
  std::set<uint64_t> sets;
  for (uint64_t set = 0; set < uint64_t(1) << nodeCount; ++set) {
    bool closed = true;
    for (auto [source, target] : edges)
      closed &= !(set >> target & 1) || (set >> source & 1);
    if (closed)
      sets.insert(set);
  }
  return sets;
}

void expectConsistent(const Ideals &ideals, const std::set<uint64_t> &sets,
                      unsigned nodeCount) {
  ASSERT_EQ(ideals.size(), sets.size());
  std::set<uint64_t> seen;
  for (unsigned ideal = 0; ideal < ideals.size(); ++ideal) {
    const uint64_t set = ideals.words(ideal)[0];
    seen.insert(set);
    EXPECT_EQ(ideals.nodeCount(ideal), unsigned(llvm::popcount(set)));
    if (ideal > 0) {
      EXPECT_LE(ideals.nodeCount(ideal - 1), ideals.nodeCount(ideal));
    }
    std::vector<unsigned> nodes;
    for (Ideals::Successor next : ideals.successors(ideal)) {
      nodes.push_back(next.node);
      EXPECT_FALSE(ideals.contains(ideal, next.node));
      EXPECT_EQ(ideals.words(next.ideal)[0], set | uint64_t(1) << next.node);
    }
    std::vector<unsigned> expected;
    for (unsigned node = 0; node < nodeCount; ++node)
      if (!(set >> node & 1) && sets.count(set | uint64_t(1) << node))
        expected.push_back(node);
    EXPECT_EQ(nodes, expected);
    for (unsigned other = 0; other < ideals.size(); ++other)
      EXPECT_EQ(ideals.isSubset(ideal, other),
                (set & ~ideals.words(other)[0]) == 0);
  }
  EXPECT_EQ(seen, sets);
}

TEST(Ideals, AreThePredecessorClosedSets) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const unsigned nodeCount = random.below(9);
    const std::vector<Ideals::Edge> edges = randomEdges(random, nodeCount);
    const std::set<uint64_t> sets = allIdeals(nodeCount, edges);
    std::optional<Ideals> ideals =
        Ideals::enumerate(nodeCount, edges, sets.size());
    ASSERT_TRUE(ideals.has_value());
    expectConsistent(*ideals, sets, nodeCount);
    if (sets.size() > 1) {
      EXPECT_FALSE(Ideals::enumerate(nodeCount, edges, sets.size() - 1));
    }
  }
}

TEST(Ideals, OfGivenSets) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const unsigned nodeCount = 1 + random.below(8);
    std::set<uint64_t> chosen = {0, (uint64_t(1) << nodeCount) - 1};
    std::vector<std::vector<uint64_t>> sets;
    for (uint64_t set : allIdeals(nodeCount, randomEdges(random, nodeCount)))
      if (random.chance(0.5)) {
        chosen.insert(set);
        sets.push_back({set});
        sets.push_back({set});
      }
    expectConsistent(Ideals::of(nodeCount, sets), chosen, nodeCount);
  }
}

// Sets of more than 64 nodes take several words.
TEST(Ideals, OfAWideChain) {
  std::vector<Ideals::Edge> edges;
  for (unsigned node = 1; node < 200; ++node)
    edges.push_back({node - 1, node});
  std::optional<Ideals> ideals = Ideals::enumerate(200, edges, 1000);
  ASSERT_TRUE(ideals.has_value());
  ASSERT_EQ(ideals->size(), 201u);
  EXPECT_TRUE(ideals->isSubset(70, 130));
  EXPECT_FALSE(ideals->isSubset(130, 70));
  std::vector<unsigned> between;
  ideals->forEachBetween(62, 67,
                         [&](unsigned node) { between.push_back(node); });
  EXPECT_EQ(between, (std::vector<unsigned>{62, 63, 64, 65, 66}));
}

} // namespace

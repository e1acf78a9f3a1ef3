// The multiple-choice knapsack against all selections.
#include "../../lib/Planner/Piper/ChoiceKnapsack.h"

#include "../Planner/RandomGraphs.h"

#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace hethub::planner::piper;
using hethub::planner::test::Random;

namespace {

using Verdict = ChoiceKnapsack::Verdict;
using Goal = ChoiceKnapsack::Goal;
using Choices = std::vector<std::pair<double, double>>; ///< (time, memory).

double leastTime(const std::vector<Choices> &groups, double capacity) {
  double best = std::numeric_limits<double>::infinity();
  std::function<void(size_t, double, double)> choose =
      [&](size_t group, double time, double memory) {
        if (group == groups.size()) {
          if (memory <= capacity)
            best = std::min(best, time);
          return;
        }
        for (auto [addedTime, addedMemory] : groups[group])
          choose(group + 1, time + addedTime, memory + addedMemory);
      };
  choose(0, 0, 0);
  return best;
}

TEST(ChoiceKnapsack, EqualsBruteForce) {
  unsigned fitting = 0, tight = 0;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    // Few distinct figures make many ties.
    const unsigned figures = random.chance(0.5) ? 4 : 1000;
    std::vector<Choices> groups(1 + random.below(7));
    ChoiceKnapsack knapsack;
    double most = 0;
    for (Choices &group : groups) {
      group.resize(1 + random.below(4));
      for (auto &[time, memory] : group) {
        time = random.below(figures);
        memory = random.below(figures);
        most += memory;
        knapsack.addChoice(time, memory);
      }
      knapsack.endGroup();
    }
    const double capacity = std::floor(random.real(0, 0.7) * most);
    const double best = leastTime(groups, capacity);
    const double infinity = std::numeric_limits<double>::infinity();
    const Verdict cheapest = knapsack.solve(capacity, infinity, Goal::Cheapest);
    ASSERT_EQ(cheapest, best < infinity ? Verdict::Found : Verdict::None);
    if (best == infinity)
      continue;
    ++fitting;
    EXPECT_EQ(knapsack.time, best);
    double time = 0, memory = 0;
    for (size_t group = 0; group < groups.size(); ++group) {
      time += groups[group][knapsack.picks[group]].first;
      memory += groups[group][knapsack.picks[group]].second;
    }
    EXPECT_EQ(time, best);
    EXPECT_LE(memory, capacity);
    tight += leastTime(groups, infinity) < best;
    EXPECT_EQ(knapsack.solve(capacity, best, Goal::Any), Verdict::Found);
    EXPECT_EQ(knapsack.solve(capacity, best - 1, Goal::Any), Verdict::None);
  }
  EXPECT_GT(fitting, 1000u);
  EXPECT_GT(tight, 500u);
}

} // namespace

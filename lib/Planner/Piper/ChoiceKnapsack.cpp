// The linear relaxation first, by swaps in order of their rate. It gives a
// selection (all swaps whole) and, through the price of memory at its last
// swap, the reduced cost of every choice. Where both leave the question open,
// a dynamic program over the undominated (time, memory) sums decides; reduced
// costs keep it small.
#include "ChoiceKnapsack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace hethub::planner::piper {

/// Undominated sums that are kept at a time, in all groups together.
static constexpr size_t stateLimit = 2000000;

/// Swaps of each group along its lower convex hull, from the fastest choice to
/// the smallest, are taken by rising rate until the memory fits.
void ChoiceKnapsack::relax(double capacity) {
  swaps.clear();
  selection.clear();
  double memory = 0;
  selectionTime = 0;
  for (unsigned group = 0; group < ends.size(); ++group) {
    unsigned at = begin(group);
    for (unsigned next = at + 1; next < ends[group]; ++next)
      if (std::pair(choices[next].time, choices[next].memory) <
          std::pair(choices[at].time, choices[at].memory))
        at = next;
    selection.push_back(at);
    memory += choices[at].memory;
    selectionTime += choices[at].time;
    while (true) {
      Swap best{std::numeric_limits<double>::infinity(), group, at};
      for (unsigned next = begin(group); next < ends[group]; ++next) {
        const double saved = choices[at].memory - choices[next].memory;
        if (saved <= 0)
          continue;
        const double rate = (choices[next].time - choices[at].time) / saved;
        // Of equal rates the longest step, so that no step stands still.
        if (rate < best.rate ||
            (rate == best.rate &&
             choices[next].memory < choices[best.to].memory))
          best = {rate, group, next};
      }
      if (best.to == at)
        break;
      swaps.push_back(best);
      at = best.to;
    }
  }
  multiplier = 0;
  relaxedTime = selectionTime;
  if (memory <= capacity)
    return;
  // Rates rise within a group, so a stable order keeps its steps in sequence.
  std::stable_sort(
      swaps.begin(), swaps.end(),
      [](const Swap &a, const Swap &b) { return a.rate < b.rate; });
  for (const Swap &swap : swaps) {
    const Choice &from = choices[selection[swap.group]];
    const Choice &to = choices[swap.to];
    relaxedTime = selectionTime + swap.rate * (memory - capacity);
    multiplier = swap.rate;
    memory += to.memory - from.memory;
    selectionTime += to.time - from.time;
    selection[swap.group] = swap.to;
    if (memory <= capacity)
      return;
  }
  relaxedTime = std::numeric_limits<double>::infinity();
}

ChoiceKnapsack::Verdict ChoiceKnapsack::solve(double capacity, double limit,
                                              Goal goal) {
  relax(capacity);
  if (relaxedTime > limit || std::isinf(relaxedTime))
    return Verdict::None;
  const bool relaxedFits = selectionTime <= limit;
  if (!relaxedFits || (goal == Goal::Cheapest && relaxedTime < selectionTime)) {
    const Verdict verdict = search(capacity, std::min(limit, selectionTime));
    if (verdict == Verdict::Found || !relaxedFits)
      return verdict;
  }
  time = selectionTime;
  picks.clear();
  for (unsigned group = 0; group < ends.size(); ++group)
    picks.push_back(selection[group] - begin(group));
  return Verdict::Found;
}

// For any price q of memory, with r the reduced cost of a choice,
//   sum(time) = L + sum(r) + q (capacity - sum(memory)),
//   L = sum over groups of min(time + q memory) - q capacity,
// so selections that fit have sum(time) >= L + sum(r): sums with
// L + sum(r) > limit need not be followed.
ChoiceKnapsack::Verdict ChoiceKnapsack::search(double capacity, double limit) {
  struct State {
    double memory, time, reduced;
    unsigned parent, choice;
  };
  const unsigned groups = ends.size();
  std::vector<double> base(groups), leastMemory(groups + 1, 0);
  double bound = -multiplier * capacity;
  for (unsigned group = 0; group < groups; ++group) {
    base[group] = std::numeric_limits<double>::infinity();
    for (unsigned i = begin(group); i < ends[group]; ++i)
      base[group] = std::min(base[group],
                             choices[i].time + multiplier * choices[i].memory);
    bound += base[group];
  }
  // Rounding may lift the bound a little over the limit that it equals.
  const double slack =
      limit - bound + 1e-13 * (std::abs(limit) + multiplier * capacity);

  // Groups that can still choose come last: until then there is one state.
  std::vector<std::vector<unsigned>> open(groups);
  for (unsigned group = 0; group < groups; ++group)
    for (unsigned i = begin(group); i < ends[group]; ++i)
      if (choices[i].time + multiplier * choices[i].memory - base[group] <=
          slack)
        open[group].push_back(i);
  std::vector<unsigned> order(groups);
  for (unsigned group = 0; group < groups; ++group)
    order[group] = group;
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return open[a].size() < open[b].size();
  });
  for (unsigned position = groups; position-- > 0;) {
    double least = std::numeric_limits<double>::infinity();
    for (unsigned i : open[order[position]])
      least = std::min(least, choices[i].memory);
    leastMemory[position] = leastMemory[position + 1] + least;
  }

  std::vector<std::vector<State>> levels(1);
  levels[0] = {{0, 0, 0, 0, 0}};
  size_t kept = 1;
  std::vector<State> candidates;
  for (unsigned position = 0; position < groups; ++position) {
    const unsigned group = order[position];
    candidates.clear();
    for (unsigned parent = 0; parent < levels[position].size(); ++parent) {
      const State &state = levels[position][parent];
      for (unsigned i : open[group]) {
        const double memory = state.memory + choices[i].memory;
        const double reduced =
            state.reduced +
            (choices[i].time + multiplier * choices[i].memory - base[group]);
        if (reduced <= slack && memory + leastMemory[position + 1] <= capacity)
          candidates.push_back(
              {memory, state.time + choices[i].time, reduced, parent, i});
      }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const State &a, const State &b) {
                return std::tie(a.memory, a.time, a.parent, a.choice) <
                       std::tie(b.memory, b.time, b.parent, b.choice);
              });
    std::vector<State> &level = levels.emplace_back();
    for (const State &state : candidates)
      if (level.empty() || state.time < level.back().time)
        level.push_back(state);
    if (level.empty())
      return Verdict::None;
    kept += level.size();
    if (kept > stateLimit)
      return Verdict::Unknown;
  }
  // The last undominated sum has the least time.
  unsigned at = levels[groups].size() - 1;
  time = levels[groups][at].time;
  if (time > limit)
    return Verdict::None;
  picks.assign(groups, 0);
  for (unsigned position = groups; position-- > 0;) {
    const State &state = levels[position + 1][at];
    picks[order[position]] = state.choice - begin(order[position]);
    at = state.parent;
  }
  return Verdict::Found;
}

} // namespace hethub::planner::piper

// One choice from each of several groups, with the least sum of times whose sum
// of memory fits: the multiple-choice knapsack problem. Here the groups are the
// layers of a stage, and the choices say whether a layer is computed again.
#ifndef HETHUB_LIB_PLANNER_PIPER_CHOICEKNAPSACK_H
#define HETHUB_LIB_PLANNER_PIPER_CHOICEKNAPSACK_H

#include <cstddef>
#include <utility>
#include <vector>

namespace hethub::planner::piper {

class ChoiceKnapsack {
public:
  enum class Verdict {
    Found,  ///< `time` and `picks` hold a selection within the limit.
    None,   ///< No selection is within the limit.
    Unknown ///< Given up for want of memory: neither found nor excluded.
  };
  enum class Goal {
    Any,     ///< Any selection within the limit. No picks.
    Cheapest ///< The cheapest one.
  };

  void clear() { choices.clear(), ends.clear(); }
  void addChoice(double time, double memory) {
    choices.push_back({time, memory});
  }
  /// Ends a group of at least one choice.
  void endGroup() { ends.push_back(choices.size()); }

  /// Looks for a selection with memory <= capacity and time <= limit.
  Verdict solve(double capacity, double limit, Goal goal);

  double time = 0;             ///< Of the selection found.
  std::vector<unsigned> picks; ///< Index of the choice in each group.

private:
  struct Choice {
    double time, memory;
  };
  /// A step of one group to a choice of less memory and more time.
  struct Swap {
    double rate; ///< Time for each unit of memory saved.
    unsigned group, to;
  };

  void relax(double capacity);
  Verdict search(double capacity, double limit);
  unsigned begin(unsigned group) const { return group ? ends[group - 1] : 0; }

  std::vector<Choice> choices;
  std::vector<unsigned> ends;
  std::vector<Swap> swaps;
  std::vector<unsigned> selection; ///< Indices into `choices`.
  double multiplier = 0; ///< Price of memory where the relaxation is tight.
  double relaxedTime = 0, selectionTime = 0;
};

} // namespace hethub::planner::piper

#endif

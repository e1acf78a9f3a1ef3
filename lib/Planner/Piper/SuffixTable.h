// Decides, for a bound on the load, whether a plan exists: a dynamic program
// over ideals from the last stage backwards.
//
// What the stages behind a cut mean for those in front of it is two numbers:
// the sum of their data degrees, which sets the microbatches in flight, and the
// devices they use. Less of either is never worse. So each ideal (the layers in
// front of the cut) keeps the undominated pairs, and from a pair, for a given
// stage and tensor degree, only the smallest data degree that meets the bound
// matters. Nothing is lost: the answer is exact.
#ifndef HETHUB_LIB_PLANNER_PIPER_SUFFIXTABLE_H
#define HETHUB_LIB_PLANNER_PIPER_SUFFIXTABLE_H

#include "VariantCosts.h"

#include <chrono>

namespace hethub::planner::piper {

class SuffixTable {
public:
  using Clock = std::chrono::steady_clock;
  using Deadline = std::optional<Clock::time_point>; ///< Empty: none.
  using Verdict = ChoiceKnapsack::Verdict;

  static Deadline after(double seconds);

  SuffixTable(const Problem &problem, const Ideals &ideals);

  /// Whether some plan has all loads <= `bound` (infinity: fits in memory).
  /// Unknown: the time was up, or a choice of variants was too hard.
  Verdict fill(double bound, Deadline deadline);

  /// The plan found, each stage with its least load.
  std::vector<Stage> plan();

private:
  /// A way to place all layers outside of an ideal.
  struct Entry {
    unsigned dataDegrees; ///< Sum over the stages.
    unsigned devices;
    unsigned outer, outerEntry;       ///< Where the first stage of them ends.
    unsigned degreeIndex, dataDegree; ///< Of that stage.
  };
  using Front = std::vector<Entry>; ///< More data degrees, fewer devices.

  /// An ideal with entries, and what is least among them.
  struct Reached {
    unsigned ideal;
    double seconds; ///< Of TotalSums.
    unsigned leastDataDegrees, leastDevices;
  };

  bool promising(unsigned inner, const Reached &outer) const;
  void extend(unsigned inner, unsigned outer, unsigned degreeIndex);
  unsigned devicesNeeded(unsigned ideal, unsigned dataDegreesBehind) const;
  static bool dominated(const Front &front, unsigned dataDegrees,
                        unsigned devices);
  static void insert(Front &front, const Entry &entry);

  const Problem &problem;
  const Ideals &ideals;
  VariantCosts costs;
  std::vector<unsigned> dataDegrees; ///< Divisors of the microbatches.
  unsigned deviceLimit = 0;

  /// Sums over the layers of an ideal, of the least that each can do with:
  /// for one tensor degree,
  struct DegreeSums {
    double seconds = 0, activation = 0, fixed = 0;
    unsigned missing = 0; ///< Layers that cannot run with this degree.
  };
  std::vector<std::vector<DegreeSums>> degreeSums;
  /// and for all devices of a stage together, over the degrees.
  struct TotalSums {
    double seconds = 0, activation = 0, fixed = 0;
  };
  std::vector<TotalSums> totalSums;

  double bound = 0;
  std::vector<Front> fronts;
  std::vector<Reached> reached; ///< In the order of falling size.
  bool undecided = false;       ///< A stage could not be decided.
};

} // namespace hethub::planner::piper

#endif

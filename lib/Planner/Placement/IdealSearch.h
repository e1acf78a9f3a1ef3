// The dynamic program over ideals: best contiguous placement within a family.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_IDEALSEARCH_H
#define HETHUB_LIB_PLANNER_PLACEMENT_IDEALSEARCH_H

#include "Multipliers.h"
#include "UnitIdeals.h"

#include <chrono>

namespace hethub::planner {

using Deadline = std::chrono::steady_clock::time_point;

/// Stages in their order; the units of a stage share one device.
struct StageList {
  struct Stage {
    unsigned deviceClass = 0;
    std::vector<unsigned> units;
  };
  double load = std::numeric_limits<double>::infinity(); ///< The largest.
  std::vector<Stage> stages;

  bool found() const { return !stages.empty(); }
};

struct SearchEnd {
  StageList best;         ///< Empty: none below the bound.
  bool completed = false; ///< false: the deadline ended it; no proof.
};

/// The least largest load below `bound` of placements whose prefixes are ideals
/// among these. With all ideals: of all contiguous placements.
SearchEnd searchIdeals(const Units &units, const Ideals &ideals,
                       llvm::ArrayRef<Multipliers> multipliers, double bound,
                       Deadline deadline);

/// Values that the program keeps for an ideal: one for each number of devices
/// used of each class.
size_t stateCount(const Units &units);

} // namespace hethub::planner

#endif

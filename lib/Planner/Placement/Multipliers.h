// Prices of device time and memory: what all the lower bounds rest on.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_MULTIPLIERS_H
#define HETHUB_LIB_PLANNER_PLACEMENT_MULTIPLIERS_H

#include "../Units.h"

namespace hethub::planner {

/// A price >= 0 for a second and for a byte on a device of each class. A unit
/// costs at least its cheapest class; the devices left have a limited budget
/// under a bound on the load. Every choice of prices gives a valid bound.
struct Multipliers {
  std::vector<double> time, memory; ///< Per class. Memory: 0 where unlimited.

  /// Least price of a unit; infinity when no device can run it.
  double price(const Units &units, unsigned unit) const;
  /// What one device of the class can take in when no load exceeds `bound`.
  double budget(const ClassRule &rule, unsigned t, double bound) const {
    double seconds = time[t] > 0 ? time[t] * (bound - rule.offset) : 0;
    return seconds + (memory[t] > 0 ? memory[t] * rule.memoryBytes : 0);
  }
};

/// A few good choices, best bound first. Empty when some unit has no device.
std::vector<Multipliers> findMultipliers(const Units &units);

/// The largest load of every placement is at least this (docs/Rationale:
/// prices, and the unit that is heaviest on its fastest class). Infinity: some
/// unit has no device.
double loadBound(const Units &units, llvm::ArrayRef<Multipliers> choices);

} // namespace hethub::planner

#endif

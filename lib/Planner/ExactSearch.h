// Best-first search over plans from the first stage on, with the slice table as
// its estimate of the rest.
#ifndef HETHUB_LIB_PLANNER_EXACTSEARCH_H
#define HETHUB_LIB_PLANNER_EXACTSEARCH_H

#include "SliceTable.h"

namespace hethub::planner {

/// The objective of whole plans, and the best one so far.
class Incumbent {
public:
  Incumbent(const SliceCosts &costs, const SliceTable &table,
            const cluster::Cluster &cluster)
      : costs(costs), table(table), cluster(cluster) {}

  /// Costs the plan exactly; keeps it if it fits in memory and is better.
  /// Returns whether it fits.
  bool consider(const Slices &slices);

  double objective =
      std::numeric_limits<double>::infinity(); ///< step time and penalties of
                                               ///< cuts
  Slices slices;

  /// Values at or above this are no improvement.
  double threshold() const { return objective * (1 - 2e-12); }

private:
  const SliceCosts &costs;
  const SliceTable &table;
  const cluster::Cluster &cluster;
};

/// A plan of the slices, not yet costed.
Plan makePlan(const SliceCosts &costs, const Slices &slices);

/// Searches all plans whose steady seconds are at least `low` and at most the
/// bound of the table. Types of all earlier stages are known here, so messages
/// that pass over stages are charged exactly; the table's values, which are
/// lower bounds, direct the search and end it. Returns a lower bound on the
/// objective of every plan in the interval that is not worse than the
/// incumbent.
double searchExactly(const SliceCosts &costs, const DeviceSets &sets,
                     const SliceTable &table, double low, unsigned exactStages,
                     uint64_t &workLimit, Incumbent &incumbent);

} // namespace hethub::planner

#endif

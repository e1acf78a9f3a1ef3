// Ideals of units: a contiguous placement is a chain of them, each device
// holding the difference of two neighbours.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_UNITIDEALS_H
#define HETHUB_LIB_PLANNER_PLACEMENT_UNITIDEALS_H

#include "../Ideals.h"
#include "../Units.h"

namespace hethub::planner {

/// None when there are more than `limit`.
std::optional<Ideals> allIdeals(const Units &units, size_t limit);

/// The prefixes of topological orders.
Ideals prefixes(const Units &units,
                llvm::ArrayRef<std::vector<unsigned>> orders);

/// Of each ideal: the sum of `amounts` over its units.
std::vector<double> sums(const Ideals &ideals, llvm::ArrayRef<double> amounts);

/// Of each ideal: the joins with ends inside and outside.
std::vector<double> cutSeconds(const Units &units, const Ideals &ideals);

} // namespace hethub::planner

#endif

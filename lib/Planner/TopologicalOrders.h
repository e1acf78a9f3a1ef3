// Topological orders whose slices make good stages.
#ifndef HETHUB_LIB_PLANNER_TOPOLOGICALORDERS_H
#define HETHUB_LIB_PLANNER_TOPOLOGICALORDERS_H

#include "Units.h"

namespace hethub::planner {

/// Order number `index` of a sequence without end: depth first, breadth first
/// and by the smallest cut in turn, from the second round on with random ties.
/// The same arguments give the same order.
std::vector<unsigned> topologicalOrder(const Units &units, unsigned index,
                                       unsigned seed);

/// An order that follows `rank` of a unit as far as the arcs allow, with random
/// noise of up to `blur`.
std::vector<unsigned> rankedOrder(const Units &units,
                                  llvm::ArrayRef<double> rank, double blur,
                                  unsigned seed);

} // namespace hethub::planner

#endif

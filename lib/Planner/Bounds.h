// Lower bounds that hold for every plan of a graph.
#ifndef HETHUB_LIB_PLANNER_BOUNDS_H
#define HETHUB_LIB_PLANNER_BOUNDS_H

#include "SliceCosts.h"

namespace hethub::planner {

/// No plan is steady for less, neither by its busiest stage nor by any other.
double steadyBound(const SliceCosts &costs);
/// No plan has a smaller step time.
double stepBound(const SliceCosts &costs);

} // namespace hethub::planner

#endif

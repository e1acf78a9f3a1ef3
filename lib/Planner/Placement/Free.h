// The free throughput problem: how the searches are put together.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_FREE_H
#define HETHUB_LIB_PLANNER_PLACEMENT_FREE_H

#include "IdealSearch.h"

namespace hethub::planner {

/// Never worse than `contiguous`, which may be the answer that there is none.
Placement placeFreely(const PlacementProblem &problem,
                      const Placement &contiguous,
                      const PlacementOptions &options, Deadline deadline);

} // namespace hethub::planner

#endif

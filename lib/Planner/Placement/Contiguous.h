// The contiguous throughput problem: how the searches are put together.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_CONTIGUOUS_H
#define HETHUB_LIB_PLANNER_PLACEMENT_CONTIGUOUS_H

#include "IdealSearch.h"

namespace hethub::planner {

/// The best contiguous placement of `problem`, which is valid, with its bound
/// and what is missing where none exists.
Placement placeContiguous(const PlacementProblem &problem,
                          const PlacementOptions &options, Deadline deadline);

/// Objective and devices of a node assignment, from the problem itself.
void setDevices(const PlacementProblem &problem, std::vector<Device> devices,
                Placement &placement);

} // namespace hethub::planner

#endif

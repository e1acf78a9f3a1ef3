// findPlan for those that try many clusters.
#ifndef HETHUB_LIB_PLANNER_FINDPLAN_H
#define HETHUB_LIB_PLANNER_FINDPLAN_H

#include "hethub/Planner/Planner.h"

namespace hethub::planner {

/// `thorough`: run the schedule tables of the best plans and, where none fits,
/// look for what is missing. Both take longer than to find a plan.
llvm::Expected<Plan> findPlan(const Graph &graph,
                              const cluster::Cluster &cluster,
                              const Options &options, bool thorough);

} // namespace hethub::planner

#endif

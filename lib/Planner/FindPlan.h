// findPlan for those that try many clusters.
#ifndef HETHUB_LIB_PLANNER_FINDPLAN_H
#define HETHUB_LIB_PLANNER_FINDPLAN_H

#include "hethub/Planner/Planner.h"

namespace hethub::planner {

/// `explain`: where no plan fits, look for what is missing, which takes longer
/// than to find that out.
llvm::Expected<Plan> findPlan(const Graph &graph,
                              const cluster::Cluster &cluster,
                              const Options &options, bool explain);

} // namespace hethub::planner

#endif

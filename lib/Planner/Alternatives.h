// Plans of changed problems: what another plan would cost.
#ifndef HETHUB_LIB_PLANNER_ALTERNATIVES_H
#define HETHUB_LIB_PLANNER_ALTERNATIVES_H

#include "hethub/Planner/Explain.h"

namespace hethub::planner {

/// The best plan under each of the changes that docs/Planner.md lists, by step
/// time.
std::vector<Alternative> alternativesTo(const Graph &graph,
                                        const cluster::Cluster &cluster,
                                        const Options &options,
                                        const Plan &plan);

/// The best plan with one more device of each type.
std::vector<OneMore> oneMoreOfEach(const Graph &graph,
                                   const cluster::Cluster &cluster,
                                   const Options &options, const Plan &plan);

} // namespace hethub::planner

#endif

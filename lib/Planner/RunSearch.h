// Plans for clusters that are too large for the exact search: each device type
// has one run of neighbouring stages, in any order of types.
//
// docs/Rationale/Planner.md states the space and what is not looked at in it.
#ifndef HETHUB_LIB_PLANNER_RUNSEARCH_H
#define HETHUB_LIB_PLANNER_RUNSEARCH_H

#include "SliceCosts.h"

namespace hethub::planner {

/// For bounds on the steady seconds of all stages, from the least with which
/// the devices cover the graph upwards, the plans that cover it; then better
/// cuts between the stages of the best ones. At most `wanted` plans that fit in
/// memory, best step time first; empty: none was found. Ends after `workLimit`
/// steps of about 20 ns, `complete` says whether before. Adds them to `steps`.
std::vector<Slices> searchRuns(const SliceCosts &costs, unsigned wanted,
                               uint64_t workLimit, bool &complete,
                               uint64_t &steps);

} // namespace hethub::planner

#endif

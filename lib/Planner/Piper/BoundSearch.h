// The best plan whose cuts are among given ideals: a search over the bound on
// the load, each bound decided by the SuffixTable.
#ifndef HETHUB_LIB_PLANNER_PIPER_BOUNDSEARCH_H
#define HETHUB_LIB_PLANNER_PIPER_BOUNDSEARCH_H

#include "SuffixTable.h"

namespace hethub::planner::piper {

/// Replaces the stages and seconds of `plan` by better ones as long as there
/// are any. Bounds below `floor` are not tried.
/// Returns the largest bound that no plan with these cuts is below: the plan's
/// own seconds when it is optimal among them.
double searchBound(const Problem &problem, const Ideals &ideals, double floor,
                   SuffixTable::Deadline deadline, Plan &plan);

} // namespace hethub::planner::piper

#endif

// A lower bound on the largest load that holds for every plan.
#ifndef HETHUB_LIB_PLANNER_PIPER_LOWERBOUND_H
#define HETHUB_LIB_PLANNER_PIPER_LOWERBOUND_H

#include "hethub/Planner/Piper.h"

namespace hethub::planner::piper {

/// Infinity: there is no plan.
double lowerBound(const Problem &problem);

} // namespace hethub::planner::piper

#endif

// What is missing where no plan fits.
#ifndef HETHUB_LIB_PLANNER_EXPLAINMEMORY_H
#define HETHUB_LIB_PLANNER_EXPLAINMEMORY_H

#include "SliceCosts.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace hethub::planner {

/// A plan that fits, the first that is found; no stages: there is none, or
/// `complete` is cleared. Adds its work to `steps`.
using AnyPlan = llvm::function_ref<Slices(const SliceCosts &costs,
                                          uint64_t &steps, bool &complete)>;

/// Why nothing fits: the plan that needs the least addition to each device's
/// memory, and what its worst stage lacks; or why there is no plan with any
/// memory.
llvm::Error explainMemory(const Graph &graph, const cluster::Cluster &cluster,
                          const Options &options, AnyPlan anyPlan);

/// The search ended before it found one.
llvm::Error failToFind();

} // namespace hethub::planner

#endif

// The best cuts for stages whose devices are given.
#ifndef HETHUB_LIB_PLANNER_CUTSEARCH_H
#define HETHUB_LIB_PLANNER_CUTSEARCH_H

#include "SliceCosts.h"

#include <optional>

namespace hethub::planner {

/// The same stages with other cuts where that makes the step shorter. Exact for
/// values that go to the next stage, as to microbatches in flight those of
/// `slices` are assumed. Adds its work to `steps`.
std::optional<Slices> improveCuts(const SliceCosts &costs, const Slices &slices,
                                  uint64_t &steps);

/// Cuts for given stages that make none of them busy for much longer than it
/// has to be: with the least bound on all of them, and with a few looser ones,
/// for which messages may be shorter. `onReplica`: microbatches in flight on
/// each.
std::vector<Slices> balancedCuts(const SliceCosts &costs,
                                 llvm::ArrayRef<Choice> choices,
                                 llvm::ArrayRef<unsigned> onReplica,
                                 uint64_t &steps);

} // namespace hethub::planner

#endif

// What a stage's values take while it computes one microbatch.
#ifndef HETHUB_PLANNER_LIVEBYTES_H
#define HETHUB_PLANNER_LIVEBYTES_H

#include "hethub/Planner/Graph.h"

namespace hethub::planner {

/// Most bytes of values that are alive at once in a forward pass through
/// `nodes` (ascending), which runs them in this order and frees each value
/// after its last reader: values received from other nodes from the begin,
/// values that other nodes read until the end.
int64_t liveBytes(const Graph &graph, llvm::ArrayRef<unsigned> nodes);

} // namespace hethub::planner

#endif

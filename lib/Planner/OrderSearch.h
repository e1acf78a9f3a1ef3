// Better plans in other topological orders than the one that is given.
#ifndef HETHUB_LIB_PLANNER_ORDERSEARCH_H
#define HETHUB_LIB_PLANNER_ORDERSEARCH_H

#include "SliceCosts.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace hethub::planner {

/// The best plan of one order. `known`: a plan that is valid there; empty where
/// there is none. Adds its work to `steps`. No stages: none was found.
using PlanOrder = llvm::function_ref<Slices(
    const SliceCosts &costs, const Slices &known, uint64_t &steps)>;

/// Draws orders around the best plan so far and plans each, until several in a
/// row gave nothing or `workLimit` steps of about 20 ns are done. The plan has
/// its nodes as `graph` numbers them, and costs; nullopt: none was found that
/// is faster than `given` by a thousandth, which is what leaving the given
/// order has to be worth. Always the same for the same arguments.
std::optional<Plan> searchOrders(const Graph &graph,
                                 const cluster::Cluster &cluster,
                                 const Options &options, const Plan &given,
                                 uint64_t workLimit, PlanOrder planOrder);

} // namespace hethub::planner

#endif

// Finds the best cut of a graph into contiguous stages for device types that do
// not match.
#ifndef HETHUB_PLANNER_PLANNER_H
#define HETHUB_PLANNER_PLANNER_H

#include "hethub/Planner/Plan.h"

namespace hethub::planner {

/// The best plan among all that cut the nodes' order into contiguous stages (or
/// a better one of another order, see `Options::anyOrder`),
/// each on one device of any type of which there is one left, with every stage
/// within its device's memory. Errors: a malformed graph; no plan fits (names
/// the stage, the device type and the bytes that the best attempt lacks); fewer
/// nodes than `exactStages`.
llvm::Expected<Plan> findPlan(const Graph &graph,
                              const cluster::Cluster &cluster,
                              const Options &options);

/// Seconds that no plan of any order, number of stages or assignment can beat.
/// docs/Planner.md has the proofs.
double lowerBoundSeconds(const Graph &graph, const cluster::Cluster &cluster,
                         const Options &options);

/// Microbatches/s that the cluster would reach if each device type alone
/// reached, per device, what its best plan does: sum over types of count x
/// (throughput per device of the best plan on that type alone). A type that
/// cannot hold the model adds nothing.
llvm::Expected<double> upperBoundThroughput(const Graph &graph,
                                            const cluster::Cluster &cluster,
                                            const Options &options);

} // namespace hethub::planner

#endif

// Plans whose devices have several stages each, which lie apart in the model:
// stage k is on the device of stage k mod p.
#ifndef HETHUB_LIB_PLANNER_INTERLEAVE_H
#define HETHUB_LIB_PLANNER_INTERLEAVE_H

#include "hethub/Planner/Plan.h"

#include <vector>

namespace hethub::planner {

/// The stages of each rank, in order. Ranks of plans that are interleaved have
/// one replica of each.
std::vector<std::vector<unsigned>> stagesOfRanks(const Plan &plan);

/// What a rank's device needs for all its stages: the workspace is that of the
/// one which computes.
int64_t memoryOfRank(const Plan &plan, const std::vector<unsigned> &stages);

/// The closed form of an interleaved plan's step, by the rank for which it is
/// longest: until its first stage is reached and from there back, its own work
/// for all microbatches, and what it does once.
struct InterleavedStep {
  unsigned rank = 0;
  double fillSeconds = 0, messageSeconds = 0, steadySeconds = 0,
         onceSeconds = 0;

  double seconds() const {
    return fillSeconds + messageSeconds + steadySeconds + onceSeconds;
  }
};
InterleavedStep interleavedStep(const Plan &plan);

/// Fills what is different where ranks have several stages: step time,
/// bottleneck, microbatches in flight, by the plan's table, and memory.
void costInterleaved(const Graph &graph, const cluster::Cluster &cluster,
                     const Options &options, Plan &plan);

/// No plan without replicas has a smaller closed form, however many stages a
/// device has.
double interleavedBound(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options);

/// `findPlan` with `options.stagesPerDevice` above 1.
llvm::Expected<Plan> findInterleaved(const Graph &graph,
                                     const cluster::Cluster &cluster,
                                     const Options &options, bool thorough);

} // namespace hethub::planner

#endif

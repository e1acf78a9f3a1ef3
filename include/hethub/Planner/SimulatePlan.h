// A plan's schedule table, run in simulated time.
#ifndef HETHUB_PLANNER_SIMULATEPLAN_H
#define HETHUB_PLANNER_SIMULATEPLAN_H

#include "hethub/Planner/Plan.h"
#include "hethub/Simulator/Simulator.h"

namespace hethub::planner {

/// The pipeline of a costed plan (`costPlan`). Values that go from one stage to
/// the same other one travel as one message when `mergeMessages`: they are
/// needed together, so the table is shorter and the step no longer (a link's
/// latency may come once instead of several times behind each other's
/// transfer).
simulator::Pipeline pipelineOf(const Graph &graph,
                               const cluster::Cluster &cluster,
                               const Plan &plan, bool mergeMessages = false);

/// Its table: one forward, one backward in training.
simulator::Schedule scheduleOf(const Plan &plan,
                               const simulator::Pipeline &pipeline);

/// Step time and stages of a costed plan by its schedule table. No events: for
/// a trace `simulate` the two above.
simulator::Result simulatePlan(const Graph &graph,
                               const cluster::Cluster &cluster,
                               const Plan &plan);

/// Sets all seconds of a channel between two device types from its bytes: the
/// sender's and the receiver's own work, the link, copies. An emulated link
/// delays each message by itself.
void setChannelTimes(const cluster::Cluster &cluster, unsigned from,
                     unsigned to, simulator::Channel &channel);

} // namespace hethub::planner

#endif

// The figures of one node or one stage on one device type, from which searches
// and plans are costed alike.
#ifndef HETHUB_LIB_PLANNER_STAGECOSTS_H
#define HETHUB_LIB_PLANNER_STAGECOSTS_H

#include "hethub/Planner/Plan.h"

namespace hethub::planner {

int64_t memoryLimitOf(const cluster::Cluster &cluster, const Options &options,
                      unsigned type); ///< 0: none

/// `width` devices of a node compute a node together.
struct NodeCosts {
  double forwardSeconds = 0;
  double backwardSeconds = 0; ///< 0 in inference
  double weightSeconds = 0;   ///< of these, gradients of parameters
  int64_t parameterBytes = 0; ///< of one of the devices, as the next three
  int64_t frozenBytes = 0;    ///< of these, not trained
  int64_t activationBytes = 0;
  int64_t workspaceBytes = 0;
};
NodeCosts costNode(const Node &node, const cluster::Cluster &cluster,
                   const Options &options, unsigned type, unsigned width);

/// What one of `width` devices holds of it.
int64_t sharedBytes(const Graph &graph, const SharedParameter &parameter,
                    unsigned width);

/// Devices of one node, which may work on one operation together.
unsigned devicesOfNode(const cluster::DeviceType &type);

/// A link as an all-reduce sees it: each byte also passes through host memory
/// at both ends where messages do.
struct SumLink {
  double latencySeconds;
  double bandwidth;
  double seconds(unsigned participants, double bytes) const;
};
/// Between the replicas of a stage, which sum their gradients once a step.
SumLink linkOfReplicas(const cluster::Cluster &cluster, unsigned type);
/// Once a step: reads and writes weights, gradients and moments. 0 where
/// neither profile nor memory bandwidth of the type are known.
double optimizerSeconds(const cluster::Cluster &cluster, const Options &options,
                        unsigned type, int64_t trainedBytes);
/// Bytes that a device holds for parameters.
int64_t parameterMemory(const Options &options, double parameterBytes,
                        double trainedBytes);
/// Whether weight seconds are put off by the schedule.
bool putsOffWeights(const Options &options);

} // namespace hethub::planner

#endif

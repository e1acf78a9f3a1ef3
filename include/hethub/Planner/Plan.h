// A plan: which nodes run in which stage on which device type, and what that
// costs.
#ifndef HETHUB_PLANNER_PLAN_H
#define HETHUB_PLANNER_PLAN_H

#include "hethub/Cluster/Cluster.h"
#include "hethub/Planner/Graph.h"
#include "hethub/Simulator/Schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hethub::planner {

struct Options {
  unsigned microbatches = 1;   ///< Of one step.
  unsigned microbatchSize = 0; ///< Samples of one, for what is printed; 0: not
                               ///< known.
  bool training = false; ///< Backward times, gradients, optimizer state and
                         ///< kept activations count.
  /// Order of a training step: what is in flight, and what is put off.
  simulator::ScheduleKind schedule =
      simulator::ScheduleKind::OneForwardOneBackward;
  unsigned maxStages = 0;   ///< 0: as many as there are devices.
  unsigned exactStages = 0; ///< 0: as many as are best.
  /// Training: stages that each device has, without replicas. They lie apart in
  /// the model: stage k is on the device of stage k mod p.
  unsigned stagesPerDevice = 1;
  bool replicas = true; ///< Stages may have several replicas; false: one each.
  bool tensorParallel = false; ///< Several devices of a node may share each
                               ///< operation of a stage: for studies, such
                               ///< plans do not run yet.
  bool recompute = false; ///< Training: stages may keep their inputs alone and
                          ///< compute the forward pass again.
  /// Stages may be slices of other topological orders than the graph's, where
  /// that is faster.
  bool anyOrder = true;
  std::vector<int64_t> memoryLimits; ///< Bytes per device type; empty or 0: the
                                     ///< cluster's figure (0 there: no limit).
  /// Training memory of one byte of parameters: the weight, its gradient and
  /// two moments (Adam). SGD: 2, with momentum 3.
  double parameterMemoryFactor = 4;
  /// Bytes that the optimizer step moves for one byte of parameters: Adam reads
  /// weight, gradient and two moments and writes all but the gradient.
  double optimizerTrafficFactor = 7;
  /// Work limit of the exact search in states of its table; beyond it fewer
  /// stages are considered, and the plan says so.
  uint64_t stateLimit = 40'000'000;
  /// Limit of the whole search in steps (about 20 ns each). Beyond it the best
  /// plan so far is returned, with what is proven of it.
  uint64_t workLimit = 100'000'000;
};

/// A value that one stage receives. Charged once for each stage that uses it,
/// on the link from the producer's device type.
struct Message {
  unsigned tensor = 0; ///< Index into Graph::tensors.
  unsigned fromStage = 0;
  unsigned toStage = 0;
  int64_t bytes = 0;
  double seconds = 0;
  bool cloned = false; ///< Cheaper to compute again: not sent, `seconds` is the
                       ///< time of doing so.
};

struct Stage {
  std::vector<unsigned> nodes; ///< Indices into Graph::nodes, ascending.
  unsigned deviceType = 0;
  unsigned replicas = 1;
  unsigned tensorParallel = 1; ///< Devices that share each operation.
  /// Rank of its first replica where ranks have several stages; -1: they have
  /// one each, in order.
  int firstRank = -1;
  bool recompute = false; ///< Keeps its inputs alone; the backward pass begins
                          ///< with the forward pass.

  // Predicted, of one microbatch on one replica.
  double forwardSeconds = 0;
  double backwardSeconds = 0; ///< With the forward pass where `recompute`.
  double weightSeconds = 0;   ///< Of these, gradients of parameters.
  double lateSeconds = 0; ///< Of these, what the schedule puts off, so that no
                          ///< other stage waits for it.
  double receiveSeconds = 0; ///< All messages into this stage.
  int64_t receiveBytes = 0;
  /// Most microbatches between their forward and their backward, of all
  /// replicas together: what the schedule runs ahead. Inference: `replicas`.
  unsigned inFlight = 1;
  int64_t parameterBytes = 0;  ///< Of one device.
  int64_t trainedBytes = 0;    ///< Of these, what has gradients.
  int64_t activationBytes = 0; ///< Kept for each microbatch in flight.
  int64_t workspaceBytes = 0;
  int64_t memoryBytes = 0; ///< What one device needs.
  int64_t memoryLimit = 0; ///< 0: none.

  // Predicted, once a step (training).
  double allReduceSeconds = 0; ///< Replicas sum their gradients.
  double optimizerSeconds = 0;

  /// Seconds for each microbatch of the step: replicas take turns.
  double load() const { return (forwardSeconds + backwardSeconds) / replicas; }
  unsigned devices() const { return replicas * tensorParallel; }
  /// Microbatches whose activations one replica keeps at once.
  unsigned inFlightOnReplica() const {
    return (inFlight + replicas - 1) / replicas;
  }
  /// What the first microbatch takes on its way forth and back.
  double fillSeconds() const {
    return forwardSeconds + backwardSeconds - lateSeconds;
  }
  /// Seconds that its first replica, which has ceil(m / r) microbatches, is
  /// busy beside that.
  double steadySeconds(unsigned microbatches) const {
    return ((microbatches + replicas - 1) / replicas - 1.0) *
               (forwardSeconds + backwardSeconds) +
           lateSeconds + allReduceSeconds + optimizerSeconds;
  }
};

struct Plan {
  std::vector<Stage> stages;
  std::vector<Message> messages; ///< By receiving stage, then by tensor.
  unsigned microbatches = 1;
  unsigned microbatchSize = 0; ///< Samples; 0: not known.
  bool training = false;
  simulator::ScheduleKind schedule =
      simulator::ScheduleKind::OneForwardOneBackward;
  double bottleneckSeconds = 0; ///< Largest load of a stage.
  double stepSeconds = 0;       ///< Closed form of docs/Planner.md.
  double simulatedSeconds = 0;  ///< By its schedule table; 0: the table is too
                                ///< long to be run here.
  double lowerBoundSeconds =
      0; ///< No plan whatever of this graph on this cluster is faster.
  /// No plan that cuts the graph's order into contiguous stages is faster.
  /// Equal to stepSeconds where the search is complete.
  double orderBoundSeconds = 0;
  /// Microbatches/s that the mix would reach if no type lost anything to
  /// another (`upperBoundThroughput`); 0: not computed.
  double upperBoundThroughput = 0;
  std::vector<std::string>
      notes; ///< What a user should know: limits that cut the search short.

  /// Whether ranks have several stages; then all stages have their rank.
  bool isInterleaved() const {
    return !stages.empty() && stages.front().firstRank >= 0;
  }
  /// Whether both stages are on one rank, so that nothing travels.
  bool isLocal(unsigned from, unsigned to) const {
    return stages[from].firstRank >= 0 &&
           stages[from].firstRank == stages[to].firstRank;
  }
  double gap() const {
    return stepSeconds > 0 ? 1 - lowerBoundSeconds / stepSeconds : 0;
  }
  bool optimalForOrder() const {
    return orderBoundSeconds >= stepSeconds * (1 - 1e-9);
  }
};

/// Fills the predicted figures of stages, messages, bottleneck and step time
/// from the stages' nodes, types and replicas. Expects each node in exactly one
/// stage and no edge that goes backwards. Memory limits are noted, not
/// enforced.
void costPlan(const Graph &graph, const cluster::Cluster &cluster,
              const Options &options, Plan &plan);

/// A stage as a user writes it.
struct StageRequest {
  std::string deviceType;
  unsigned replicas = 1;
  unsigned tensorParallel = 1;
  std::vector<std::string> nodes; ///< Names.
  bool recompute = false;
  /// In place of `nodes`: scope or name of the operation that the stage begins
  /// with; it lasts until the next one begins. The first stage begins with the
  /// model.
  std::optional<std::string> first;
  /// Rank of its device, where ranks have several stages: then all stages say
  /// it.
  std::optional<unsigned> firstRank;
};

/// Checks a user's stage map and costs it. All that is wrong is reported, one
/// error a fact (`llvm::joinErrors`): unknown, lost, repeated or backward
/// nodes, unknown types, empty stages, more devices than there are, ranks that
/// cannot have their stages, too little memory.
llvm::Expected<Plan> checkPlan(const Graph &graph,
                               const cluster::Cluster &cluster,
                               llvm::ArrayRef<StageRequest> stages,
                               const Options &options);

} // namespace hethub::planner

#endif

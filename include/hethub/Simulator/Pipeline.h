// What is scheduled: stages with their times and memory, and the channels
// between them.
#ifndef HETHUB_SIMULATOR_PIPELINE_H
#define HETHUB_SIMULATOR_PIPELINE_H

#include <cstdint>
#include <string>
#include <vector>

namespace hethub::simulator {

/// A stage of the pipeline that is scheduled. Seconds are those of one
/// microbatch on one replica.
struct PipelineStage {
  std::string name; ///< For traces: "stage 0 (new)".
  int replicas = 1;
  double forwardSeconds = 0;
  double backwardSeconds = 0; ///< Of all parts; with the forward pass where
                              ///< that is computed again.
  double weightSeconds = 0;   ///< Of these, what a part of its own can take:
                              ///< gradients of parameters.
  double overheadSeconds = 0; ///< Adds to each forward and to each backward:
                              ///< launch, inputs, outputs.
  /// Training: microbatches of all replicas together between their forward and
  /// their backward. 0: by `microbatchesInFlight`.
  int inFlight = 0;
  /// Zero-bubble: as many of them between their forward and their last part as
  /// fit in memory. 0: `inFlight`.
  int inFlightLimit = 0;

  /// Of its first replica; the others follow. -1: after all ranks of the stages
  /// before. Stages on the same ranks are interleaved: each rank has several
  /// shares of the model.
  int firstRank = -1;

  // Training: what the stage's programs are.
  bool hasBackward = true; ///< false: no gradient reaches it.
  bool hasWeight = true;   ///< Gradients of parameters can be a part of their
                           ///< own, as zero-bubble wants them.
  bool sharesParameters = false; ///< Gradients are summed over all stages that
                                 ///< do, not over its replicas alone.

  // Once a step, in training.
  int64_t gradientBytes = 0;   ///< What replicas sum.
  double allReduceSeconds = 0; ///< Of doing so.
  double optimizerSeconds = 0;

  // Memory of one replica.
  int64_t residentBytes = 0;   ///< Weights, gradients, optimizer state.
  int64_t activationBytes = 0; ///< For each microbatch in flight.
  int64_t workspaceBytes = 0;  ///< While it computes.

  /// Whether a step has an all-reduce of its gradients.
  bool sumsGradients() const { return replicas > 1 || sharesParameters; }
};

/// A directed edge that carries one value per microbatch: a value of the model
/// to a later stage, or a gradient to an earlier one.
struct Channel {
  std::string name;
  int fromStage = 0;
  int toStage = 0;
  int64_t bytes = 0;
  double latencySeconds = 0;  ///< Adds to each message, does not occupy the
                              ///< link.
  double transferSeconds = 0; ///< bytes / bandwidth: occupies the link.
  /// Channels of one link (>= 0) take turns between each pair of replicas;
  /// -1: a link of its own. Gradients have links of their own: links carry
  /// both directions at once.
  int link = -1;
  bool shared = false; ///< All replicas of both stages take turns: one cable.
  double copyOutSeconds = 0; ///< Device to host memory before the transfer. One
                             ///< copy of a rank at a time, beside its compute.
  double copyInSeconds = 0;  ///< Host to device memory after it.
  double sendSeconds = 0;    ///< For which the sender does not compute.
  double receiveSeconds = 0; ///< For which the receiver does not compute.

  bool isGradient() const { return fromStage > toStage; }
};

struct Pipeline {
  std::vector<PipelineStage> stages;
  std::vector<Channel> channels;
};

/// Ranks of each stage's first replica.
std::vector<int> firstRanks(const Pipeline &pipeline);

/// Whether a rank has several stages.
bool isInterleaved(const Pipeline &pipeline);

/// For each channel so far, between stages that have a backward, the one that
/// carries its gradient back, with the same figures.
void addGradientChannels(Pipeline &pipeline);

/// Seconds between two microbatches when nothing but compute counts: the
/// largest sum of (forward + backward) / replicas over the stages of a rank.
double bottleneckSeconds(const Pipeline &pipeline);

/// `PipelineStage::inFlightLimit` of a stage whose device has so many bytes (0:
/// not known), from its other figures: `inFlight` and what the rest holds.
int inFlightLimitOf(const PipelineStage &stage, int64_t memoryLimitBytes);

/// In flight per stage that keep the pipeline full: from the last stage,
/// K = K' + ceil((f + b) / bottleneck) + ceil(2 c' / bottleneck), at most
/// `microbatches`; c' are the seconds of the messages into the next stage. With
/// one replica a stage this is K = K' + 1 + ceil(2 c' / bottleneck).
std::vector<int> microbatchesInFlight(const Pipeline &pipeline,
                                      int microbatches);

/// Seconds to sum `bytes` over `participants`, in a ring or in a double binary
/// tree, whichever is faster:
///   ring: 2 (n - 1) latency + 2 (n - 1) / n bytes / bandwidth
///   tree: 2 log2(n) latency + 2 bytes / bandwidth
/// Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan (2009); Patarasuk, Yuan: Bandwidth optimal all-reduce
/// algorithms (2009).
double allReduceSeconds(int64_t participants, double bytes,
                        double latencySeconds, double bandwidth);

} // namespace hethub::simulator

#endif

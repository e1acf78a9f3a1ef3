// The schedule table: what each rank does, in which order. One table for
// simulator, runtime and trace.
#ifndef HETHUB_SIMULATOR_SCHEDULE_H
#define HETHUB_SIMULATOR_SCHEDULE_H

#include "hethub/Simulator/Pipeline.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hethub::simulator {

/// Numbers are those of hethub.Action in proto/hethub.proto.
enum class Action {
  Receive = 1,
  Forward = 2,
  Send = 3,
  Backward = 4,
  Weight = 5,
  AllReduce = 6,
  OptimizerStep = 7
};

llvm::StringRef toString(Action action);

/// One line of the table, field for field hethub.ScheduleRow. Rows of one
/// (stage, replica) stand in the order it issues them.
struct Row {
  int stage = 0;
  int replica = 0;
  Action action = Action::Forward;
  int microbatch = 0;
  int peerStage = -1; ///< -1 where no peer takes part
  int peerReplica = -1;
  int channel = -1; ///< index into Pipeline::channels; -1 where none
  int64_t bytes = 0;

  bool operator==(const Row &other) const;
};

/// "stage 1 replica 0: send microbatch 3 on channel 2 to stage 2 replica 0"
std::string toString(const Row &row);

struct Schedule {
  /// true: rows describe one microbatch and are repeated for each; false: rows
  /// are the whole step.
  bool perMicrobatch = false;
  int microbatches = 1;
  std::vector<Row> rows;
  bool training = false; ///< Each microbatch goes forward and backward, then
                         ///< gradients are summed and applied.
};

/// Inference: for each microbatch j, on replica j mod r of each stage, its
/// receives, its forward, its sends, in channel order.
Schedule inferenceSchedule(const Pipeline &pipeline, int microbatches);

/// The whole step of a per-microbatch table, which has replica 0 only.
Schedule expand(const Schedule &schedule, const Pipeline &pipeline,
                int microbatches);

/// Inference rows of one microbatch (perMicrobatch = true).
Schedule inferenceStream(const Pipeline &pipeline);

/// The order of forwards and backwards in a training step.
enum class ScheduleKind {
  GPipe,                 ///< All forwards, then all backwards.
  OneForwardOneBackward, ///< In turn, as soon as the pipeline is full.
  ZeroBubble ///< The same with backwards in two parts: gradients go back early,
             ///< those of parameters (Action::Weight) fill the gaps.
};

/// "gpipe", "1f1b", "zero-bubble": the names of --schedule.
llvm::StringRef toString(ScheduleKind kind);
std::optional<ScheduleKind> scheduleKindOf(llvm::StringRef name);
/// For messages: "gpipe, 1f1b or zero-bubble".
std::string scheduleKindNames();

/// Training: forwards and backwards of each replica in the order of `kind`,
/// then the all-reduce of gradients and the optimizer step. Microbatch j is on
/// replica j mod r of each stage, so neighbouring stages may have different r.
/// Gradients travel on the channels that lead backwards.
/// 1F1B begins with as many forwards as make `PipelineStage::inFlight` (at
/// least one on each replica, and more where a later stage would otherwise wait
/// for ever). Zero-bubble, and any kind where ranks have several stages, is the
/// fastest of several tables that are made in simulated time.
Schedule
trainingSchedule(const Pipeline &pipeline, int microbatches,
                 ScheduleKind kind = ScheduleKind::OneForwardOneBackward);

/// Refuses a table that cannot run: fields out of range, a send or receive
/// without its counterpart, another order at the two ends of a channel, values
/// used before they arrive, a cycle of ranks that wait for each other. Names
/// the offending row.
llvm::Error validate(const Schedule &schedule, const Pipeline &pipeline);

} // namespace hethub::simulator

#endif

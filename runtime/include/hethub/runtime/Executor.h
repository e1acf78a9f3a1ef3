// Runs the schedule rows of one rank: posts receives ahead, computes, sends,
// and keeps the times of all three.
#pragma once

#include "hethub/runtime/Comm.h"
#include "hethub/runtime/Options.h"
#include "hethub/runtime/Stage.h"
#include "hethub/runtime/Trace.h"

#include <functional>
#include <vector>

namespace hethub::runtime {

/// The rank that runs `replica` of `stage`, and back.
int rankOf(const StageSpec &spec, int stage, int replica);
int worldSize(const StageSpec &spec);
struct Place {
  int stage, replica;
};
/// By stage: one, or several where stages are interleaved.
std::vector<Place> placesOf(const StageSpec &spec, int rank);
/// Whether some rank has several stages.
bool isInterleaved(const StageSpec &spec);

/// The stages of one rank, as `placesOf` has them.
using RankStages = std::vector<const StageSpec *>;

/// Throws Error where the tables contradict each other: rows that name no
/// channel, a forward before its receive, ...
void checkSpec(const StageSpec &spec);
/// The same of what the stages of `rank` say together. Each of them must have
/// been checked.
void checkRank(const RankStages &stages, int rank);

/// A row of the schedule for a certain microbatch, with the peer's rank.
struct Step {
  Action action;
  int microbatch; ///< 0 .. microbatches * repeats - 1
  int channel = -1;
  int peerRank = -1;
  int position = 0; ///< RowSpec::position
  size_t place = 0; ///< index of its stage among those of the rank
};

/// The steps of `replica` for `microbatches` microbatches, `repeats` times.
/// Throws Error where a whole-step schedule does not fit the number.
std::vector<Step> expandSchedule(const StageSpec &spec, int replica,
                                 int microbatches, int repeats);
/// One training step of `rank`: the rows of all its stages, in the order of the
/// table.
std::vector<Step> stepOfRank(const RankStages &stages, int rank);

/// What a rank reports at its end. Seconds are of the wall clock.
struct RunStats {
  double loadS = 0; ///< weights, start-up functions
  int64_t weightsBytes = 0;
  double wallS = 0;  ///< from the first step to the last send's end
  double startS = 0; ///< of the first step, by the machine's steady clock
  std::vector<double> repeatBeginS; ///< where repeats drain: begin of each,
                                    ///< counted from the first step
  std::vector<double> repeatEndS;   ///< end of each repeat's last step, counted
                                    ///< from the first step
  std::vector<double>
      repeatBusyS; ///< in functions, emulated sleep included, per repeat
  std::vector<double> computeS;       ///< each function without emulated sleep
  int64_t steps = 0;                  ///< of training; a repeat is a step then
  double waitS = 0;                   ///< for messages
  double sendS = 0;                   ///< in handing messages over
  int64_t computes = 0, overruns = 0; ///< overruns: computes that lasted longer
                                      ///< than their emulated time
  bool emulated = false;
  int64_t bytesSent = 0, bytesReceived = 0;
};

/// Where a rank gets model inputs from and gives model outputs to. `microbatch`
/// counts within one repeat.
using Feed = std::function<at::Tensor(const PortSpec &port, int microbatch)>;
using Sink =
    std::function<void(const PortSpec &port, int microbatch, at::Tensor value)>;

class Executor {
public:
  /// `commOf` gives the back end of a channel towards a peer's rank. `trace`
  /// may be null.
  Executor(const StageSpec &spec, int rank,
           std::function<Comm &(const ChannelSpec &, int)> commOf,
           Forward forward, at::Device device, const RunOptions &options,
           Trace *trace);

  /// Runs all steps; outputs of the last repeat go to `sink`. Where repeats
  /// drain, each begins with `meet`, which returns on all ranks at once.
  void run(const Feed &feed, const Sink &sink,
           const std::function<void()> &meet, RunStats &stats);

private:
  const StageSpec &spec_;
  int rank_;
  std::function<Comm &(const ChannelSpec &, int)> commOf_;
  Forward forward_;
  at::Device device_;
  const RunOptions &options_;
  Trace *trace_;
};

} // namespace hethub::runtime

// All channels of one rank: their ends, and the times of what goes through
// them.
#pragma once

#include "ChannelEnds.h"

#include <map>

namespace hethub::runtime {

using CommOf = std::function<Comm &(const ChannelSpec &, int peerRank)>;

/// Where times go; `trace` may be null, and may change between two steps.
struct Recorder {
  Trace *trace;
  RunStats &stats;
  bool severalStages = false; ///< of the rank

  /// What an event says of its stage: -1 where the rank says enough.
  int stageOf(const StageSpec &spec) const {
    return severalStages ? spec.stage : -1;
  }
};

/// Values of microbatches that wait to be used or sent.
class Waiting {
public:
  void put(int key, int64_t microbatch, at::Tensor value) {
    values_[{key, microbatch}] = std::move(value);
  }
  /// Throws Error where the schedule comes too early.
  at::Tensor take(int key, int64_t microbatch);
  at::Tensor get(int key, int64_t microbatch) const;
  bool empty() const { return values_.empty(); }

private:
  std::map<std::pair<int, int64_t>, at::Tensor> values_;
};

class Messages {
public:
  Messages(RankStages stages, int rank, at::Device device, int depth,
           CommOf commOf, Recorder &recorder)
      : stages_(std::move(stages)), rank_(rank), device_(device), depth_(depth),
        commOf_(std::move(commOf)), recorder_(recorder) {}

  /// The rank will run `steps`, whose microbatches count from `first`. Opens
  /// their channels and posts the first receives.
  void expect(const std::vector<Step> &steps, int64_t first);

  /// Waits for the message of a receive.
  at::Tensor receive(const Step &step, int64_t first);
  /// Starts to send. Waits only where too many messages are under way.
  void send(const Step &step, int64_t first, const at::Tensor &value);
  /// Waits for all sends.
  void finish();

private:
  using EndKey = std::pair<int, int>; ///< channel, peer
  const ChannelSpec &channelOf(const Step &step) const;
  void record(Trace::Track track, const Step &step, int64_t microbatch,
              Clock::time_point begin, int64_t bytes);

  /// Between two stages of this rank: the tensor is handed over.
  bool isLocal(const Step &step) const { return step.peerRank == rank_; }

  RankStages stages_;
  int rank_;
  at::Device device_;
  int depth_;
  CommOf commOf_;
  Recorder &recorder_;
  std::map<EndKey, SendEnd> sends_;
  std::map<EndKey, ReceiveEnd> receives_;
  Waiting local_; ///< by channel
};

} // namespace hethub::runtime

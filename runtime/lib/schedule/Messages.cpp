// Ends are made when first used and stay, with their buffers, until the run
// ends.
#include "Messages.h"
#include "TrainingTable.h"
#include "hethub/runtime/Error.h"

using namespace hethub::runtime;

at::Tensor Waiting::get(int key, int64_t microbatch) const {
  auto found = values_.find({key, microbatch});
  if (found == values_.end())
    fail("the schedule uses value ", key, " of microbatch ", microbatch,
         " before it is there");
  return found->second;
}

at::Tensor Waiting::take(int key, int64_t microbatch) {
  at::Tensor value = get(key, microbatch);
  values_.erase({key, microbatch});
  return value;
}

const ChannelSpec &Messages::channelOf(const Step &step) const {
  return *findChannel(*stages_[step.place], step.channel);
}

void Messages::expect(const std::vector<Step> &steps, int64_t first) {
  for (const Step &step : steps) {
    if (isLocal(step))
      continue;
    EndKey key{step.channel, step.peerRank};
    if (step.action == Action::Receive) {
      auto found = receives_.find(key);
      if (found == receives_.end())
        found =
            receives_
                .try_emplace(key, commOf_(channelOf(step), step.peerRank),
                             channelOf(step), step.peerRank, depth_, device_)
                .first;
      found->second.expect(first + step.microbatch);
    } else if (step.action == Action::Send && !sends_.count(key)) {
      // A step of training may have its ranks send in a circle: what it leaves
      // under way, its table bounds.
      sends_.try_emplace(key, commOf_(channelOf(step), step.peerRank),
                         channelOf(step), step.peerRank,
                         stages_[step.place]->training ? 0 : depth_);
    }
  }
  for (auto &[key, end] : receives_)
    end.postAhead();
}

at::Tensor Messages::receive(const Step &step, int64_t first) {
  auto begin = Clock::now();
  int64_t microbatch = first + step.microbatch;
  if (isLocal(step)) {
    at::Tensor value = local_.take(step.channel, microbatch);
    record(Trace::Receive, step, microbatch, begin,
           static_cast<int64_t>(value.nbytes()));
    return value;
  }
  ReceiveEnd &end = receives_.at({step.channel, step.peerRank});
  at::Tensor value = end.take(microbatch);
  end.postAhead();
  auto bytes = static_cast<int64_t>(value.nbytes());
  recorder_.stats.waitS += secondsBetween(begin, Clock::now());
  recorder_.stats.bytesReceived += bytes;
  record(Trace::Receive, step, microbatch, begin, bytes);
  return value;
}

void Messages::send(const Step &step, int64_t first, const at::Tensor &value) {
  auto begin = Clock::now();
  int64_t microbatch = first + step.microbatch;
  if (isLocal(step)) {
    // In the form of a message, so that its reader gets the same bits.
    local_.put(step.channel, microbatch, value.contiguous());
    record(Trace::Send, step, microbatch, begin,
           static_cast<int64_t>(value.nbytes()));
    return;
  }
  int64_t bytes =
      sends_.at({step.channel, step.peerRank}).send(value, microbatch);
  recorder_.stats.sendS += secondsBetween(begin, Clock::now());
  recorder_.stats.bytesSent += bytes;
  record(Trace::Send, step, microbatch, begin, bytes);
}

void Messages::finish() {
  for (auto &[key, end] : sends_)
    end.finish();
}

void Messages::record(Trace::Track track, const Step &step, int64_t microbatch,
                      Clock::time_point begin, int64_t bytes) {
  if (!recorder_.trace)
    return;
  // Equal at both ends of a message, and different for all messages of a run.
  uint64_t flow = (static_cast<uint64_t>(step.channel) + 1) << 32 |
                  (static_cast<uint64_t>(microbatch) & 0xffffffff);
  recorder_.trace->add({track, channelOf(step).name, begin, Clock::now(),
                        static_cast<int>(microbatch), bytes, flow,
                        recorder_.stageOf(*stages_[step.place])});
}

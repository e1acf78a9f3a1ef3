// The two ends of a channel between two ranks. A message is a header (who,
// when, what type) and the tensor.
#pragma once

#include "hethub/runtime/Comm.h"
#include "hethub/runtime/Executor.h"

#include <deque>

namespace hethub::runtime {

class SendEnd {
public:
  /// At most `depth` messages are under way; 0: as many as the schedule says.
  SendEnd(Comm &comm, const ChannelSpec &channel, int peer, int depth)
      : comm_(comm), channel_(channel), peer_(peer),
        depth_(static_cast<size_t>(depth)) {}

  /// Starts to send and returns, waiting only for messages that are `depth`
  /// older, if at all. Returns the bytes sent.
  int64_t send(const at::Tensor &value, int64_t microbatch);
  /// Waits for all that is under way.
  void finish();

private:
  struct Message {
    at::Tensor header, value;
    WorkPtr headerWork, valueWork;
    /// Asks for both, whatever the first one says: asking has them watched.
    bool isDone() const {
      bool header = !headerWork || headerWork->isDone();
      bool value = !valueWork || valueWork->isDone();
      return header && value;
    }
  };
  void retire();

  Comm &comm_;
  const ChannelSpec &channel_;
  int peer_;
  size_t depth_;
  std::deque<Message> underWay_;
};

class ReceiveEnd {
public:
  ReceiveEnd(Comm &comm, const ChannelSpec &channel, int peer, int depth,
             at::Device device);

  /// The message of `microbatch` will come, after all that are expected.
  void expect(int64_t microbatch) { expected_.push_back(microbatch); }
  /// Posts receives until `depth` are waiting.
  void postAhead();
  /// The message of `microbatch`, which must be the next one; waits for it, and
  /// where the channel is emulated until the moment of its delivery.
  at::Tensor take(int64_t microbatch);

private:
  struct Message {
    at::Tensor header, value;
    WorkPtr headerWork, valueWork;
  };
  at::Tensor buffer();
  void checkHeader(const at::Tensor &header, int64_t microbatch,
                   std::vector<int64_t> &shape) const;

  Comm &comm_;
  const ChannelSpec &channel_;
  int peer_;
  size_t depth_;
  at::Device device_;
  std::deque<int64_t> expected_; ///< not posted yet
  std::deque<Message> posted_;
  std::vector<at::Tensor> pool_;
  bool isStatic_;
  bool hasHeader_;
};

} // namespace hethub::runtime

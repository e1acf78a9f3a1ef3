// Hands the chunks of messages to a back end as they arrive in host memory, on
// a thread of its own: who sends need not wait for copies, and one chunk is
// copied while another one is on its way.
#pragma once

#include "hethub/runtime/Comm.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace hethub::runtime {

/// A piece of a message in host memory, and what waits until it is there.
struct CopiedChunk {
  at::Tensor host;
  std::function<void()> waitForCopy;
};

class ChunkSender {
public:
  explicit ChunkSender(Comm &host) : host_(host) {}
  ~ChunkSender();

  /// `source` lives until all chunks are copied. Messages leave in the order of
  /// the calls.
  WorkPtr send(at::Tensor source, std::vector<CopiedChunk> chunks, int peer,
               int tag);

private:
  struct Message;
  class Sent;
  void run();
  void handOver(Message &message);

  Comm &host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Message>> queue_;
  bool stopping_ = false;
  std::thread thread_; ///< from the first message on
};

} // namespace hethub::runtime

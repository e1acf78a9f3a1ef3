// Gloo tells that a send is done only to a thread that waits for it. Where the
// order of a schedule forbids to wait, another thread does.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace hethub::runtime {

/// A send that is watched.
struct WatchedSend {
  c10::intrusive_ptr<c10d::Work> work;
  bool done = false;
  std::exception_ptr failure;
};

class SendWatcher {
public:
  explicit SendWatcher(std::chrono::milliseconds timeout) : timeout_(timeout) {}
  ~SendWatcher();

  std::shared_ptr<WatchedSend> watch(c10::intrusive_ptr<c10d::Work> work);
  /// Throws what the send has thrown.
  bool isDone(const WatchedSend &send);
  void wait(const WatchedSend &send);

private:
  void run();

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<WatchedSend>> queue_; ///< the first is waited for
  bool stopping_ = false;
  std::thread thread_; ///< from the first send on
};

} // namespace hethub::runtime

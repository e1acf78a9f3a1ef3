// In the order in which they were started: a send that is done early is only
// known a little later.
#include "SendWatcher.h"

using namespace hethub::runtime;

SendWatcher::~SendWatcher() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    // A peer that is gone would keep it waiting.
    for (const std::shared_ptr<WatchedSend> &send : queue_)
      send->work->abort();
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

std::shared_ptr<WatchedSend>
SendWatcher::watch(c10::intrusive_ptr<c10d::Work> work) {
  auto send = std::make_shared<WatchedSend>();
  send->work = std::move(work);
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(send);
    if (!thread_.joinable())
      thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  return send;
}

bool SendWatcher::isDone(const WatchedSend &send) {
  std::lock_guard lock(mutex_);
  if (send.failure)
    std::rethrow_exception(send.failure);
  return send.done;
}

void SendWatcher::wait(const WatchedSend &send) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return send.done || send.failure; });
  if (send.failure)
    std::rethrow_exception(send.failure);
}

void SendWatcher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_)
      return;
    std::shared_ptr<WatchedSend> send = queue_.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!send->work->wait(timeout_))
        throw std::runtime_error("was given up");
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    send->failure = failure;
    send->done = !failure;
    queue_.pop_front();
    changed_.notify_all();
  }
}

// A message belongs to the thread until it is handed over, then to its Work.
#include "ChunkSender.h"

#include <algorithm>

using namespace hethub::runtime;

struct ChunkSender::Message {
  at::Tensor source;
  std::vector<CopiedChunk> chunks;
  int peer, tag;
  std::vector<WorkPtr> works;
  bool handedOver = false;
  std::exception_ptr failure;
};

class ChunkSender::Sent : public Work {
public:
  Sent(ChunkSender &sender, std::shared_ptr<Message> message)
      : sender_(sender), message_(std::move(message)) {}

  void wait() override {
    {
      std::unique_lock lock(sender_.mutex_);
      sender_.changed_.wait(lock, [&] { return message_->handedOver; });
    }
    check();
    for (const WorkPtr &work : message_->works)
      work->wait();
  }
  bool isDone() override {
    {
      std::lock_guard lock(sender_.mutex_);
      if (!message_->handedOver)
        return false;
    }
    check();
    return std::all_of(message_->works.begin(), message_->works.end(),
                       [](const WorkPtr &work) { return work->isDone(); });
  }

private:
  void check() const {
    if (message_->failure)
      std::rethrow_exception(message_->failure);
  }

  ChunkSender &sender_;
  std::shared_ptr<Message> message_;
};

ChunkSender::~ChunkSender() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

WorkPtr ChunkSender::send(at::Tensor source, std::vector<CopiedChunk> chunks,
                          int peer, int tag) {
  auto message = std::make_shared<Message>();
  message->source = std::move(source);
  message->chunks = std::move(chunks);
  message->peer = peer;
  message->tag = tag;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(message);
    if (!thread_.joinable())
      thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  return std::make_unique<Sent>(*this, std::move(message));
}

void ChunkSender::handOver(Message &message) {
  for (CopiedChunk &chunk : message.chunks) {
    chunk.waitForCopy();
    message.works.push_back(host_.send(chunk.host, message.peer, message.tag));
    message.works.back()->isDone(); // from now on somebody looks after it
  }
}

void ChunkSender::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_)
      return;
    std::shared_ptr<Message> message = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      handOver(*message);
    } catch (...) {
      failure = std::current_exception();
    }
    message->source.reset();
    lock.lock();
    message->failure = failure;
    message->handedOver = true;
    changed_.notify_all();
  }
}

// Messages are copied from mailbox to buffer; a send never waits. Lengths are
// checked, since here it is easy.
#include "LoopbackComm.h"
#include "Control.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"

#include <ATen/ops/zeros.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

using namespace hethub::runtime;

// Tags of collectives lie below those of channels.
static constexpr int spreadTag = -1, firstGroupTag = -2;

struct LoopbackHub::State {
  using Key = std::tuple<int, int, int>; ///< sender, receiver, tag
  int size;
  double timeoutS;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, std::deque<at::Tensor>> mailboxes;
  std::map<std::vector<int>, int> groupTags;
  std::string abortReason;
  bool aborted = false;

  /// Takes the oldest message, waiting for it.
  at::Tensor take(const Key &key, int peer) {
    std::unique_lock lock(mutex);
    std::deque<at::Tensor> &mailbox = mailboxes[key];
    bool came = changed.wait_for(lock, std::chrono::duration<double>(timeoutS),
                                 [&] { return aborted || !mailbox.empty(); });
    if (aborted)
      throw AbortedError(abortReason);
    if (!came)
      throw PeerError(peer,
                      "it did not answer a receive within " +
                          std::to_string(static_cast<int64_t>(timeoutS + 0.5)) +
                          " s");
    at::Tensor message = std::move(mailbox.front());
    mailbox.pop_front();
    return message;
  }
  /// Groups may have two ranks in common: each has a tag of its own.
  int groupTag(const std::vector<int> &ranks) {
    std::lock_guard lock(mutex);
    return groupTags.emplace(ranks, firstGroupTag - int(groupTags.size()))
        .first->second;
  }
  void put(const Key &key, at::Tensor message) {
    {
      std::lock_guard lock(mutex);
      mailboxes[key].push_back(std::move(message));
    }
    changed.notify_all();
  }
};

namespace {
using State = LoopbackHub::State;

class Done : public Work {
public:
  void wait() override {}
  bool isDone() override { return true; }
};

class Arrival : public Work {
public:
  Arrival(std::shared_ptr<State> state, State::Key key, int peer,
          at::Tensor target)
      : state_(std::move(state)), key_(key), peer_(peer),
        target_(std::move(target)) {}
  void wait() override {
    at::Tensor message = state_->take(key_, peer_);
    if (message.scalar_type() != target_.scalar_type() ||
        message.sizes() != target_.sizes())
      fail("message of type ", typeName(message.scalar_type(), message.sizes()),
           " came where ", typeName(target_.scalar_type(), target_.sizes()),
           " was expected");
    target_.copy_(message);
  }

private:
  std::shared_ptr<State> state_;
  State::Key key_;
  int peer_;
  at::Tensor target_;
};

/// Every rank adds what all have sent, in rank order: the same sum on each, and
/// nobody waits for another one's wait.
class Sum : public Work {
public:
  Sum(std::shared_ptr<State> state, const std::vector<int> &ranks, int rank,
      int tag, at::Tensor target)
      : state_(std::move(state)), ranks_(ranks), rank_(rank), tag_(tag),
        target_(std::move(target)) {
    at::Tensor own = target_.clone();
    for (int peer : ranks_)
      if (peer != rank_)
        state_->put({rank_, peer, tag_}, own);
  }
  void wait() override {
    at::Tensor total;
    for (int peer : ranks_) {
      at::Tensor part =
          peer == rank_ ? target_ : state_->take({peer, rank_, tag_}, peer);
      if (part.scalar_type() != target_.scalar_type() ||
          part.sizes() != target_.sizes())
        fail("rank ", peer, " adds ",
             typeName(part.scalar_type(), part.sizes()), " to ",
             typeName(target_.scalar_type(), target_.sizes()));
      total = total.defined() ? total.add_(part) : part.clone();
    }
    target_.copy_(total);
  }

private:
  std::shared_ptr<State> state_;
  std::vector<int> ranks_;
  int rank_, tag_;
  at::Tensor target_;
};

class LoopbackComm : public Comm {
public:
  /// `ranks` are those of the hub that belong to this communicator.
  LoopbackComm(std::shared_ptr<State> state, int rank, std::vector<int> ranks)
      : state_(std::move(state)), rank_(rank), ranks_(std::move(ranks)),
        tag_(state_->groupTag(ranks_)) {}

  std::string name() const override { return "loop-back"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  WorkPtr send(const at::Tensor &tensor, int peer, int tag) override {
    // The sender may change its tensor as soon as the send is done, which is at
    // once.
    state_->put({rank_, peer, tag}, tensor.clone());
    return std::make_unique<Done>();
  }
  WorkPtr receive(at::Tensor &tensor, int peer, int tag) override {
    return std::make_unique<Arrival>(state_, State::Key{peer, rank_, tag}, peer,
                                     tensor);
  }
  std::unique_ptr<Comm> group(const std::vector<int> &ranks) override {
    return std::make_unique<LoopbackComm>(state_, rank_, ranks);
  }
  WorkPtr allReduceSum(at::Tensor &tensor) override {
    return std::make_unique<Sum>(state_, ranks_, rank_, tag_, tensor);
  }
  WorkPtr broadcast(at::Tensor &tensor, int root) override {
    if (rank_ != root)
      return receive(tensor, root, spreadTag);
    for (int peer : ranks_)
      if (peer != root)
        send(tensor, peer, spreadTag);
    return std::make_unique<Done>();
  }
  void barrier() override {
    at::Tensor token = at::zeros({1});
    allReduceSum(token)->wait();
  }
  void abort(const std::string &reason) override {
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->aborted)
        state_->abortReason = reason;
      state_->aborted = true;
    }
    state_->changed.notify_all();
  }

private:
  std::shared_ptr<State> state_;
  int rank_; ///< in the hub, as are peers and roots
  std::vector<int> ranks_;
  int tag_;
};
} // namespace

LoopbackHub::LoopbackHub(int size, double timeoutS)
    : state_(std::make_shared<State>()) {
  state_->size = size;
  state_->timeoutS = timeoutS;
}
LoopbackHub::~LoopbackHub() = default;
std::unique_ptr<Comm> LoopbackHub::comm(int rank) {
  std::vector<int> all(static_cast<size_t>(state_->size));
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<LoopbackComm>(state_, rank, std::move(all));
}
void LoopbackHub::abort(const std::string &reason) { comm(0)->abort(reason); }

// Messages between devices and hosts in chunks: the right bytes, and copies and
// network at the same time. A device is played by copies that say when they
// are made; nothing here depends on how fast anything is.
#include "comm/HostStagedComm.h"
#include "comm/LoopbackComm.h"
#include "hethub/runtime/Error.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

using namespace hethub::runtime;

namespace {
constexpr int64_t chunkBytes = 16; // four floats

/// What has happened, in order, and waiting for it.
class Events {
public:
  void add(const std::string &event) {
    {
      std::lock_guard lock(mutex_);
      events_.push_back(event);
    }
    changed_.notify_all();
  }
  /// Throws where it does not happen.
  void await(const std::string &event) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] {
          return std::find(events_.begin(), events_.end(), event) !=
                 events_.end();
        }))
      fail("never came: ", event);
  }
  bool has(const std::string &event) {
    std::lock_guard lock(mutex_);
    return std::find(events_.begin(), events_.end(), event) != events_.end();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

/// A copy to the host is made when it is waited for, after `beforeHost`.
class PlayedCopies : public DeviceCopies {
public:
  explicit PlayedCopies(
      Events &events, std::function<void(int)> beforeHost = [](int) {})
      : events_(events), beforeHost_(std::move(beforeHost)) {}

  std::function<void()> toHost(at::Tensor host,
                               const at::Tensor &value) override {
    return [this, host, value, number = toHost_++]() mutable {
      beforeHost_(number);
      host.copy_(value);
      events_.add("to host " + std::to_string(number));
    };
  }
  void toDevice(at::Tensor value, const at::Tensor &host) override {
    value.copy_(host);
    events_.add("to device " + std::to_string(toDevice_++));
  }

private:
  Events &events_;
  std::function<void(int)> beforeHost_;
  int toHost_ = 0, toDevice_ = 0;
};

/// A network that says what it sends, and holds a message back until
/// `beforeArrival`.
class PlayedNetwork : public Comm {
public:
  PlayedNetwork(
      Comm &inner, Events &events,
      std::function<void(int)> beforeArrival = [](int) {})
      : inner_(inner), events_(events),
        beforeArrival_(std::move(beforeArrival)) {}
  std::string name() const override { return "played"; }
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  WorkPtr send(const at::Tensor &tensor, int peer, int tag) override {
    WorkPtr work = inner_.send(tensor, peer, tag);
    events_.add("sent " + std::to_string(sent_++));
    return work;
  }
  WorkPtr receive(at::Tensor &tensor, int peer, int tag) override {
    return std::make_unique<Held>(
        inner_.receive(tensor, peer, tag),
        [this, number = received_++] { beforeArrival_(number); });
  }
  WorkPtr allReduceSum(at::Tensor &tensor) override {
    return inner_.allReduceSum(tensor);
  }
  WorkPtr broadcast(at::Tensor &tensor, int root) override {
    return inner_.broadcast(tensor, root);
  }
  void barrier() override { inner_.barrier(); }
  void abort(const std::string &reason) override { inner_.abort(reason); }

private:
  class Held : public Work {
  public:
    Held(WorkPtr inner, std::function<void()> before)
        : inner_(std::move(inner)), before_(std::move(before)) {}
    void wait() override {
      before_();
      inner_->wait();
    }

  private:
    WorkPtr inner_;
    std::function<void()> before_;
  };
  Comm &inner_;
  Events &events_;
  std::function<void(int)> beforeArrival_;
  int sent_ = 0, received_ = 0;
};

class CommHostStaged : public testing::Test {
protected:
  std::unique_ptr<Comm> device(Comm &host, int64_t bytes = chunkBytes) {
    return makeHostStagedComm(host, at::kCPU, bytes,
                              std::make_unique<PlayedCopies>(events));
  }

  LoopbackHub hub{2, 20};
  std::unique_ptr<Comm> a = hub.comm(0), b = hub.comm(1);
  Events events;
};

TEST_F(CommHostStaged, AllSizesTypesAndEndsGiveTheSameBytes) {
  for (int64_t bytes : {1, 4, 6, 16, 1 << 20})
    for (int sizes : {1, 3, 4, 5, 33})
      for (at::ScalarType dtype : {at::kFloat, at::kByte, at::kDouble})
        for (int ends : {0, 1, 2, 3}) { // a device on none, one or both sides
          auto from = ends & 1 ? device(*a, bytes)
                               : makeHostStagedComm(*a, at::kCPU, bytes);
          auto to = ends & 2 ? device(*b, bytes)
                             : makeHostStagedComm(*b, at::kCPU, bytes);
          at::Tensor sent = at::arange(sizes * 2).reshape({2, sizes}).to(dtype),
                     got = at::zeros({2, sizes}, dtype);
          WorkPtr receive = to->receive(got, 0, 3);
          WorkPtr send = from->send(sent, 1, 3);
          send->wait();
          receive->wait();
          EXPECT_TRUE(at::equal(got, sent))
              << bytes << " " << sizes << " " << dtype << " " << ends;
        }
}

TEST_F(CommHostStaged, StridesScalarsAndEmptyTensors) {
  auto from = device(*a), to = device(*b);
  for (const at::Tensor &sent :
       {at::rand({5, 7}).t(), at::rand({}), at::rand({0, 4})}) {
    at::Tensor got = at::zeros(sent.sizes());
    WorkPtr receive = to->receive(got, 0, 1);
    from->send(sent, 1, 1)->wait();
    receive->wait();
    EXPECT_TRUE(at::equal(got, sent));
  }
}

TEST_F(CommHostStaged, MessagesKeepTheirOrder) {
  auto from = device(*a), to = device(*b);
  std::vector<WorkPtr> sends;
  for (int i = 0; i < 20; ++i)
    sends.push_back(from->send(at::full({10}, i, at::kFloat), 1, 0));
  for (int i = 0; i < 20; ++i) {
    at::Tensor got = at::zeros({10});
    to->receive(got, 0, 0)->wait();
    EXPECT_TRUE(at::equal(got, at::full({10}, i, at::kFloat)));
  }
  for (WorkPtr &send : sends) {
    send->wait();
    EXPECT_TRUE(send->isDone());
  }
}

TEST_F(CommHostStaged, AChunkIsSentWhileTheNextOneIsCopied) {
  PlayedNetwork network(*a, events);
  // The copy of each chunk ends only after the one before it was sent.
  auto from = makeHostStagedComm(
      network, at::kCPU, chunkBytes,
      std::make_unique<PlayedCopies>(events, [&](int number) {
        if (number > 0)
          events.await("sent " + std::to_string(number - 1));
      }));
  at::Tensor sent = at::rand({13});
  from->send(sent, 1, 0)->wait();
  EXPECT_TRUE(events.has("sent 3"));
  EXPECT_FALSE(events.has("sent 4"));
}

TEST_F(CommHostStaged, AChunkIsCopiedWhileTheNextOneIsOnItsWay) {
  // Each chunk arrives only after the one before it is on the device.
  PlayedNetwork network(*b, events, [&](int number) {
    if (number > 0)
      events.await("to device " + std::to_string(number - 1));
  });
  auto to = device(network);
  at::Tensor sent = at::rand({13}), got = at::zeros({13});
  WorkPtr receive = to->receive(got, 0, 0);
  makeHostStagedComm(*a, at::kCPU, chunkBytes)->send(sent, 1, 0)->wait();
  receive->wait();
  EXPECT_TRUE(at::equal(got, sent));
}

TEST_F(CommHostStaged, WhoSendsDoesNotWaitForCopies) {
  auto from =
      makeHostStagedComm(*a, at::kCPU, chunkBytes,
                         std::make_unique<PlayedCopies>(events, [&](int) {
                           events.await("send has returned");
                         }));
  WorkPtr send = from->send(at::rand({13}), 1, 0);
  EXPECT_FALSE(send->isDone());
  events.add("send has returned");
  send->wait();
  EXPECT_TRUE(send->isDone());
}

TEST_F(CommHostStaged, AFailedCopyIsToldToWhoWaits) {
  auto from =
      makeHostStagedComm(*a, at::kCPU, chunkBytes,
                         std::make_unique<PlayedCopies>(events, [](int number) {
                           if (number == 2)
                             fail("the device is lost");
                         }));
  WorkPtr send = from->send(at::rand({13}), 1, 0);
  for (int i = 0; i < 2; ++i)
    try {
      send->wait();
      FAIL();
    } catch (const Error &error) {
      EXPECT_STREQ(error.what(), "the device is lost");
    }
  EXPECT_THROW(send->isDone(), Error);
  // Others go on.
  at::Tensor got = at::zeros({3});
  from->send(at::ones({3}), 1, 1)->wait();
  b->receive(got, 0, 1)->wait();
  EXPECT_TRUE(at::equal(got, at::ones({3})));
}

TEST_F(CommHostStaged, SumsGoOverTheHostAsAWhole) {
  auto from = device(*a), to = device(*b);
  at::Tensor one = at::full({9}, 1.0), two = at::full({9}, 2.0);
  WorkPtr first = from->allReduceSum(one), second = to->allReduceSum(two);
  first->wait();
  second->wait();
  EXPECT_TRUE(at::equal(one, at::full({9}, 3.0)));
  EXPECT_TRUE(at::equal(two, one));
  EXPECT_FALSE(from->toHost(one).is_same(one));
}
} // namespace

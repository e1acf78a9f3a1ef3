// CPU tensors over TCP. Uses c10d's backend object directly; one channel is one
// tag.
#include "GlooComm.h"
#include "Control.h"
#include "SendWatcher.h"
#include "hethub/runtime/Error.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <netdb.h>
#include <numeric>
#include <sys/socket.h>
#include <unistd.h>

using namespace hethub::runtime;
using c10d::ProcessGroupGloo;

namespace {
/// The address of this machine from which `host` is reached: loop-back when the
/// store is local, else that of the right network card. Gloo's default would
/// resolve the host name, often to loop-back, and a two-host job would hang.
std::string ownAddressTowards(const std::string &host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(host.c_str(), "9", &hints, &found) != 0)
    fail("MASTER_ADDR names no host: ", host);
  std::string result;
  for (addrinfo *entry = found; entry && result.empty();
       entry = entry->ai_next) {
    int probe = socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
      continue;
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    char text[NI_MAXHOST];
    // Connecting a datagram socket sends nothing; it only picks the route.
    if (connect(probe, entry->ai_addr, entry->ai_addrlen) == 0 &&
        getsockname(probe, reinterpret_cast<sockaddr *>(&own), &length) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr *>(&own), length, text,
                    sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0)
      result = text;
    close(probe);
  }
  freeaddrinfo(found);
  if (result.empty())
    fail("no network address of this machine reaches ", host);
  return result;
}

std::shared_ptr<::gloo::transport::Device>
makeDevice(const std::string &storeAddress) {
  for (const char *name : {"HETHUB_INTERFACE", "GLOO_SOCKET_IFNAME"})
    if (const char *interface = std::getenv(name))
      return ProcessGroupGloo::createDeviceForInterface(interface);
  return ProcessGroupGloo::createDeviceForHostname(
      ownAddressTowards(storeAddress));
}

class GlooWork : public Work {
public:
  GlooWork(c10::intrusive_ptr<c10d::Work> work, int peer, double timeoutS,
           std::string what, SendWatcher &watcher)
      : work_(std::move(work)), peer_(peer), timeoutS_(timeoutS),
        what_(std::move(what)), watcher_(watcher) {}

  void wait() override {
    std::string reason = "was given up";
    try {
      if (watched_)
        return watcher_.wait(*watched_);
      if (work_->wait(milliseconds(timeoutS_)))
        return;
    } catch (const std::exception &error) {
      reason = messageOf(error);
    }
    raise(reason);
  }
  bool isDone() override {
    if (!watched_)
      watched_ = watcher_.watch(work_);
    try {
      return watcher_.isDone(*watched_);
    } catch (const std::exception &error) {
      raise(messageOf(error));
    }
  }

private:
  [[noreturn]] void raise(const std::string &reason) const {
    if (peer_ < 0)
      throw GroupError(what_ + " failed: " + reason);
    if (reason.find("imed out") != std::string::npos)
      throw PeerError(
          peer_, "it did not answer a " + what_ + " within " +
                     std::to_string(static_cast<int64_t>(timeoutS_ + 0.5)) +
                     " s");
    throw PeerError(peer_, "its connection is lost: " + reason);
  }

  c10::intrusive_ptr<c10d::Work> work_;
  int peer_;
  double timeoutS_;
  std::string what_;
  SendWatcher &watcher_;
  std::shared_ptr<WatchedSend> watched_;
};

std::unique_ptr<Comm> makeGroup(StorePtr store, const std::string &group,
                                int own, const std::vector<int> &ranks,
                                const std::string &storeAddress,
                                double timeoutS);

class GlooComm : public Comm {
public:
  /// `ranks` are those of the run that belong to this communicator; `rank`
  /// counts among them, as peers and roots do.
  GlooComm(c10::intrusive_ptr<ProcessGroupGloo> group, int rank,
           std::vector<int> ranks, double timeoutS, StorePtr store,
           std::string storeAddress)
      : group_(std::move(group)), rank_(rank), ranks_(std::move(ranks)),
        timeoutS_(timeoutS), store_(std::move(store)),
        storeAddress_(std::move(storeAddress)),
        watcher_(milliseconds(timeoutS)) {}

  std::string name() const override { return "gloo"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  WorkPtr send(const at::Tensor &tensor, int peer, int tag) override {
    std::vector<at::Tensor> tensors{tensor};
    return start(peer, "send",
                 [&] { return group_->send(tensors, peer, tag); });
  }
  WorkPtr receive(at::Tensor &tensor, int peer, int tag) override {
    std::vector<at::Tensor> tensors{tensor};
    return start(peer, "receive",
                 [&] { return group_->recv(tensors, peer, tag); });
  }
  std::unique_ptr<Comm> group(const std::vector<int> &ranks) override {
    std::string name = "group";
    for (int rank : ranks)
      name += "-" + std::to_string(rank);
    return makeGroup(store_, name, rank_, ranks, storeAddress_, timeoutS_);
  }
  WorkPtr allReduceSum(at::Tensor &tensor) override {
    std::vector<at::Tensor> tensors{tensor};
    return start(-1, "all-reduce", [&] { return group_->allreduce(tensors); });
  }
  WorkPtr broadcast(at::Tensor &tensor, int root) override {
    std::vector<at::Tensor> tensors{tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return start(-1, "broadcast",
                 [&] { return group_->broadcast(tensors, options); });
  }
  void barrier() override {
    start(-1, "barrier", [&] { return group_->barrier(); })->wait();
  }
  void abort(const std::string &) override { group_->abort(); }

private:
  // A broken connection may show when an operation starts instead of when it is
  // waited for.
  template <typename Operation>
  WorkPtr start(int peer, std::string what, Operation operation) {
    if (culprit(peer) < 0)
      what += " of " + members();
    try {
      return std::make_unique<GlooWork>(operation(), culprit(peer), timeoutS_,
                                        what, watcher_);
    } catch (const std::exception &error) {
      if (culprit(peer) < 0)
        throw GroupError(what + " failed: " + messageOf(error));
      peer = culprit(peer);
      throw PeerError(peer, "its connection is lost: " + messageOf(error));
    }
  }

  /// "ranks 1, 2, 4": those of the run, where they can be listed in a line.
  std::string members() const {
    constexpr size_t most = 8;
    if (ranks_.size() > most)
      return std::to_string(ranks_.size()) + " ranks";
    std::string text;
    for (int rank : ranks_)
      text += (text.empty() ? "ranks " : ", ") + std::to_string(rank);
    return text;
  }

  /// Rank of the run that is to blame for what fails; -1: one of several.
  int culprit(int peer) const {
    if (peer < 0 && ranks_.size() == 2)
      peer = 1 - rank_;
    return peer < 0 ? -1 : ranks_[static_cast<size_t>(peer)];
  }

  c10::intrusive_ptr<ProcessGroupGloo> group_;
  int rank_;
  std::vector<int> ranks_;
  double timeoutS_;
  StorePtr store_; ///< for groups of its ranks
  std::string storeAddress_;
  SendWatcher watcher_; ///< goes before the group does
};

/// `own` is this process's rank of the run.
std::unique_ptr<Comm> makeGroup(StorePtr store, const std::string &group,
                                int own, const std::vector<int> &ranks,
                                const std::string &storeAddress,
                                double timeoutS) {
  auto options = ProcessGroupGloo::Options::create(milliseconds(timeoutS));
  options->threads = 1; // only collectives use them
  options->devices.push_back(makeDevice(storeAddress));
  auto prefixed =
      c10::make_intrusive<c10d::PrefixStore>("gloo/" + group, store);
  auto rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), own) -
                               ranks.begin());
  try {
    auto processes = c10::make_intrusive<ProcessGroupGloo>(
        prefixed, rank, static_cast<int>(ranks.size()), options);
    return std::make_unique<GlooComm>(std::move(processes), rank, ranks,
                                      timeoutS, std::move(store), storeAddress);
  } catch (const std::exception &error) {
    fail("cannot connect to the other ranks: ", messageOf(error));
  }
}
} // namespace

std::unique_ptr<Comm> hethub::runtime::makeGlooComm(
    StorePtr store, const std::string &group, int rank, int size,
    const std::string &storeAddress, double timeoutS) {
  std::vector<int> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return makeGroup(std::move(store), group, rank, all, storeAddress, timeoutS);
}

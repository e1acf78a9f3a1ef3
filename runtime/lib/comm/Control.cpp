// Beats, failure notes and barriers over the store.
#include "Control.h"
#include "hethub/runtime/Error.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace hethub::runtime;

namespace {
constexpr const char *failureKey = "failure";
constexpr double longestStaleS =
    6; // a hung rank must stop the others within 10

int64_t nowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
double secondsSince(int64_t ms) {
  return static_cast<double>(nowMs() - ms) / 1e3;
}
std::string beatKey(int rank) { return "beat/" + std::to_string(rank); }
std::string hostKey(int rank) { return "host/" + std::to_string(rank); }
std::string lostKey(int rank) { return "lost/" + std::to_string(rank); }

std::string ownHost() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}
} // namespace

Control::Control(StorePtr store, Launch launch,
                 std::vector<std::string> rankNames, double timeoutS)
    : store_(std::move(store)), launch_(std::move(launch)),
      rankNames_(std::move(rankNames)), timeoutS_(timeoutS),
      // Below the timeout of messages, so that the rank that stands still is
      // named and not one that waits for it.
      staleS_(std::min(timeoutS * 0.6, longestStaleS)),
      intervalS_(std::min(0.2, staleS_ / 8)) {
  // A client of its own: a store holds a lock while it waits.
  monitorStore_ = store_->clone();
  lastRoundMs_ = nowMs();
  monitorStore_->set(hostKey(launch_.rank), ownHost());
  monitorStore_->set(beatKey(launch_.rank), std::string("0"));
  // Until all have come there is nobody to watch, only notes of failure to
  // read.
  monitorThread_ = std::thread([this] { monitor(); });
  watchThread_ = std::thread([this] { watchMonitor(); });
}

Control::~Control() {
  stopping_ = true;
  wakeUp_.notify_all();
  for (std::thread *thread : {&monitorThread_, &watchThread_})
    if (thread->joinable())
      thread->join();
}

bool Control::pause(double seconds) {
  std::unique_lock lock(mutex_);
  return !wakeUp_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return stopping_.load(); });
}

void Control::endProcess(const std::string &message) {
  // The main thread and the watching threads may come here together: the first
  // one speaks.
  if (ending_.exchange(true))
    for (;;)
      std::this_thread::sleep_for(std::chrono::seconds(1));
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  if (launch_.hostsStore())
    linger();
  // Destructors would wait for connections that nobody answers any more.
  std::_Exit(1);
}

void Control::die(const std::string &failure) {
  std::string own = rankName(launch_.rank) + " failed: ";
  endProcess(failure.starts_with(own)
                 ? failure
                 : rankName(launch_.rank) + " stopped: " + failure);
}

void Control::fail(const std::string &message) { endProcess(message); }

bool Control::isSilent(std::vector<Seen> &seen, int rank, double seconds) {
  Seen &last = seen[static_cast<size_t>(rank)];
  if (!monitorStore_->check({beatKey(rank)})) {
    last.atMs = nowMs(); // not come yet
    return false;
  }
  std::string beat = monitorStore_->get_to_str(beatKey(rank));
  if (beat != last.beat || beat == "left")
    last = {beat, nowMs()};
  return secondsSince(last.atMs) > seconds;
}

void Control::monitor() {
  std::vector<Seen> seen(rankNames_.size(), {"", nowMs()});
  int64_t beat = 0;
  try {
    while (pause(intervalS_)) {
      monitorStore_->set(beatKey(launch_.rank), std::to_string(++beat));
      if (monitorStore_->check({failureKey})) {
        std::string failure = monitorStore_->get_to_str(failureKey);
        if (stopping_)
          return;
        if (!failure.starts_with(rankName(launch_.rank)))
          monitorStore_->add("failure/read", 1);
        // A failure of this rank itself is the main thread's to tell.
        if (failure.starts_with(rankName(launch_.rank) + " failed"))
          std::this_thread::sleep_for(std::chrono::milliseconds(500));
        die(failure);
      }
      for (int rank = 0; rank < launch_.size; ++rank)
        if (rank != launch_.rank && isSilent(seen, rank, staleS_))
          die(reportFailure(rank, "it stopped answering"));
      lastRoundMs_ = nowMs();
    }
  } catch (const std::exception &) {
    if (stopping_)
      return;
    // The main thread may know more: a failure of this rank itself that it is
    // about to print.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (!stopping_)
      die(storeGone());
  }
}

void Control::watchMonitor() {
  // A store whose host stands still blocks the monitor for ever.
  while (pause(intervalS_))
    if (static_cast<double>(nowMs() - lastRoundMs_) > staleS_ * 1e3)
      die(launch_.agentStore
              ? "the store at " + launch_.address + " does not answer"
              : rankName(0) + " failed: it stopped answering");
}

std::string Control::reportFailure(int rank, const std::string &reason) {
  std::string mine = rankName(rank) + " failed: " + reason;
  try {
    if (std::string host = hostOf(rank); host != ownHost())
      mine += " (on host " + host + ")";
    std::string known =
        monitorStore_->compareSet(failureKey, std::string(), mine);
    return known.empty() ? mine : known;
  } catch (const std::exception &) {
    return mine;
  }
}

/// This one's where a rank has not said.
std::string Control::hostOf(int rank) {
  return monitorStore_->check({hostKey(rank)})
             ? monitorStore_->get_to_str(hostKey(rank))
             : ownHost();
}

std::string Control::groupFailure(const std::string &reason) {
  std::string others;
  try {
    monitorStore_->set(lostKey(launch_.rank), std::string("lost"));
    if (std::optional<std::string> known = failureBehind(-1))
      return *known;
    for (int rank = 0; rank < launch_.size; ++rank)
      if (rank != launch_.rank && monitorStore_->check({lostKey(rank)}))
        others += (others.empty() ? "" : ", ") + rankName(rank);
  } catch (const std::exception &) {
    return storeGone();
  }
  return reportFailure(launch_.rank,
                       reason + (others.empty() ? "" : ", and on " + others));
}

std::string Control::storeGone() const {
  return launch_.agentStore
             ? "the store at " + launch_.address + " is gone"
             : rankName(0) + " failed: it ended before the run did";
}

std::optional<std::string> Control::knownFailure(double patienceS) {
  try {
    for (int64_t end = nowMs() + static_cast<int64_t>(patienceS * 1e3);;) {
      if (monitorStore_->check({failureKey}))
        return monitorStore_->get_to_str(failureKey);
      if (nowMs() >= end)
        return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  } catch (const std::exception &) {
    return storeGone();
  }
}

std::optional<std::string> Control::failureBehind(int peer) {
  // Long for a thread that does nothing but beat. Something has failed: who is
  // silent now need not be given the time that a rank in a sound run has. Those
  // that have lost a connection to it speak first: they know more.
  constexpr double peerSilenceS = 2, silenceS = 3;
  const double longestS = peer < 0 ? patienceS() : 5;
  std::vector<Seen> seen(rankNames_.size(), {"", nowMs()});
  try {
    // One that never came has nothing to say.
    if (peer >= 0 && !monitorStore_->check({beatKey(peer)}))
      return knownFailure(0.1);
    for (int64_t begin = nowMs(); secondsSince(begin) < longestS;) {
      if (std::optional<std::string> known = knownFailure(0.1))
        return known;
      for (int rank = 0; rank < launch_.size; ++rank)
        if (rank != launch_.rank &&
            isSilent(seen, rank, rank == peer ? peerSilenceS : silenceS))
          return rank == peer ? std::nullopt
                              : std::optional(reportFailure(
                                    rank, "it stopped answering"));
    }
    return std::nullopt;
  } catch (const std::exception &) {
    return storeGone();
  }
}

void Control::linger() {
  try {
    int64_t end =
        nowMs() + static_cast<int64_t>(std::min(2.0, 6 * intervalS_) * 1e3);
    while (nowMs() < end &&
           monitorStore_->add("failure/read", 0) < launch_.size - 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } catch (const std::exception &) {
    // nobody left to wait for
  }
}

void Control::barrier(const std::string &place) {
  auto key = [&](int rank) { return place + "/" + std::to_string(rank); };
  store_->set(key(launch_.rank), std::string("here"));
  std::vector<std::string> keys;
  for (int rank = 0; rank < launch_.size; ++rank)
    keys.push_back(key(rank));
  try {
    store_->wait(keys, milliseconds(timeoutS_));
  } catch (const std::exception &error) {
    std::string missing;
    int first = -1;
    for (int rank = 0; rank < launch_.size; ++rank)
      if (!store_->check({key(rank)})) {
        missing += (missing.empty() ? "" : ", ") + rankName(rank);
        first = first < 0 ? rank : first;
      }
    if (missing.empty())
      hethub::runtime::fail("the store does not answer: ", messageOf(error));
    throw PeerError(first,
                    "did not come to the " + place + " of the run within " +
                        std::to_string(static_cast<int64_t>(timeoutS_ + 0.5)) +
                        " s, missing: " + missing);
  }
}

void Control::finish() {
  barrier("end");
  // From here on a vanished connection is no failure.
  stopping_ = true;
  wakeUp_.notify_all();
  monitorThread_.join();
  watchThread_.join();
  if (!launch_.hostsStore()) {
    store_->set("left/" + std::to_string(launch_.rank), std::string("left"));
    return;
  }
  std::vector<std::string> keys;
  for (int rank = 1; rank < launch_.size; ++rank)
    keys.push_back("left/" + std::to_string(rank));
  try {
    store_->wait(keys, milliseconds(std::min(timeoutS_, 5.0)));
  } catch (const std::exception &) {
    // A rank that was killed after its work was done: nothing is lost.
  }
}

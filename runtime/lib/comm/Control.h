// Life and death of the ranks of a run. Every rank beats through the store; a
// rank that fails leaves a note there. A monitor thread reads both and ends the
// process with one message, whatever the main thread is waiting for.
#pragma once

#include "Environment.h"
#include "Store.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hethub::runtime {

class Control {
public:
  /// `rankNames` are what messages call the ranks: "rank 1 (stage 1 on old)".
  /// Starts to watch at once.
  Control(StorePtr store, Launch launch, std::vector<std::string> rankNames,
          double timeoutS);
  ~Control();

  /// Waits until all ranks are there.
  void start() { barrier("start"); }

  /// Waits until all ranks have come to `place`; throws Error that names those
  /// that have not within the timeout.
  void barrier(const std::string &place);

  /// Tells the others that `rank` failed, and its host where that is not this
  /// rank's, unless another failure is known already. Returns what is known.
  std::string reportFailure(int rank, const std::string &reason);

  /// The failure behind a sum of several ranks that did not end well: what
  /// `failureBehind` finds, else this rank's, with those to whom the same has
  /// happened. A broken connection has two ends.
  std::string groupFailure(const std::string &reason);

  /// A failure that another rank has reported, waiting up to `patienceS` for
  /// one.
  std::optional<std::string> knownFailure(double patienceS);

  /// The failure behind a lost connection: what some rank has reported, or a
  /// rank that beats no more. Nothing where that is `peer` itself, or nobody in
  /// sight: a rank that still beats has most likely only followed another one.
  /// `peer` -1: not known.
  std::optional<std::string> failureBehind(int peer);

  /// The end of a run that failed: gives the others time to read why before the
  /// store goes.
  void linger();

  /// Prints `message`, unless the monitor has printed one already, and ends the
  /// process without waiting for anything.
  [[noreturn]] void fail(const std::string &message);

  /// The end of a run that succeeded: waits for all, and on the store's host
  /// until all others have left.
  void finish();

  StorePtr store() const { return store_; }
  const std::string &rankName(int rank) const {
    return rankNames_[static_cast<size_t>(rank)];
  }
  const Launch &launch() const { return launch_; }
  double timeoutS() const { return timeoutS_; }
  /// Longest time until a rank that stands still is known.
  double patienceS() const { return staleS_ + 2 * intervalS_; }

private:
  struct Seen {
    std::string beat;
    int64_t atMs;
  };
  /// Whether a rank's beat has not changed for so long; keeps it in `seen`.
  bool isSilent(std::vector<Seen> &seen, int rank, double seconds);
  std::string storeGone() const;
  std::string hostOf(int rank);
  void monitor();
  void watchMonitor();
  bool pause(double seconds);
  [[noreturn]] void die(const std::string &failure);
  [[noreturn]] void endProcess(const std::string &message);

  StorePtr store_; ///< of the main thread
  StorePtr monitorStore_;
  Launch launch_;
  std::vector<std::string> rankNames_;
  double timeoutS_;
  double staleS_;    ///< a rank without a beat for this long counts as dead
  double intervalS_; ///< between two beats
  std::atomic<bool> stopping_{false};
  std::atomic<bool> ending_{false}; ///< one message only
  std::atomic<int64_t> lastRoundMs_{0};
  std::mutex mutex_;
  std::condition_variable wakeUp_;
  std::thread monitorThread_, watchThread_;
};

/// A wait on another rank that did not end well.
class PeerError : public std::runtime_error {
public:
  PeerError(int peer, const std::string &what)
      : std::runtime_error(what), peer(peer) {}
  int peer;
};

/// A collective that did not end well: one of several ranks is to blame, and
/// this one cannot tell which.
class GroupError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace hethub::runtime

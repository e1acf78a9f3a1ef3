// Times of what a rank did, written as Chrome trace JSON, which Perfetto and
// chrome://tracing open: pid = rank, one tid each for compute, send and
// receive, and an arrow from each send to its receive.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace hethub::runtime {

using Clock = std::chrono::steady_clock;

inline double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

class Trace {
public:
  enum Track { Compute = 0, Send = 1, Receive = 2 };

  struct Event {
    Track track;
    std::string name;
    Clock::time_point begin, end;
    int microbatch;
    int64_t bytes = 0;
    uint64_t flow =
        0; ///< equal at the send and the receive of one message; 0: none
    int stage = -1; ///< of a rank that has several
  };

  Trace(int rank, std::string label) : rank_(rank), label_(std::move(label)) {}
  void add(Event event) { events_.push_back(std::move(event)); }
  const std::vector<Event> &events() const { return events_; }

  /// Times are microseconds of the machine's steady clock, so ranks of one
  /// machine line up.
  std::string json() const;
  void write(const std::string &path) const;

private:
  int rank_;
  std::string label_;
  std::vector<Event> events_;
};

} // namespace hethub::runtime

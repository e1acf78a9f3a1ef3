// A discrete event simulation: forwards end, messages arrive; in between
// nothing changes.
#include "hethub/Simulator/Simulator.h"

#include "Ranks.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

using namespace llvm;

namespace hethub::simulator {

namespace {

class Simulation {
public:
  Simulation(const Schedule &schedule, const Pipeline &pipeline)
      : schedule(schedule), pipeline(pipeline), ranks(pipeline),
        rowsOf(ranks.count), next(ranks.count, 0), busy(ranks.count, 0),
        arrived(ranks.count) {}

  Result run() {
    for (size_t index = 0; index < schedule.rows.size(); ++index) {
      const Row &row = schedule.rows[index];
      int rank = ranks.of(row.stage, row.replica);
      if (row.action == Action::Receive) {
        receiveRow[{row.channel, row.microbatch}] = index;
        ++needed[{rank, row.microbatch}];
      } else {
        rowsOf[rank].push_back(index);
      }
    }
    for (int rank = 0; rank < ranks.count; ++rank)
      start(rank, 0);
    while (!events.empty()) {
      Happening now = events.top();
      events.pop();
      const Row &row = schedule.rows[now.row];
      int rank = ranks.of(row.stage, row.replica);
      if (row.action == Action::Forward) {
        busy[rank] = false;
        send(rank, now.seconds);
      } else {
        ++arrived[rank][row.microbatch];
      }
      start(rank, now.seconds);
    }
    summarise();
    return std::move(result);
  }

private:
  struct Happening {
    double seconds;
    size_t row; // a forward that ends, or a receive whose message arrives;
                // breaks ties, so that results do not vary
    bool operator<(const Happening &other) const {
      return std::tie(seconds, row) > std::tie(other.seconds, other.row);
    }
  };

  /// Starts the rank's next forward if it can.
  void start(int rank, double seconds) {
    if (busy[rank] || next[rank] == rowsOf[rank].size())
      return;
    size_t index = rowsOf[rank][next[rank]];
    const Row &row = schedule.rows[index];
    auto need = needed.find({rank, row.microbatch});
    if (need != needed.end() && arrived[rank][row.microbatch] < need->second)
      return;
    double end = seconds + pipeline.stages[row.stage].forwardSeconds;
    busy[rank] = true;
    ++next[rank];
    record(row, seconds, end);
    events.push({end, index});
  }

  /// Issues the sends that stand before the rank's next forward.
  void send(int rank, double seconds) {
    for (; next[rank] < rowsOf[rank].size(); ++next[rank]) {
      const Row &row = schedule.rows[rowsOf[rank][next[rank]]];
      if (row.action != Action::Send)
        return;
      const Channel &channel = pipeline.channels[row.channel];
      // A link of its own is that of the channel between two replicas.
      auto link =
          channel.link >= 0
              ? std::make_tuple(channel.link, -1, -1)
              : std::make_tuple(-1 - row.channel, row.replica, row.peerReplica);
      double &free = linkFree[link];
      double begin = std::max(seconds, free);
      free = begin + channel.transferSeconds;
      double arrival = free + channel.latencySeconds;
      size_t receive = receiveRow.at({row.channel, row.microbatch});
      record(row, begin, free);
      record(schedule.rows[receive], begin, arrival);
      events.push({arrival, receive});
    }
  }

  void record(const Row &row, double begin, double end) {
    result.events.push_back({row, begin, end});
    result.stepSeconds = std::max(result.stepSeconds, end);
  }

  void summarise() {
    std::stable_sort(
        result.events.begin(), result.events.end(),
        [&](const Event &a, const Event &b) {
          return std::make_pair(a.beginSeconds,
                                ranks.of(a.row.stage, a.row.replica)) <
                 std::make_pair(b.beginSeconds,
                                ranks.of(b.row.stage, b.row.replica));
        });
    result.stages.resize(pipeline.stages.size());
    std::vector<double> last(pipeline.stages.size(), 0);
    std::vector<char> seen(pipeline.stages.size(), 0);
    for (const Event &event : result.events) {
      if (event.row.action != Action::Forward)
        continue;
      StageTimes &times = result.stages[event.row.stage];
      if (!seen[event.row.stage])
        times.fillSeconds = event.beginSeconds;
      seen[event.row.stage] = 1;
      times.busySeconds += event.endSeconds - event.beginSeconds;
      last[event.row.stage] = std::max(last[event.row.stage], event.endSeconds);
    }
    for (size_t stage = 0; stage < result.stages.size(); ++stage) {
      StageTimes &times = result.stages[stage];
      times.drainSeconds = result.stepSeconds - last[stage];
      times.idleSeconds =
          std::max(0.0, pipeline.stages[stage].replicas *
                                (last[stage] - times.fillSeconds) -
                            times.busySeconds);
    }
  }

  const Schedule &schedule;
  const Pipeline &pipeline;
  Ranks ranks;
  Result result;
  std::vector<std::vector<size_t>> rowsOf; ///< forwards and sends
  std::vector<size_t> next;
  std::vector<char> busy;
  std::vector<std::map<int, unsigned>> arrived;   ///< messages by microbatch
  std::map<std::pair<int, int>, unsigned> needed; ///< by rank and microbatch
  std::map<std::pair<int, int>, size_t>
      receiveRow; ///< by channel and microbatch
  std::map<std::tuple<int, int, int>, double> linkFree;
  std::priority_queue<Happening> events;
};

} // namespace

Expected<Result> simulate(const Schedule &schedule, const Pipeline &pipeline) {
  if (schedule.perMicrobatch)
    return simulate(expand(schedule, pipeline, schedule.microbatches),
                    pipeline);
  if (Error error = validate(schedule, pipeline))
    return error;
  return Simulation(schedule, pipeline).run();
}

} // namespace hethub::simulator

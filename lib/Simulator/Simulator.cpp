// A discrete event simulation: computes end, messages arrive; in between
// nothing changes.
#include "hethub/Simulator/Simulator.h"

#include "Transfers.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cassert>
#include <queue>
#include <tuple>

using namespace llvm;

namespace hethub::simulator {

namespace {

constexpr uint32_t none = ~uint32_t(0);

class Simulation {
public:
  Simulation(const Schedule &schedule, const Pipeline &pipeline,
             bool keepEvents)
      : rows(schedule.rows), pipeline(pipeline), keepEvents(keepEvents),
        ranks(pipeline), places(pipeline), rankStates(ranks.count),
        placeStates(places.count), stageStates(pipeline.stages.size()),
        lastParts(pipeline.stages.size(), Action::Forward),
        transfers(pipeline) {
    result.stages.resize(pipeline.stages.size());
    connect(schedule.microbatches);
    for (int stage = 0; stage < int(pipeline.stages.size()); ++stage) {
      const PipelineStage &of = pipeline.stages[stage];
      for (int replica = 0; replica < of.replicas; ++replica) {
        RankState &rank = rankStates[ranks.of(stage, replica)];
        rank.residentBytes += of.residentBytes;
        rank.workspaceBytes = std::max(rank.workspaceBytes, of.workspaceBytes);
      }
    }
    for (const Channel &channel : pipeline.channels)
      stageStates[channel.toStage].receiveSeconds[channel.isGradient()] +=
          channel.receiveSeconds;
  }

  Result run() {
    for (size_t rank = 0; rank < rankStates.size(); ++rank)
      advance(rankStates[rank], 0);
    while (!happenings.empty()) {
      auto [seconds, index] = happenings.top();
      happenings.pop();
      const Row &row = rows[index];
      RankState &rank = rankStates[ranks.of(row.stage, row.replica)];
      switch (row.action) {
      case Action::Receive:
        --missing[partner[index]];
        break;
      case Action::AllReduce:
        --rank.summing;
        break;
      case Action::Forward:
      case Action::Backward:
      case Action::Weight:
        if (row.action == lastParts[row.stage])
          keep(rank, row, -1);
        [[fallthrough]];
      default:
        rank.busy = false;
      }
      advance(rank, seconds);
    }
    assert(
        all_of(rankStates,
               [](const RankState &rank) { return rank.next == rank.end; }) &&
        "a valid table runs to its end");
    summarise();
    return std::move(result);
  }

private:
  /// Rows of a rank that are issued: all but its receives.
  struct RankState {
    uint32_t next = 0, end = 0; ///< into `issued`
    bool busy = false;
    int summing = 0; ///< All-reduces that are under way.
    int64_t keptBytes = 0, mostKeptBytes = 0; ///< Of microbatches in flight.
    int64_t residentBytes = 0, workspaceBytes = 0;
  };
  /// One replica of one stage.
  struct PlaceState {
    int inFlight = 0, mostInFlight = 0;
  };
  /// Ranks that sum gradients with each other.
  struct Summing {
    size_t members = 0;
    std::vector<uint32_t> waiting; ///< All-reduces that wait for others.
  };
  struct StageState {
    bool started = false;
    double last = 0; ///< End of its last compute.
    Summing summing;
    double receiveSeconds[2] = {0, 0}; ///< What taking its messages costs a
                                       ///< forward, a backward.
  };
  /// The end of a compute, an all-reduce or a send's work at its rank, or the
  /// arrival of a receive's message. Rows break ties, so that results do not
  /// vary.
  struct Happening {
    double seconds;
    uint32_t row;
    bool operator<(const Happening &other) const {
      return std::tie(seconds, row) > std::tie(other.seconds, other.row);
    }
  };

  /// Sorts rows by rank; finds for each send its receive, and for each receive
  /// the compute that needs it.
  void connect(int microbatches) {
    for (const Row &row : rows)
      if (row.action != Action::Receive)
        ++rankStates[ranks.of(row.stage, row.replica)].end;
    uint32_t total = 0;
    for (RankState &rank : rankStates) {
      uint32_t count = rank.end;
      rank.next = rank.end = total;
      total += count;
    }
    issued.resize(total);
    partner.assign(rows.size(), none);
    missing.assign(rows.size(), 0);
    size_t perStage = 2 * size_t(microbatches);
    std::vector<uint32_t> computes(pipeline.stages.size() * perStage, none);
    std::vector<uint32_t> receives(pipeline.channels.size() *
                                   size_t(microbatches));
    auto computeOf = [&](const Row &row, bool backward) -> uint32_t & {
      return computes[row.stage * perStage + 2 * size_t(row.microbatch) +
                      backward];
    };
    auto receiveOf = [&](const Row &row) -> uint32_t & {
      return receives[row.channel * size_t(microbatches) + row.microbatch];
    };
    for (uint32_t index = 0; index < rows.size(); ++index) {
      const Row &row = rows[index];
      if (row.action == Action::Receive) {
        receiveOf(row) = index;
        continue;
      }
      issued[rankStates[ranks.of(row.stage, row.replica)].end++] = index;
      if (row.action == Action::Backward || row.action == Action::Weight)
        lastParts[row.stage] = std::max(lastParts[row.stage], row.action);
      if (row.action == Action::AllReduce)
        ++summingOf(row.stage).members;
      if (row.action == Action::Forward || row.action == Action::Backward)
        computeOf(row, row.action == Action::Backward) = index;
    }
    for (uint32_t index = 0; index < rows.size(); ++index) {
      const Row &row = rows[index];
      if (row.action == Action::Receive) {
        partner[index] =
            computeOf(row, pipeline.channels[row.channel].isGradient());
        ++missing[partner[index]];
      } else if (row.action == Action::Send) {
        partner[index] = receiveOf(row);
      }
    }
  }

  /// Issues the rank's next rows until one must wait.
  void advance(RankState &rank, double seconds) {
    for (; !rank.busy && rank.next < rank.end; ++rank.next) {
      uint32_t index = issued[rank.next];
      const Row &row = rows[index];
      if (row.action == Action::Send)
        send(rank, index, seconds);
      else if (row.action == Action::AllReduce)
        sumGradients(rank, index, seconds);
      else if (missing[index] > 0 || rank.summing > 0)
        return;
      else
        compute(rank, index, seconds);
    }
  }

  void compute(RankState &rank, uint32_t index, double seconds) {
    const Row &row = rows[index];
    const PipelineStage &stage = pipeline.stages[row.stage];
    StageState &state = stageStates[row.stage];
    double duration = secondsOf(row);
    if (row.action == Action::Forward || row.action == Action::Backward)
      duration += stage.overheadSeconds +
                  state.receiveSeconds[row.action == Action::Backward];
    if (row.action == Action::Forward)
      keep(rank, row, 1);
    rank.busy = true;
    double end = seconds + duration;
    StageTimes &times = result.stages[row.stage];
    if (!state.started)
      times.fillSeconds = seconds;
    state.started = true;
    state.last = std::max(state.last, end);
    times.busySeconds += duration;
    record(row, seconds, end);
    happenings.push({end, index});
  }

  /// One microbatch more, or less, in flight at the row's place.
  void keep(RankState &rank, const Row &row, int count) {
    PlaceState &place = placeStates[places.of(row.stage, row.replica)];
    place.inFlight += count;
    place.mostInFlight = std::max(place.mostInFlight, place.inFlight);
    rank.keptBytes += count * pipeline.stages[row.stage].activationBytes;
    rank.mostKeptBytes = std::max(rank.mostKeptBytes, rank.keptBytes);
  }

  double secondsOf(const Row &row) const {
    const PipelineStage &stage = pipeline.stages[row.stage];
    switch (row.action) {
    case Action::Forward:
      return stage.forwardSeconds;
    case Action::Backward:
      return stage.backwardSeconds -
             (lastParts[row.stage] == Action::Weight ? stage.weightSeconds : 0);
    case Action::Weight:
      return stage.weightSeconds;
    default:
      return stage.optimizerSeconds;
    }
  }

  void send(RankState &rank, uint32_t index, double seconds) {
    const Row &row = rows[index];
    const Channel &channel = pipeline.channels[row.channel];
    double begin = seconds + channel.sendSeconds;
    if (channel.sendSeconds > 0) {
      rank.busy = true;
      result.stages[row.stage].busySeconds += channel.sendSeconds;
      stageStates[row.stage].last =
          std::max(stageStates[row.stage].last, begin);
      happenings.push({begin, index});
    }
    Transfer transfer = transfers.send(row, begin);
    record(row, transfer.begin, transfer.free);
    uint32_t receive = partner[index];
    record(rows[receive], transfer.taken, transfer.arrival);
    result.stages[row.peerStage].receiveSeconds +=
        transfer.arrival - transfer.taken;
    happenings.push({transfer.arrival, receive});
  }

  Summing &summingOf(int stage) {
    return pipeline.stages[stage].sharesParameters ? sharedSumming
                                                   : stageStates[stage].summing;
  }

  void sumGradients(RankState &rank, uint32_t index, double seconds) {
    Summing &summing = summingOf(rows[index].stage);
    ++rank.summing;
    summing.waiting.push_back(index);
    if (summing.waiting.size() < summing.members)
      return;
    // The last one to come starts it.
    for (uint32_t member : summing.waiting) {
      int stage = rows[member].stage;
      double duration = pipeline.stages[stage].allReduceSeconds;
      result.stages[stage].allReduceSeconds = duration;
      record(rows[member], seconds, seconds + duration);
      happenings.push({seconds + duration, member});
    }
  }

  void record(const Row &row, double begin, double end) {
    result.stepSeconds = std::max(result.stepSeconds, end);
    if (keepEvents)
      result.events.push_back({row, begin, end});
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
    double busiest = 0;
    for (size_t index = 0; index < result.stages.size(); ++index) {
      const PipelineStage &stage = pipeline.stages[index];
      StageTimes &times = result.stages[index];
      busiest = std::max(busiest, times.busySeconds / stage.replicas);
      double last = stageStates[index].last;
      times.drainSeconds = result.stepSeconds - last;
      times.idleSeconds = std::max(
          0.0, stage.replicas * (last - times.fillSeconds) - times.busySeconds);
      for (int replica = 0; replica < stage.replicas; ++replica) {
        times.mostInFlight =
            std::max(times.mostInFlight,
                     placeStates[places.of(int(index), replica)].mostInFlight);
        const RankState &rank = rankStates[ranks.of(int(index), replica)];
        times.peakBytes =
            std::max(times.peakBytes, rank.residentBytes + rank.mostKeptBytes +
                                          rank.workspaceBytes);
      }
    }
    for (size_t index = 0; index < result.stages.size(); ++index)
      if (busiest > 0)
        result.stages[index].imbalance =
            1 - result.stages[index].busySeconds /
                    pipeline.stages[index].replicas / busiest;
  }

  const std::vector<Row> &rows;
  const Pipeline &pipeline;
  bool keepEvents;
  Ranks ranks;
  Places places;
  Result result;
  std::vector<RankState> rankStates;
  std::vector<PlaceState> placeStates;
  std::vector<StageState> stageStates;
  std::vector<Action> lastParts; ///< by stage: what a microbatch's values are
                                 ///< kept for
  Summing sharedSumming;         ///< of stages that share parameters
  std::vector<uint32_t> issued;  ///< rows but receives, rank by rank
  std::vector<uint32_t> partner; ///< of a send: its receive; of a receive: the
                                 ///< compute that uses it
  std::vector<uint32_t> missing; ///< by compute: messages that have not arrived
  Transfers transfers;
  std::priority_queue<Happening> happenings;
};

} // namespace

Expected<Result> simulate(const Schedule &schedule, const Pipeline &pipeline) {
  if (schedule.perMicrobatch)
    return simulate(expand(schedule, pipeline, schedule.microbatches),
                    pipeline);
  if (Error error = validate(schedule, pipeline))
    return error;
  return Simulation(schedule, pipeline, true).run();
}

Result simulateGenerated(const Schedule &schedule, const Pipeline &pipeline) {
  return Simulation(schedule, pipeline, false).run();
}

} // namespace hethub::simulator

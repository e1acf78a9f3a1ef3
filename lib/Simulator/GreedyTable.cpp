// Ranks take what is there.
#include "GreedyTable.h"
#include "TrainingTables.h"
#include "Transfers.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <tuple>

namespace hethub::simulator {

namespace {

class Greedy {
public:
  Greedy(const Pipeline &pipeline, int microbatches, Parts parts,
         Preference preference)
      : pipeline(pipeline), microbatches(microbatches), parts(parts),
        preference(preference), rowsOf(pipeline, parts), numbers(pipeline),
        transfers(pipeline), limits(limitsOf()), putOff(putOffOf()),
        ranks(numbers.count) {
    for (int stage = 0; stage < int(pipeline.stages.size()); ++stage) {
      for (Action action : {Action::Forward, Action::Backward}) {
        int count = int(rowsOf.received(stage, action).size());
        messages.insert(messages.end(), microbatches, {count, count, 0});
      }
      for (int replica = 0; replica < pipeline.stages[stage].replicas;
           ++replica) {
        Place place;
        place.stage = stage;
        place.replica = place.nextForward = place.nextBackward = replica;
        ranks[numbers.of(stage, replica)].places.push_back(std::move(place));
      }
    }
  }

  Schedule run() {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      happenings.push({0, int(rank), nullptr});
    while (!happenings.empty()) {
      double now = happenings.top().seconds;
      // Rounding must not part what happens together.
      double together = now + 1e-12 * (1 + now);
      std::vector<int> touched;
      while (!happenings.empty() && happenings.top().seconds <= together) {
        Happening happening = happenings.top();
        happenings.pop();
        touched.push_back(happening.rank);
        if (happening.arrives)
          --happening.arrives->missing;
        else
          end(ranks[happening.rank], now);
      }
      for (int rank : touched)
        if (!ranks[rank].busy)
          start(ranks[rank], now);
    }
    Schedule schedule = startTraining(pipeline, microbatches);
    for (const Rank &rank : ranks) {
      schedule.rows.insert(schedule.rows.end(), rank.rows.begin(),
                           rank.rows.end());
      for (Action action : {Action::AllReduce, Action::OptimizerStep})
        for (const Place &place : rank.places)
          endStep(pipeline, place.stage, place.replica, action, schedule.rows);
    }
    return schedule;
  }

private:
  /// What a forward or backward waits for.
  struct Messages {
    int missing = 0;   ///< Have not arrived,
    int unsent = 0;    ///< are not under way either.
    double latest = 0; ///< Arrival of those that are under way.
  };
  /// One replica of one stage.
  struct Place {
    int stage = 0, replica = 0;
    int nextForward = 0, nextBackward = 0; ///< microbatches
    std::deque<int> weights;               ///< microbatches that wait for it
    int inFlight = 0;
  };
  struct Rank {
    std::vector<Place> places; ///< by stage
    bool busy = false;
    Action last = Action::Backward; ///< of forwards and backwards
    size_t unsent = 0;              ///< into `rows`: what has not been sent yet
    std::vector<Row> rows;
  };
  struct Happening {
    double seconds;
    int rank;
    Messages *arrives; ///< null: the rank's compute or sending has ended
    bool operator<(const Happening &other) const {
      return std::tie(seconds, rank) > std::tie(other.seconds, other.rank);
    }
  };

  /// Microbatches of one replica between forward and last part.
  std::vector<int> limitsOf() const {
    std::vector<int> rule = microbatchesInFlight(pipeline, microbatches);
    int most = *std::max_element(rule.begin(), rule.end());
    std::vector<int> limits;
    for (const PipelineStage &stage : pipeline.stages) {
      // More than the plan has is of use where weight parts are put off.
      int limit = preference.forwardsThenBackwards ? microbatches
                  : parts == Parts::WeightApart && stage.inFlightLimit > 0
                      ? stage.inFlightLimit
                  : stage.inFlight > 0 ? stage.inFlight
                                       : most;
      limits.push_back((limit + stage.replicas - 1) / stage.replicas);
    }
    return limits;
  }

  /// Weight parts that a replica may put off.
  std::vector<size_t> putOffOf() const {
    std::vector<size_t> counts;
    double drain = 0; // seconds of a gradient from here to the first stage
    for (int stage = 0; stage < int(pipeline.stages.size()); ++stage) {
      const PipelineStage &of = pipeline.stages[stage];
      double hop = 0;
      for (int index : rowsOf.sent(stage, Action::Backward)) {
        const Channel &channel = pipeline.channels[index];
        hop = std::max(hop, channel.latencySeconds + channel.transferSeconds +
                                channel.copyOutSeconds + channel.copyInSeconds);
      }
      drain += hop;
      counts.push_back(
          preference.weightsForDrain && of.weightSeconds > 0
              ? size_t(std::min<double>(microbatches, drain / of.weightSeconds))
              : size_t(microbatches));
      drain += of.overheadSeconds + of.backwardSeconds - of.weightSeconds;
    }
    return counts;
  }

  Messages &messagesOf(int stage, Action action, int microbatch) {
    return messages[(2 * size_t(stage) + (action == Action::Backward)) *
                        microbatches +
                    microbatch];
  }

  /// When a forward or backward can begin as far as its messages are concerned:
  /// now, when the last one arrives, or at a time that is not known yet.
  double readyAt(int stage, Action action, int microbatch, double now) {
    const Messages &of = messagesOf(stage, action, microbatch);
    return of.missing == 0 ? now : of.unsent == 0 ? of.latest : never;
  }

  /// When the place's next forward can begin.
  double forwardAt(const Place &place, double now) {
    const PipelineStage &stage = pipeline.stages[place.stage];
    if (place.nextForward >= microbatches ||
        (stage.hasBackward && place.inFlight >= limits[place.stage]))
      return never;
    return readyAt(place.stage, Action::Forward, place.nextForward, now);
  }

  double backwardAt(const Place &place, double now) {
    if (!pipeline.stages[place.stage].hasBackward ||
        place.nextBackward >= place.nextForward)
      return never;
    return readyAt(place.stage, Action::Backward, place.nextBackward, now);
  }

  /// Orders what is ready on one rank: the least goes first.
  std::tuple<int, int, int> turnOf(const Place &place, Action action) const {
    bool forward = action == Action::Forward;
    int microbatch = forward ? place.nextForward : place.nextBackward;
    // Through the stages in their order, and back.
    int stage = forward && preference.inGroups ? place.stage : -place.stage;
    if (preference.inGroups)
      return {microbatch / numbers.count, stage, microbatch};
    // A microbatch that is nearly through frees memory.
    return forward ? std::tuple(0, stage, microbatch)
                   : std::tuple(0, microbatch, stage);
  }

  void start(Rank &rank, double now) {
    Place *forward = nullptr, *backward = nullptr, *weight = nullptr,
          *pressing = nullptr;
    double next = never; // the first forward or backward that is to come
    auto consider = [&](Place *&best, Place &place, Action action,
                        double seconds) {
      next = std::min(next, seconds);
      if (seconds <= now &&
          (!best || turnOf(place, action) < turnOf(*best, action)))
        best = &place;
    };
    for (Place &place : rank.places) {
      consider(forward, place, Action::Forward, forwardAt(place, now));
      consider(backward, place, Action::Backward, backwardAt(place, now));
      if (place.weights.empty())
        continue;
      if (!weight || place.weights.front() < weight->weights.front())
        weight = &place;
      if (place.weights.size() > putOff[place.stage])
        pressing = &place;
    }
    if (preference.forwardsThenBackwards &&
        std::any_of(rank.places.begin(), rank.places.end(),
                    [&](const Place &place) {
                      return place.nextForward < microbatches;
                    }))
      backward = nullptr;
    bool backwardFirst =
        preference.first == First::Backward ||
        (preference.first == First::InTurn && rank.last == Action::Forward);
    if (backward && (backwardFirst || !forward))
      return begin(rank, *backward, Action::Backward, now);
    if (pressing)
      return begin(rank, *pressing, Action::Weight, now);
    if (forward)
      return begin(rank, *forward, Action::Forward, now);
    if (!weight || (preference.weightsOnlyFit &&
                    next < now + pipeline.stages[weight->stage].weightSeconds))
      return;
    begin(rank, *weight, Action::Weight, now);
  }

  void begin(Rank &rank, Place &place, Action action, double now) {
    const PipelineStage &stage = pipeline.stages[place.stage];
    bool apart = parts == Parts::WeightApart && stage.hasWeight;
    double seconds = stage.overheadSeconds;
    switch (action) {
    case Action::Weight:
      rowsOf.appendWeight(place.stage, place.weights.front(), rank.rows);
      place.weights.pop_front();
      seconds = stage.weightSeconds;
      --place.inFlight;
      break;
    case Action::Backward:
      rowsOf.append(place.stage, action, place.nextBackward, rank.rows);
      seconds += stage.backwardSeconds - (apart ? stage.weightSeconds : 0);
      if (apart)
        place.weights.push_back(place.nextBackward);
      else
        --place.inFlight;
      place.nextBackward += stage.replicas;
      break;
    default:
      rowsOf.append(place.stage, action, place.nextForward, rank.rows);
      seconds += stage.forwardSeconds;
      ++place.inFlight;
      place.nextForward += stage.replicas;
    }
    if (action != Action::Weight) {
      rank.last = action;
      for (int channel : rowsOf.received(place.stage, action))
        seconds += pipeline.channels[channel].receiveSeconds;
    }
    rank.busy = true;
    happenings.push(
        {now + seconds, numbers.of(place.stage, place.replica), nullptr});
  }

  /// Sends what the compute that has ended gave.
  void end(Rank &rank, double now) {
    rank.busy = false;
    double seconds = now;
    for (; rank.unsent < rank.rows.size(); ++rank.unsent) {
      const Row &row = rank.rows[rank.unsent];
      if (row.action != Action::Send)
        continue;
      const Channel &channel = pipeline.channels[row.channel];
      seconds += channel.sendSeconds;
      Messages &of =
          messagesOf(row.peerStage,
                     channel.isGradient() ? Action::Backward : Action::Forward,
                     row.microbatch);
      double arrival = transfers.send(row, seconds).arrival;
      of.latest = std::max(of.latest, arrival);
      --of.unsent;
      happenings.push(
          {arrival, numbers.of(row.peerStage, row.peerReplica), &of});
    }
    if (seconds == now)
      return;
    rank.busy = true;
    happenings.push({seconds, int(&rank - ranks.data()), nullptr});
  }

  static constexpr double never = std::numeric_limits<double>::infinity();
  const Pipeline &pipeline;
  int microbatches;
  Parts parts;
  Preference preference;
  StageRows rowsOf;
  Ranks numbers;
  Transfers transfers;
  std::vector<int> limits;        ///< by stage
  std::vector<size_t> putOff;     ///< by stage
  std::vector<Messages> messages; ///< by stage, part, microbatch
  std::vector<Rank> ranks;
  std::priority_queue<Happening> happenings;
};

} // namespace

Schedule greedyTable(const Pipeline &pipeline, int microbatches, Parts parts,
                     Preference preference) {
  return Greedy(pipeline, microbatches, parts, preference).run();
}

} // namespace hethub::simulator

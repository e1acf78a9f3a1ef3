// Backwards in two parts: gradients of activations go back at once, those of
// parameters fill what would be a gap.
//
// Qi, Wan, Huang, Lin: Zero bubble pipeline parallelism (2023), of whose
// heuristic this keeps the idea: each rank takes, in simulated time, what is
// there, and a weight part when nothing else is or when memory is full. Stages
// may be uneven here, so several rules of choice are simulated and the fastest
// table is taken; one forward, one backward in two parts is among them.
//
// Why no table waits for ever: of the microbatches whose backwards have not all
// ended take the first. What its stages hold of earlier ones are weight parts,
// which wait for nothing, so its forwards and backwards come next everywhere.
#include "TrainingTables.h"
#include "Transfers.h"

#include "hethub/Simulator/Simulator.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>

namespace hethub::simulator {

namespace {

/// What a rank prefers when it may choose.
enum class First { Backward, Forward, InTurn };
struct Preference {
  First first;          ///< Of a forward and a backward that are both ready.
  bool weightsOnlyFit;  ///< No weight part that a message which is under way
                        ///< would have to wait for.
  bool weightsForDrain; ///< No more weight parts put off than fit in the time
                        ///< until gradients have reached the first stage.
};

class Greedy {
public:
  Greedy(const Pipeline &pipeline, int microbatches, Preference preference)
      : pipeline(pipeline), microbatches(microbatches), preference(preference),
        rowsOf(pipeline, Parts::WeightApart), numbers(pipeline),
        transfers(pipeline), limits(limitsOf()), putOff(putOffOf()) {
    for (int stage = 0; stage < int(pipeline.stages.size()); ++stage) {
      for (Action action : {Action::Forward, Action::Backward}) {
        int count = int(rowsOf.received(stage, action).size());
        messages.insert(messages.end(), microbatches, {count, count, 0});
      }
      for (int replica = 0; replica < pipeline.stages[stage].replicas;
           ++replica) {
        Rank rank;
        rank.stage = stage;
        rank.replica = rank.nextForward = rank.nextBackward = replica;
        ranks.push_back(std::move(rank));
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
      endStep(pipeline, rank.stage, rank.replica, schedule.rows);
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
  struct Rank {
    int stage = 0, replica = 0;
    int nextForward = 0, nextBackward = 0; ///< microbatches
    std::deque<int> weights;               ///< microbatches that wait for it
    int inFlight = 0;
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
      int limit = stage.inFlightLimit > 0 ? stage.inFlightLimit
                  : stage.inFlight > 0    ? stage.inFlight
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
    return of.missing == 0  ? now
           : of.unsent == 0 ? of.latest
                            : std::numeric_limits<double>::infinity();
  }

  void start(Rank &rank, double now) {
    const PipelineStage &stage = pipeline.stages[rank.stage];
    double never = std::numeric_limits<double>::infinity();
    double forward =
        rank.nextForward >= microbatches ||
                (stage.hasBackward && rank.inFlight >= limits[rank.stage])
            ? never
            : readyAt(rank.stage, Action::Forward, rank.nextForward, now);
    double backward =
        !stage.hasBackward || rank.nextBackward >= rank.nextForward
            ? never
            : readyAt(rank.stage, Action::Backward, rank.nextBackward, now);
    bool mayForward = forward <= now, mayBackward = backward <= now;
    bool weightsPressing = rank.weights.size() > putOff[rank.stage];
    bool backwardFirst =
        preference.first == First::Backward ||
        (preference.first == First::InTurn && rank.last == Action::Forward);
    if (mayBackward && (backwardFirst || !mayForward))
      return begin(rank, Action::Backward, now);
    if (weightsPressing)
      return begin(rank, Action::Weight, now);
    if (mayForward)
      return begin(rank, Action::Forward, now);
    if (rank.weights.empty())
      return;
    if (preference.weightsOnlyFit &&
        std::min(forward, backward) < now + stage.weightSeconds)
      return;
    begin(rank, Action::Weight, now);
  }

  void begin(Rank &rank, Action action, double now) {
    const PipelineStage &stage = pipeline.stages[rank.stage];
    bool apart = stage.hasBackward && stage.hasWeight;
    double seconds = stage.overheadSeconds;
    switch (action) {
    case Action::Weight:
      rowsOf.appendWeight(rank.stage, rank.weights.front(), rank.rows);
      rank.weights.pop_front();
      seconds = stage.weightSeconds;
      --rank.inFlight;
      break;
    case Action::Backward:
      rowsOf.append(rank.stage, action, rank.nextBackward, rank.rows);
      seconds += stage.backwardSeconds - (apart ? stage.weightSeconds : 0);
      if (apart)
        rank.weights.push_back(rank.nextBackward);
      else
        --rank.inFlight;
      rank.nextBackward += stage.replicas;
      break;
    default:
      rowsOf.append(rank.stage, action, rank.nextForward, rank.rows);
      seconds += stage.forwardSeconds;
      ++rank.inFlight;
      rank.nextForward += stage.replicas;
    }
    if (action != Action::Weight)
      rank.last = action;
    if (action != Action::Weight)
      for (int channel : rowsOf.received(rank.stage, action))
        seconds += pipeline.channels[channel].receiveSeconds;
    rank.busy = true;
    happenings.push(
        {now + seconds, numbers.of(rank.stage, rank.replica), nullptr});
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
    happenings.push({seconds, numbers.of(rank.stage, rank.replica), nullptr});
  }

  const Pipeline &pipeline;
  int microbatches;
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

Schedule zeroBubble(const Pipeline &pipeline, int microbatches) {
  std::vector<Schedule> tables;
  for (Parts parts : {Parts::WeightLast, Parts::SendLast})
    tables.push_back(inTurn(pipeline, microbatches,
                            ScheduleKind::OneForwardOneBackward, parts));
  for (First first : {First::InTurn, First::Backward, First::Forward})
    for (bool weightsOnlyFit : {true, false})
      for (bool weightsForDrain : {true, false})
        tables.push_back(Greedy(pipeline, microbatches,
                                {first, weightsOnlyFit, weightsForDrain})
                             .run());
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t index = 0; index < tables.size(); ++index) {
    double seconds = simulateGenerated(tables[index], pipeline).stepSeconds;
    // Rounding must not choose.
    if (seconds < least * (1 - 1e-12)) {
      least = seconds;
      best = index;
    }
  }
  return std::move(tables[best]);
}

} // namespace hethub::simulator

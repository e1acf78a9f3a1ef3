// Refuses tables that cannot run.
//
// Waiting is judged by the strictest runtime: a send ends only when its receive
// has been reached (rendezvous). Receives that stand next to each other are
// posted together, and so are sends; they end in any order. Training is judged
// by a runtime that keeps a value until it is taken, since one forward, one
// backward has both ends of a pair send to each other first.
#include "Ranks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

using namespace llvm;

namespace hethub::simulator {

static Error fail(const Row &row, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           toString(row) + ": " + message);
}

namespace {

class Validator {
public:
  Validator(const Schedule &schedule, const Pipeline &pipeline)
      : schedule(schedule), pipeline(pipeline), ranks(pipeline),
        places(pipeline), rowsOfRank(ranks.count), rowsOfPlace(places.count) {}

  Error run() {
    for (const Row &row : schedule.rows)
      if (Error error = checkFields(row))
        return error;
    for (size_t index = 0; index < schedule.rows.size(); ++index) {
      const Row &row = schedule.rows[index];
      rowsOfRank[ranks.of(row.stage, row.replica)].push_back(index);
      rowsOfPlace[places.of(row.stage, row.replica)].push_back(index);
    }
    if (Error error = checkComputes())
      return error;
    if (schedule.training)
      if (Error error = checkStepEnds())
        return error;
    if (Error error = checkPairs())
      return error;
    return execute();
  }

private:
  Error checkFields(const Row &row) {
    int stages = pipeline.stages.size();
    if (row.stage < 0 || row.stage >= stages)
      return fail(row, "the stage must be below " + Twine(stages));
    if (row.replica < 0 || row.replica >= pipeline.stages[row.stage].replicas)
      return fail(row, "the replica must be below " +
                           Twine(pipeline.stages[row.stage].replicas));
    if (row.microbatch < 0 || row.microbatch >= schedule.microbatches)
      return fail(row, "the microbatch must be below " +
                           Twine(schedule.microbatches));
    if (row.action == Action::Forward)
      return Error::success();
    if (row.action != Action::Send && row.action != Action::Receive) {
      if (!schedule.training)
        return fail(
            row,
            "an inference table must have receives, forwards and sends only");
      const PipelineStage &of = pipeline.stages[row.stage];
      if ((row.action == Action::Backward && !of.hasBackward) ||
          (row.action == Action::Weight && !(of.hasBackward && of.hasWeight)))
        return fail(row, "the stage must have this part");
      return Error::success();
    }
    if (row.channel < 0 || row.channel >= int(pipeline.channels.size()))
      return fail(row, "the channel must be below " +
                           Twine(pipeline.channels.size()));
    const Channel &channel = pipeline.channels[row.channel];
    bool send = row.action == Action::Send;
    if (row.stage != (send ? channel.fromStage : channel.toStage) ||
        row.peerStage != (send ? channel.toStage : channel.fromStage))
      return fail(row, "the channel goes from stage " +
                           Twine(channel.fromStage) + " to stage " +
                           Twine(channel.toStage));
    if (row.peerReplica < 0 ||
        row.peerReplica >= pipeline.stages[row.peerStage].replicas)
      return fail(row, "the peer's replica must be below " +
                           Twine(pipeline.stages[row.peerStage].replicas));
    if (row.bytes != channel.bytes)
      return fail(row, "the channel carries " + Twine(channel.bytes) +
                           " bytes, got: " + Twine(row.bytes));
    return Error::success();
  }

  /// Index of what belongs to a forward (0) or to a backward (1).
  bool isBackward(const Row &row) const {
    return row.channel >= 0 ? pipeline.channels[row.channel].isGradient()
                            : row.action == Action::Backward;
  }

  /// Each stage computes each microbatch once, after it has received all of its
  /// inputs and before it sends; in training also backward, on the replica that
  /// went forward.
  Error checkComputes() {
    std::vector<unsigned> inputs[2], outputs[2];
    for (bool backward : {false, true}) {
      inputs[backward].assign(pipeline.stages.size(), 0);
      outputs[backward].assign(pipeline.stages.size(), 0);
    }
    for (const Channel &channel : pipeline.channels) {
      ++inputs[channel.isGradient()][channel.toStage];
      ++outputs[channel.isGradient()][channel.fromStage];
    }
    std::vector<std::vector<int>> computedBy[2];
    for (bool backward : {false, true})
      computedBy[backward].assign(pipeline.stages.size(),
                                  std::vector<int>(schedule.microbatches, -1));
    // Weights are a part of their own in all of a stage or nowhere in it.
    std::vector<int> weights(pipeline.stages.size(), 0);
    for (const std::vector<size_t> &rows : rowsOfPlace) {
      std::map<int, unsigned> received[2], sent[2];
      std::set<int> computed[2], weighed;
      for (size_t index : rows) {
        const Row &row = schedule.rows[index];
        bool backward = isBackward(row);
        if (row.action == Action::Receive) {
          ++received[backward][row.microbatch];
        } else if (row.action == Action::Send) {
          if (!computed[backward].count(row.microbatch))
            return fail(row, "a value must be computed before it is sent");
          ++sent[backward][row.microbatch];
        } else if (row.action == Action::Weight) {
          if (!computed[1].count(row.microbatch))
            return fail(row, "a weight must come after its backward, on the "
                             "same replica");
          if (!weighed.insert(row.microbatch).second)
            return fail(row, "a microbatch must be computed once in a stage");
          ++weights[row.stage];
        } else if (row.action == Action::Forward ||
                   row.action == Action::Backward) {
          unsigned needed = inputs[backward][row.stage];
          if (received[backward][row.microbatch] != needed)
            return fail(row, "must come after the receives of its " +
                                 Twine(needed) + " channels, got: " +
                                 Twine(received[backward][row.microbatch]));
          if (backward && !computed[0].count(row.microbatch))
            return fail(row, "a backward must come after its forward, on the "
                             "same replica");
          int &by = computedBy[backward][row.stage][row.microbatch];
          if (by >= 0)
            return fail(row, "a microbatch must be computed once in a stage, "
                             "got: also on replica " +
                                 Twine(by));
          by = row.replica;
          computed[backward].insert(row.microbatch);
        }
      }
      if (rows.empty())
        continue;
      const Row &first = schedule.rows[rows[0]];
      for (bool backward : {false, true}) {
        for (const auto &[microbatch, count] : received[backward])
          if (!computed[backward].count(microbatch) ||
              count != inputs[backward][first.stage])
            return fail(first, "receives of microbatch " + Twine(microbatch) +
                                   " must all come before its " +
                                   (backward ? "backward" : "forward") +
                                   ", on the same replica");
        unsigned needed = outputs[backward][first.stage];
        for (int microbatch : computed[backward])
          if (sent[backward][microbatch] != needed)
            return fail(first, "microbatch " + Twine(microbatch) +
                                   " must be sent on " + Twine(needed) +
                                   " channels, got: " +
                                   Twine(sent[backward][microbatch]));
      }
    }
    for (size_t stage = 0; stage < pipeline.stages.size(); ++stage)
      if (weights[stage] != 0 && weights[stage] != schedule.microbatches)
        return createStringError(
            inconvertibleErrorCode(),
            "stage " + Twine(stage) +
                ": all microbatches or none must have a weight, got: " +
                Twine(weights[stage]) + " of " + Twine(schedule.microbatches));
    for (bool backward : {false, true})
      for (size_t stage = 0; stage < pipeline.stages.size(); ++stage)
        for (int microbatch = 0; microbatch < schedule.microbatches;
             ++microbatch)
          if (computedBy[backward][stage][microbatch] < 0 &&
              (!backward ||
               (schedule.training && pipeline.stages[stage].hasBackward)))
            return createStringError(
                inconvertibleErrorCode(),
                "stage " + Twine(stage) + ": microbatch " + Twine(microbatch) +
                    " must " + (backward ? "go backward" : "be computed") +
                    ", got: never");
    return Error::success();
  }

  /// Training ends on each rank with the sums of gradients, where there are
  /// others to sum with, and the optimizer steps of its stages. All ranks sum
  /// in the order of stages.
  Error checkStepEnds() {
    for (const std::vector<size_t> &rows : rowsOfRank) {
      const Row *end = nullptr, *sum = nullptr;
      for (size_t index : rows) {
        const Row &row = schedule.rows[index];
        if (row.action == Action::AllReduce) {
          if (sum && sum->stage > row.stage)
            return fail(row, "a rank must sum in the order of its stages");
          sum = &row;
        }
        if (row.action == Action::AllReduce ||
            row.action == Action::OptimizerStep)
          end = &row;
        else if (end && row.action != Action::Send)
          return fail(row, "must come before the " + toString(end->action));
      }
    }
    for (size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
      bool sums = pipeline.stages[stage].sumsGradients();
      std::vector<Action> wanted;
      if (sums)
        wanted.push_back(Action::AllReduce);
      wanted.push_back(Action::OptimizerStep);
      for (int replica = 0; replica < pipeline.stages[stage].replicas;
           ++replica) {
        std::vector<Action> found;
        for (size_t index : rowsOfPlace[places.of(int(stage), replica)]) {
          Action action = schedule.rows[index].action;
          if (action == Action::AllReduce || action == Action::OptimizerStep)
            found.push_back(action);
        }
        if (found != wanted)
          return createStringError(
              inconvertibleErrorCode(),
              "stage " + Twine(stage) + " replica " + Twine(replica) +
                  ": a step must end with one " +
                  (sums ? "all-reduce and one " : "") + "optimizer step");
      }
    }
    return Error::success();
  }

  /// Sends and receives of one channel between one pair of replicas are the
  /// same microbatches in the same order.
  Error checkPairs() {
    struct Ends {
      std::vector<size_t> sends, receives;
    };
    std::map<std::tuple<int, int, int>, Ends>
        ends; // channel, sender's replica, receiver's replica
    for (size_t index = 0; index < schedule.rows.size(); ++index) {
      const Row &row = schedule.rows[index];
      if (row.action == Action::Send)
        ends[{row.channel, row.replica, row.peerReplica}].sends.push_back(
            index);
      else if (row.action == Action::Receive)
        ends[{row.channel, row.peerReplica, row.replica}].receives.push_back(
            index);
    }
    partner.assign(schedule.rows.size(), ~size_t(0));
    for (auto &[key, pair] : ends) {
      std::set<int> sent, received;
      for (size_t index : pair.sends)
        if (!sent.insert(schedule.rows[index].microbatch).second)
          return fail(schedule.rows[index],
                      "a microbatch must be sent once on a channel");
      for (size_t index : pair.receives)
        if (!received.insert(schedule.rows[index].microbatch).second)
          return fail(schedule.rows[index],
                      "a microbatch must be received once on a channel");
      for (size_t index : pair.sends)
        if (!received.count(schedule.rows[index].microbatch))
          return fail(schedule.rows[index],
                      "a send must have its receive, got: none");
      for (size_t index : pair.receives)
        if (!sent.count(schedule.rows[index].microbatch))
          return fail(schedule.rows[index],
                      "a receive must have its send, got: none");
      for (size_t index = 0; index < pair.sends.size(); ++index) {
        const Row &send = schedule.rows[pair.sends[index]],
                  &receive = schedule.rows[pair.receives[index]];
        if (send.microbatch != receive.microbatch)
          return fail(receive, "both ends of a channel must have the same "
                               "order, got: microbatch " +
                                   Twine(send.microbatch) +
                                   " sent in its place");
        partner[pair.sends[index]] = pair.receives[index];
        partner[pair.receives[index]] = pair.sends[index];
      }
    }
    return Error::success();
  }

  /// Runs the table without times; ranks that cannot go on wait in a cycle.
  Error execute() {
    std::vector<size_t> next(
        ranks.count, 0); // position after the window that the rank is in
    std::vector<size_t> open(ranks.count,
                             0); // rows of the window that have not ended
    std::vector<char> active(schedule.rows.size(),
                             0); // 1: reached and waiting, 2: ended
    std::vector<int> ready;
    for (int rank = 0; rank < ranks.count; ++rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      int rank = ready.back();
      ready.pop_back();
      const std::vector<size_t> &rows = rowsOfRank[rank];
      while (open[rank] == 0 && next[rank] < rows.size()) {
        Action action = schedule.rows[rows[next[rank]]].action;
        if (action != Action::Send && action != Action::Receive) {
          ++next[rank];
          continue;
        }
        for (; next[rank] < rows.size() &&
               schedule.rows[rows[next[rank]]].action == action;
             ++next[rank]) {
          size_t row = rows[next[rank]], other = partner[row];
          bool waits = action == Action::Receive || !schedule.training;
          active[row] = waits ? 1 : 2;
          open[rank] += waits;
          if (!active[other])
            continue;
          open[rank] -= waits;
          int peer = ranks.of(schedule.rows[other].stage,
                              schedule.rows[other].replica);
          bool peerWaits = active[other] == 1;
          active[other] = active[row] = 2;
          if (peerWaits && --open[peer] == 0)
            ready.push_back(peer);
        }
      }
    }
    for (int rank = 0; rank < ranks.count; ++rank)
      for (size_t row : rowsOfRank[rank])
        if (active[row] == 1)
          return fail(schedule.rows[row],
                      "ranks must not wait for each other in a cycle, got: "
                      "this row waits for '" +
                          toString(schedule.rows[partner[row]]) +
                          "', which is never reached");
    return Error::success();
  }

  const Schedule &schedule;
  const Pipeline &pipeline;
  Ranks ranks;
  Places places;
  std::vector<std::vector<size_t>> rowsOfRank, rowsOfPlace;
  std::vector<size_t> partner;
};

Error checkPipeline(const Pipeline &pipeline, bool training) {
  auto fail = [](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), message);
  };
  int stages = pipeline.stages.size();
  if (stages == 0)
    return fail("a pipeline must have at least one stage");
  if (!training && isInterleaved(pipeline))
    return fail("stages must have ranks of their own in inference");
  int ranks = 0;
  for (int stage = 0; stage < stages; ++stage) {
    if (pipeline.stages[stage].replicas < 1)
      return fail("stage " + Twine(stage) +
                  ": replicas must be at least 1, got: " +
                  Twine(pipeline.stages[stage].replicas));
    const PipelineStage &of = pipeline.stages[stage];
    if (of.firstRank > ranks || of.firstRank < -1)
      return fail("stage " + Twine(stage) +
                  ": its first rank must be at most " + Twine(ranks) +
                  ", so that none is left out, got: " + Twine(of.firstRank));
    ranks = std::max(ranks,
                     (of.firstRank < 0 ? ranks : of.firstRank) + of.replicas);
    if (!(of.weightSeconds <= of.backwardSeconds))
      return fail("stage " + Twine(stage) +
                  ": weight seconds must be at most those of the backward");
    for (auto [name, seconds] : {std::pair("forward", of.forwardSeconds),
                                 std::pair("backward", of.backwardSeconds),
                                 std::pair("weight", of.weightSeconds),
                                 std::pair("overhead", of.overheadSeconds),
                                 std::pair("all-reduce", of.allReduceSeconds),
                                 std::pair("optimizer", of.optimizerSeconds)})
      if (!(seconds >= 0 && std::isfinite(seconds)))
        return fail("stage " + Twine(stage) + ": " + name +
                    " seconds must be at least 0");
  }
  for (size_t index = 0; index < pipeline.channels.size(); ++index) {
    const Channel &channel = pipeline.channels[index];
    if (channel.fromStage < 0 || channel.toStage < 0 ||
        channel.fromStage >= stages || channel.toStage >= stages ||
        channel.fromStage == channel.toStage ||
        (channel.isGradient() && !training))
      return fail("channel " + Twine(index) +
                  (training ? " must go from a stage to another one, got: "
                            : " must go from a stage to a later one, got: ") +
                  Twine(channel.fromStage) + " to " + Twine(channel.toStage));
    bool valid = channel.bytes >= 0;
    for (double seconds : {channel.latencySeconds, channel.transferSeconds,
                           channel.copyOutSeconds, channel.copyInSeconds,
                           channel.sendSeconds, channel.receiveSeconds})
      valid &= seconds >= 0 && std::isfinite(seconds);
    if (!valid)
      return fail("channel " + Twine(index) +
                  ": bytes and seconds must be at least 0");
  }
  return Error::success();
}

} // namespace

Error validate(const Schedule &schedule, const Pipeline &pipeline) {
  if (Error error = checkPipeline(pipeline, schedule.training))
    return error;
  if (schedule.perMicrobatch) {
    // Enough microbatches that each replica of each stage repeats.
    int most = 1;
    for (const PipelineStage &stage : pipeline.stages)
      most = std::max(most, stage.replicas);
    for (const Row &row : schedule.rows)
      if (row.stage < 0 || row.stage >= int(pipeline.stages.size()) ||
          row.replica != 0 || row.microbatch != 0)
        return fail(row, "a table of one microbatch must have rows of its "
                         "stages, of replica 0 and microbatch 0 only");
    return validate(expand(schedule, pipeline, 2 * most), pipeline);
  }
  return Validator(schedule, pipeline).run();
}

} // namespace hethub::simulator

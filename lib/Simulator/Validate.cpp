// Refuses tables that cannot run.
//
// Waiting is judged by the strictest runtime: a send ends only when its receive
// has been reached (rendezvous). Receives that stand next to each other are
// posted together, and so are sends; they end in any order.
#include "Ranks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"

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
        rowsOf(ranks.count) {}

  Error run() {
    for (const Row &row : schedule.rows)
      if (Error error = checkFields(row))
        return error;
    for (size_t index = 0; index < schedule.rows.size(); ++index)
      rowsOf[ranks.of(schedule.rows[index].stage, schedule.rows[index].replica)]
          .push_back(index);
    if (Error error = checkComputes())
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
    if (row.action != Action::Send && row.action != Action::Receive)
      return fail(
          row,
          "an inference table must have receives, forwards and sends only");
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

  /// Each stage computes each microbatch once, after it has received all of its
  /// inputs and before it sends.
  Error checkComputes() {
    std::vector<unsigned> inputs(pipeline.stages.size(), 0),
        outputs(pipeline.stages.size(), 0);
    for (const Channel &channel : pipeline.channels) {
      ++inputs[channel.toStage];
      ++outputs[channel.fromStage];
    }
    std::vector<std::vector<int>> computedBy(
        pipeline.stages.size(), std::vector<int>(schedule.microbatches, -1));
    for (const std::vector<size_t> &rows : rowsOf) {
      std::map<int, unsigned> received, sent;
      std::set<int> computed;
      for (size_t index : rows) {
        const Row &row = schedule.rows[index];
        if (row.action == Action::Receive) {
          ++received[row.microbatch];
        } else if (row.action == Action::Send) {
          if (!computed.count(row.microbatch))
            return fail(row, "a value must be computed before it is sent");
          ++sent[row.microbatch];
        } else {
          if (received[row.microbatch] != inputs[row.stage])
            return fail(row, "must come after the receives of its " +
                                 Twine(inputs[row.stage]) + " channels, got: " +
                                 Twine(received[row.microbatch]));
          int &by = computedBy[row.stage][row.microbatch];
          if (by >= 0)
            return fail(row, "a microbatch must be computed once in a stage, "
                             "got: also on replica " +
                                 Twine(by));
          by = row.replica;
          computed.insert(row.microbatch);
        }
      }
      for (const auto &[microbatch, count] : received)
        if (!computed.count(microbatch) ||
            count != inputs[schedule.rows[rows[0]].stage])
          return fail(
              schedule.rows[rows[0]],
              "receives of microbatch " + Twine(microbatch) +
                  " must all come before its forward, on the same replica");
      for (int microbatch : computed)
        if (sent[microbatch] != outputs[schedule.rows[rows[0]].stage])
          return fail(schedule.rows[rows[0]],
                      "microbatch " + Twine(microbatch) + " must be sent on " +
                          Twine(outputs[schedule.rows[rows[0]].stage]) +
                          " channels, got: " + Twine(sent[microbatch]));
    }
    for (size_t stage = 0; stage < computedBy.size(); ++stage)
      for (int microbatch = 0; microbatch < schedule.microbatches; ++microbatch)
        if (computedBy[stage][microbatch] < 0)
          return createStringError(inconvertibleErrorCode(),
                                   "stage " + Twine(stage) + ": microbatch " +
                                       Twine(microbatch) +
                                       " must be computed, got: never");
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
    std::vector<char> active(schedule.rows.size(), 0);
    std::vector<int> ready;
    for (int rank = 0; rank < ranks.count; ++rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      int rank = ready.back();
      ready.pop_back();
      const std::vector<size_t> &rows = rowsOf[rank];
      while (open[rank] == 0 && next[rank] < rows.size()) {
        Action action = schedule.rows[rows[next[rank]]].action;
        if (action == Action::Forward) {
          ++next[rank];
          continue;
        }
        for (; next[rank] < rows.size() &&
               schedule.rows[rows[next[rank]]].action == action;
             ++next[rank]) {
          size_t row = rows[next[rank]], other = partner[row];
          active[row] = 1;
          ++open[rank];
          if (!active[other])
            continue;
          --open[rank];
          int peer = ranks.of(schedule.rows[other].stage,
                              schedule.rows[other].replica);
          active[other] = active[row] = 2;
          if (peer != rank && --open[peer] == 0)
            ready.push_back(peer);
        }
      }
    }
    for (int rank = 0; rank < ranks.count; ++rank)
      for (size_t row : rowsOf[rank])
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
  std::vector<std::vector<size_t>> rowsOf;
  std::vector<size_t> partner;
};

Error checkPipeline(const Pipeline &pipeline) {
  auto fail = [](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), message);
  };
  int stages = pipeline.stages.size();
  if (stages == 0)
    return fail("a pipeline must have at least one stage");
  for (int stage = 0; stage < stages; ++stage) {
    if (pipeline.stages[stage].replicas < 1)
      return fail("stage " + Twine(stage) +
                  ": replicas must be at least 1, got: " +
                  Twine(pipeline.stages[stage].replicas));
    if (!(pipeline.stages[stage].forwardSeconds >= 0))
      return fail("stage " + Twine(stage) +
                  ": forward seconds must be at least 0");
  }
  for (size_t index = 0; index < pipeline.channels.size(); ++index) {
    const Channel &channel = pipeline.channels[index];
    if (channel.fromStage < 0 || channel.toStage >= stages ||
        channel.fromStage >= channel.toStage)
      return fail("channel " + Twine(index) +
                  " must go from a stage to a later one, got: " +
                  Twine(channel.fromStage) + " to " + Twine(channel.toStage));
    if (channel.bytes < 0 || !(channel.latencySeconds >= 0) ||
        !(channel.transferSeconds >= 0))
      return fail("channel " + Twine(index) +
                  ": bytes and seconds must be at least 0");
  }
  return Error::success();
}

} // namespace

Error validate(const Schedule &schedule, const Pipeline &pipeline) {
  if (Error error = checkPipeline(pipeline))
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

// Ranks, and the schedule rows of one stage unrolled for one replica and a
// number of microbatches.
#include "TrainingTable.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Executor.h"

#include <algorithm>
#include <set>

using namespace hethub::runtime;

namespace {
/// Of the first replica of each stage, and the number of ranks behind them.
std::vector<int> firstRanks(const StageSpec &spec) {
  std::vector<int> first;
  int size = 0;
  for (const DeviceSpec &device : spec.stages) {
    first.push_back(device.firstRank >= 0 ? device.firstRank : size);
    size = std::max(size, first.back() + device.replicas);
  }
  first.push_back(size);
  return first;
}
} // namespace

int hethub::runtime::rankOf(const StageSpec &spec, int stage, int replica) {
  return firstRanks(spec)[static_cast<size_t>(stage)] + replica;
}

int hethub::runtime::worldSize(const StageSpec &spec) {
  return firstRanks(spec).back();
}

std::vector<Place> hethub::runtime::placesOf(const StageSpec &spec, int rank) {
  std::vector<int> first = firstRanks(spec);
  std::vector<Place> places;
  for (size_t stage = 0; stage < spec.stages.size(); ++stage)
    if (rank >= first[stage] &&
        rank < first[stage] + spec.stages[stage].replicas)
      places.push_back({static_cast<int>(stage), rank - first[stage]});
  return places;
}

bool hethub::runtime::isInterleaved(const StageSpec &spec) {
  int places = 0;
  for (const DeviceSpec &device : spec.stages)
    places += device.replicas;
  return places > worldSize(spec);
}

const ChannelSpec *hethub::runtime::findChannel(const StageSpec &spec, int id) {
  for (const ChannelSpec &channel : spec.channels)
    if (channel.id == id)
      return &channel;
  return nullptr;
}

void hethub::runtime::checkChannel(const StageSpec &spec, const PortSpec &port,
                                   bool isInput) {
  if (port.channel < 0)
    return;
  const ChannelSpec *channel = findChannel(spec, port.channel);
  if (!channel)
    fail("port '", port.name, "' names an unknown channel: ", port.channel);
  if ((isInput ? channel->toStage : channel->fromStage) != spec.stage)
    fail("port '", port.name, "' uses channel ", port.channel,
         " in the wrong direction");
}

const char *hethub::runtime::nameOf(Action action) {
  static constexpr const char *names[] = {
      "none",     "receive", "forward",    "send",
      "backward", "weight",  "all-reduce", "optimizer step"};
  auto index = static_cast<size_t>(action);
  return index < std::size(names) ? names[index] : "unknown";
}

namespace {
/// Every channel of a port must be described, and each row must find what it
/// needs.
void checkRows(const StageSpec &spec,
               const std::vector<const RowSpec *> &rows) {
  std::set<int> received;
  bool computed = false;
  for (const RowSpec *row : rows) {
    if (row->action == Action::Receive)
      received.insert(row->channel);
    if (row->action == Action::Forward) {
      for (const PortSpec &input : spec.inputs)
        if (input.channel >= 0 && !received.count(input.channel))
          fail("schedule of stage ", spec.stage,
               " computes before it has received '", input.name, "'");
      computed = true;
    }
    if (row->action == Action::Send && !computed)
      fail("schedule of stage ", spec.stage, " sends on channel ", row->channel,
           " before it has computed");
  }
  if (!computed)
    fail("schedule of stage ", spec.stage, " never computes");
}
/// No rank may be left out, and a rank is one device.
void checkRanks(const StageSpec &spec) {
  std::vector<int> first = firstRanks(spec);
  int size = 0;
  for (size_t stage = 0; stage < spec.stages.size(); ++stage) {
    if (first[stage] > size)
      fail("the first rank of stage ", stage, " must be at most ", size,
           ", so that none is left out, got: ", first[stage]);
    size = std::max(size, first[stage] + spec.stages[stage].replicas);
  }
  if (!isInterleaved(spec))
    return;
  if (!spec.training)
    fail("stages must have ranks of their own in inference");
  for (int rank = 0; rank < size; ++rank) {
    std::vector<Place> places = placesOf(spec, rank);
    auto deviceOf = [&](const Place &place) {
      return spec.stages[static_cast<size_t>(place.stage)];
    };
    for (const Place &place : places) {
      if (place.replica != places[0].replica ||
          deviceOf(place).replicas != deviceOf(places[0]).replicas)
        fail("stages that share a rank must share all of theirs, got: stages ",
             places[0].stage, " and ", place.stage, " on rank ", rank);
      if (deviceOf(place).type != deviceOf(places[0]).type ||
          deviceOf(place).kind != deviceOf(places[0]).kind)
        fail("the stages of a rank must have one device type, got: '",
             deviceOf(places[0]).type, "' of stage ", places[0].stage, " and '",
             deviceOf(place).type, "' of stage ", place.stage);
    }
  }
}

/// Rows that receive, run forward and send.
void checkInference(const StageSpec &spec) {
  auto checkPort = [&](const PortSpec &port, bool isInput) {
    if ((port.channel >= 0) == (port.index >= 0) || port.saved >= 0 ||
        !port.gradientOf.empty() || !port.updateOf.empty())
      fail("port '", port.name, "' must have either a channel or an index");
    checkChannel(spec, port, isInput);
  };
  for (const PortSpec &port : spec.inputs)
    checkPort(port, true);
  for (const PortSpec &port : spec.outputs)
    checkPort(port, false);

  std::vector<const RowSpec *> rows;
  for (const RowSpec &row : spec.rows) {
    switch (row.action) {
    case Action::Receive:
    case Action::Send: {
      const ChannelSpec *channel = findChannel(spec, row.channel);
      if (!channel)
        fail("schedule row names an unknown channel: ", row.channel);
      bool receives = row.action == Action::Receive;
      const std::vector<PortSpec> &ports =
          receives ? spec.inputs : spec.outputs;
      if ((receives ? channel->toStage : channel->fromStage) != spec.stage ||
          std::none_of(ports.begin(), ports.end(), [&](const PortSpec &port) {
            return port.channel == row.channel;
          }))
        fail("schedule row of stage ", spec.stage, " can not ",
             nameOf(row.action), " on channel ", row.channel);
      break;
    }
    case Action::Forward:
      break;
    default:
      fail("an inference schedule has no row with action: ",
           nameOf(row.action));
    }
    if (spec.perMicrobatch || (row.microbatch == spec.rows[0].microbatch &&
                               row.replica == spec.rows[0].replica))
      rows.push_back(&row);
  }
  checkRows(spec, rows);
}
} // namespace

void hethub::runtime::checkSpec(const StageSpec &spec) {
  int stages = static_cast<int>(spec.stages.size());
  if (spec.stage < 0 || spec.stage >= stages)
    fail("stage must be one of ", stages, ", got: ", spec.stage);
  for (const DeviceSpec &device : spec.stages)
    if (device.replicas < 1)
      fail("replicas must be at least 1, got: ", device.replicas);
  for (const ChannelSpec &channel : spec.channels) {
    if (channel.fromStage < 0 || channel.fromStage >= stages ||
        channel.toStage < 0 || channel.toStage >= stages)
      fail("channel ", channel.id, " '", channel.name,
           "' leads to a stage that the plan does not have");
    if ((channel.fromStage == spec.stage) == (channel.toStage == spec.stage))
      fail("channel ", channel.id, " '", channel.name, "' must have stage ",
           spec.stage, " at exactly one end");
    if (channel.chunkBytes < 0)
      fail("chunks of channel ", channel.id, " '", channel.name,
           "' must not be negative, got: ", channel.chunkBytes);
  }
  if (spec.microbatches < 1)
    fail("microbatches must be at least 1, got: ", spec.microbatches);
  checkRanks(spec);
  if (spec.training)
    checkTraining(spec);
  else
    checkInference(spec);
}

std::vector<Step> hethub::runtime::expandSchedule(const StageSpec &spec,
                                                  int replica, int microbatches,
                                                  int repeats) {
  if (microbatches < 1 || repeats < 1)
    fail("microbatches and repeats must be at least 1, got: ", microbatches,
         " and ", repeats);
  auto peerStage = [&](const RowSpec &row) {
    const ChannelSpec *channel = findChannel(spec, row.channel);
    return channel->fromStage == spec.stage ? channel->toStage
                                            : channel->fromStage;
  };
  auto hasPeer = [](const RowSpec &row) {
    return row.action == Action::Receive || row.action == Action::Send;
  };
  std::vector<Step> steps;
  int total = microbatches * repeats;
  if (spec.perMicrobatch) {
    // Microbatch j runs on replica j mod replicas of each stage.
    for (int j = replica; j < total;
         j += spec.stages[static_cast<size_t>(spec.stage)].replicas)
      for (const RowSpec &row : spec.rows) {
        Step step{row.action, j, row.channel, -1};
        if (hasPeer(row)) {
          int peer = peerStage(row);
          step.peerRank = rankOf(
              spec, peer, j % spec.stages[static_cast<size_t>(peer)].replicas);
        }
        steps.push_back(step);
      }
    return steps;
  }
  if (total % spec.microbatches != 0)
    fail("microbatches must be a multiple of the schedule's ",
         spec.microbatches, ", got: ", total);
  for (int first = 0; first < total; first += spec.microbatches)
    for (const RowSpec &row : spec.rows)
      if (row.replica == replica)
        steps.push_back(
            {row.action, first + row.microbatch, row.channel,
             hasPeer(row) ? rankOf(spec, peerStage(row), row.peerReplica) : -1,
             row.position});
  return steps;
}

std::vector<Step> hethub::runtime::stepOfRank(const RankStages &stages,
                                              int rank) {
  std::vector<Place> places = placesOf(*stages[0], rank);
  std::vector<Step> steps;
  for (size_t place = 0; place < stages.size(); ++place)
    for (Step step : expandSchedule(*stages[place], places[place].replica,
                                    stages[place]->microbatches, 1)) {
      step.place = place;
      steps.push_back(step);
    }
  std::stable_sort(
      steps.begin(), steps.end(),
      [](const Step &a, const Step &b) { return a.position < b.position; });
  return steps;
}

void hethub::runtime::checkRank(const RankStages &stages, int rank) {
  if (stages.empty())
    fail("rank ", rank, " must run at least one stage, got: none");
  std::string needed, given;
  for (const Place &place : placesOf(*stages[0], rank))
    needed += (needed.empty() ? "" : ", ") + std::to_string(place.stage);
  for (const StageSpec *stage : stages)
    given += (given.empty() ? "" : ", ") + std::to_string(stage->stage);
  if (needed != given)
    fail("rank ", rank, " must run stage ", needed, ", got a program of stage ",
         given);
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i]->planHash != stages[0]->planHash ||
        stages[i]->microbatches != stages[0]->microbatches)
      fail("the stages of rank ", rank,
           " must be of one plan, got another one's stage ", stages[i]->stage);
  }
  if (stages.size() == 1)
    return;
  // The order of rows over all its stages; messages between two of them are
  // handed over in it.
  const Step *last = nullptr;
  std::set<std::pair<int, int>> sent;
  std::vector<Step> steps = stepOfRank(stages, rank);
  for (const Step &step : steps) {
    if (last && last->position == step.position)
      fail("rows of rank ", rank,
           " must have positions of their own, got: ", step.position, " twice");
    last = &step;
    if (step.peerRank != rank)
      continue;
    if (step.action == Action::Send)
      sent.insert({step.channel, step.microbatch});
    else if (!sent.erase({step.channel, step.microbatch}))
      fail("rank ", rank, " receives microbatch ", step.microbatch,
           " on channel ", step.channel, " before it has sent it");
  }
  if (!sent.empty())
    fail("rank ", rank, " sends microbatch ", sent.begin()->second,
         " on channel ", sent.begin()->first, " and never receives it");
}

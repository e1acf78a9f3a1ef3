// Gloo lets a short message pass silently and dies on a long one, so that
// nothing may be sent before both ends of each channel have compared dtype,
// shape, bytes and order.
#include "Agreement.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "run/RunRank.h"
#include "schedule/TrainingTable.h"

#include <nlohmann/json.hpp>

#include <map>
#include <numeric>

using namespace hethub::runtime;
using nlohmann::json;

namespace {
std::string bytesOf(const ChannelSpec &channel) {
  for (int64_t size : channel.shape)
    if (size < 0)
      return "as many as each message says";
  return std::to_string(byteCount(channel.dtype, channel.shape));
}
} // namespace

std::string hethub::runtime::describeRank(const RankStages &stages, int rank,
                                          int microbatches, int repeats,
                                          const std::vector<Step> &steps,
                                          const TrainingTerms &training) {
  const StageSpec &first = *stages[0];
  json description = {{"rank", rank},
                      {"name", rankName(first, rank)},
                      {"plan", first.planHash},
                      {"stages", first.stages.size()},
                      {"microbatches", microbatches},
                      {"repeats", repeats},
                      {"settings", training.settings},
                      {"channels", json::array()},
                      {"shared", json::object()}};
  if (training.samples > 0)
    description["samples"] = training.samples;
  // Parameters of several stages: their gradients are summed side by side.
  for (const StageSpec *stage : stages)
    for (const TrainedSpec &parameter : stage->trained)
      if (parameter.stages.size() > 1)
        description["shared"][parameter.name] =
            typeName(parameter.dtype, parameter.shape) + " in stages" +
            std::accumulate(parameter.stages.begin(), parameter.stages.end(),
                            std::string(), [](std::string text, int stage) {
                              return std::move(text) + " " +
                                     std::to_string(stage);
                            });
  // For each channel and peer: the microbatches in the order in which their
  // messages go. What stays within the rank needs nobody's consent.
  struct Order {
    const StageSpec *stage;
    std::string microbatches;
  };
  std::map<std::pair<int, int>, Order> order;
  for (const Step &step : steps) {
    if (step.channel < 0 || step.peerRank == rank)
      continue;
    Order &of = order[{step.channel, step.peerRank}];
    of.stage = stages[step.place];
    of.microbatches += std::to_string(step.microbatch) + " ";
  }
  for (const auto &[key, of] : order)
    if (const ChannelSpec *channel = findChannel(*of.stage, key.first))
      description["channels"].push_back(
          {{"id", channel->id},
           {"name", channel->name},
           {"peer", key.second},
           {"sends", channel->fromStage == of.stage->stage},
           {"type", typeName(channel->dtype, channel->shape)},
           {"bytes", bytesOf(*channel)},
           {"order", of.microbatches}});
  return description.dump();
}

std::string hethub::runtime::disagreement(const std::string &mineText,
                                          const std::string &otherText) {
  json mine = json::parse(mineText), other = json::parse(otherText);
  std::string me = mine["name"], them = other["name"];
  auto differ = [&](const std::string &what, const json &ours,
                    const json &theirs) {
    auto text = [](const json &value) {
      return value.is_string() ? value.get<std::string>() : value.dump();
    };
    return them + " and " + me + " must agree on " + what +
           ", got: " + text(theirs) + " and " + text(ours);
  };
  for (const auto &[key, what] :
       {std::pair{"plan", "the plan (its hash)"},
        {"stages", "the number of stages"},
        {"microbatches", "the number of microbatches"},
        {"repeats", "the number of repeats"},
        {"settings", "the options of training"}})
    if (mine[key] != other[key])
      return differ(what, mine[key], other[key]);
  if (mine.contains("samples") && other.contains("samples") &&
      mine["samples"] != other["samples"])
    return differ("the number of samples", mine["samples"], other["samples"]);
  for (const auto &[name, type] : mine["shared"].items())
    if (other["shared"].contains(name) && other["shared"][name] != type)
      return differ("the shared parameter '" + name + "'", type,
                    other["shared"][name]);

  auto channelsWith = [](const json &description, int peer) {
    std::map<int, json> channels;
    for (const json &channel : description["channels"])
      if (channel["peer"] == peer)
        channels[channel["id"]] = channel;
    return channels;
  };
  std::map<int, json> ours = channelsWith(mine, other["rank"]),
                      theirs = channelsWith(other, mine["rank"]);
  auto label = [](const json &channel) {
    return "channel " + channel["id"].dump() + " '" +
           channel["name"].get<std::string>() + "'";
  };
  for (const auto &[id, channel] : theirs)
    if (!ours.count(id))
      return them + " uses " + label(channel) + " with " + me +
             ", which does not know it";
  for (const auto &[id, channel] : ours) {
    auto found = theirs.find(id);
    if (found == theirs.end())
      return me + " uses " + label(channel) + " with " + them +
             ", which does not know it";
    if (channel["sends"] == found->second["sends"])
      return differ("the direction of " + label(channel), channel["sends"],
                    found->second["sends"]);
    for (const auto &[key, what] : {std::pair{"type", "the type of "},
                                    {"bytes", "the bytes of "},
                                    {"order", "the order of messages on "}})
      if (channel[key] != found->second[key])
        return differ(what + label(channel), channel[key], found->second[key]);
  }
  return "";
}

void hethub::runtime::agree(c10d::Store &store, const RankStages &stages,
                            int rank, int microbatches, int repeats,
                            const std::vector<Step> &steps,
                            const TrainingTerms &training) {
  std::string mine =
      describeRank(stages, rank, microbatches, repeats, steps, training);
  store.set("agree/" + std::to_string(rank), mine);
  for (int other = 0; other < worldSize(*stages[0]); ++other) {
    if (other == rank)
      continue;
    std::string reason =
        disagreement(mine, store.get_to_str("agree/" + std::to_string(other)));
    if (!reason.empty())
      fail(reason);
  }
}

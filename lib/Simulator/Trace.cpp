// Chrome trace events. The runtime writes the same, so that both open side by
// side.
#include "Ranks.h"
#include "hethub/Simulator/Simulator.h"

#include <map>

using namespace llvm;

namespace hethub::simulator {

static constexpr double microseconds = 1e6;

static int threadOf(Action action) {
  switch (action) {
  case Action::Send:
    return 1;
  case Action::Receive:
    return 2;
  case Action::AllReduce:
    return 3;
  default:
    return 0;
  }
}

json::Value chromeTrace(const Result &result, const Pipeline &pipeline) {
  Ranks ranks(pipeline);
  json::Array events;
  auto meta = [&](int rank, int thread, const char *what, std::string name) {
    events.push_back(
        json::Object{{"name", what},
                     {"ph", "M"},
                     {"pid", rank},
                     {"tid", thread},
                     {"args", json::Object{{"name", std::move(name)}}}});
  };
  struct Label {
    std::string name;
    bool sums = false;
  };
  std::vector<Label> labels(ranks.count);
  for (size_t stage = 0; stage < pipeline.stages.size(); ++stage)
    for (int replica = 0; replica < pipeline.stages[stage].replicas;
         ++replica) {
      Label &label = labels[ranks.of(int(stage), replica)];
      if (!label.name.empty())
        label.name += ", ";
      label.name += pipeline.stages[stage].name;
      if (pipeline.stages[stage].replicas > 1)
        label.name += " replica " + std::to_string(replica);
      label.sums |= pipeline.stages[stage].gradientBytes > 0;
    }
  for (int rank = 0; rank < ranks.count; ++rank) {
    meta(rank, 0, "process_name", labels[rank].name);
    meta(rank, 0, "thread_name", "compute");
    meta(rank, 1, "thread_name", "send");
    meta(rank, 2, "thread_name", "recv");
    if (labels[rank].sums)
      meta(rank, 3, "thread_name", "all-reduce");
  }
  bool interleaved = isInterleaved(pipeline);
  int64_t flows = 0;
  std::map<std::pair<int, int>, int64_t> flowOf; // channel, microbatch
  for (const Event &event : result.events) {
    const Row &row = event.row;
    int rank = ranks.of(row.stage, row.replica), thread = threadOf(row.action);
    std::string name = toString(row.action).str();
    json::Object arguments;
    if (interleaved)
      arguments["stage"] = row.stage;
    if (row.action == Action::AllReduce) {
      arguments["bytes"] = row.bytes;
    } else if (row.action != Action::OptimizerStep) {
      name += " " + std::to_string(row.microbatch);
      arguments["microbatch"] = row.microbatch;
    }
    if (row.channel >= 0) {
      arguments["channel"] = row.channel;
      arguments["value"] = pipeline.channels[row.channel].name;
      arguments["bytes"] = row.bytes;
      arguments["peer"] = ranks.of(row.peerStage, row.peerReplica);
    }
    events.push_back(json::Object{
        {"name", name},
        {"cat", toString(row.action)},
        {"ph", "X"},
        {"pid", rank},
        {"tid", thread},
        {"ts", event.beginSeconds * microseconds},
        {"dur", (event.endSeconds - event.beginSeconds) * microseconds},
        {"args", std::move(arguments)}});
    if (row.channel < 0)
      continue;
    auto [flow, isNew] =
        flowOf.try_emplace({row.channel, row.microbatch}, flows);
    flows += isNew;
    bool send = row.action == Action::Send;
    json::Object arrow{
        {"name", "message"},
        {"cat", "message"},
        {"ph", send ? "s" : "f"},
        {"id", flow->second},
        {"pid", rank},
        {"tid", thread},
        {"ts", (send ? event.beginSeconds : event.endSeconds) * microseconds}};
    if (!send)
      arrow["bp"] = "e";
    events.push_back(std::move(arrow));
  }
  return json::Object{{"displayTimeUnit", "ms"},
                      {"traceEvents", std::move(events)}};
}

} // namespace hethub::simulator

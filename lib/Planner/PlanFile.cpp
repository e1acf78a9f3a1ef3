// plan.json.
#include "hethub/Planner/PlanFile.h"

#include "hethub/Planner/LiveBytes.h"
#include "hethub/Planner/SimulatePlan.h"

#include "hethub/Support/StrictJson.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace hethub::planner {

/// Where an operation comes from, as far as the exporter said.
static StringRef placeOf(const Node &node) {
  return node.scope.empty() ? node.name : node.scope;
}

json::Value planToJSON(const Graph &graph, const cluster::Cluster &cluster,
                       const Plan &plan) {
  json::Array stages, messages, notes;
  for (const Stage &stage : plan.stages) {
    json::Array nodes;
    for (unsigned node : stage.nodes)
      nodes.push_back(graph.nodes[node].name);
    StringRef first, last;
    if (!stage.nodes.empty()) {
      first = placeOf(graph.nodes[stage.nodes.front()]);
      last = placeOf(graph.nodes[stage.nodes.back()]);
    }
    stages.push_back(
        json::Object{{"device_type", cluster.types[stage.deviceType].name},
                     {"first", first},
                     {"last", last},
                     {"replicas", stage.replicas},
                     {"tensor_parallel", stage.tensorParallel},
                     {"recompute", stage.recompute},
                     {"forward_seconds", stage.forwardSeconds},
                     {"backward_seconds", stage.backwardSeconds},
                     {"overhead_seconds",
                      cluster.types[stage.deviceType].runtime.microbatch},
                     {"weight_seconds", stage.weightSeconds},
                     {"receive_seconds", stage.receiveSeconds},
                     {"receive_bytes", stage.receiveBytes},
                     {"all_reduce_seconds", stage.allReduceSeconds},
                     {"optimizer_seconds", stage.optimizerSeconds},
                     {"in_flight", stage.inFlight},
                     {"parameter_bytes", stage.parameterBytes},
                     {"trained_bytes", stage.trainedBytes},
                     {"activation_bytes", stage.activationBytes},
                     {"workspace_bytes", stage.workspaceBytes},
                     {"memory_bytes", stage.memoryBytes},
                     {"memory_limit_bytes", stage.memoryLimit},
                     {"live_bytes", liveBytes(graph, stage.nodes)},
                     {"nodes", std::move(nodes)}});
    if (plan.isInterleaved())
      (*stages.back().getAsObject())["first_rank"] = stage.firstRank;
  }
  for (const Message &message : plan.messages) {
    simulator::Channel channel;
    channel.bytes = message.bytes;
    if (!plan.isLocal(message.fromStage, message.toStage))
      setChannelTimes(cluster, plan.stages[message.fromStage].deviceType,
                      plan.stages[message.toStage].deviceType, channel);
    messages.push_back(
        json::Object{{"value", graph.tensors[message.tensor].name},
                     {"from_stage", message.fromStage},
                     {"to_stage", message.toStage},
                     {"bytes", message.bytes},
                     {"seconds", message.seconds},
                     {"latency_seconds", channel.latencySeconds},
                     {"transfer_seconds", channel.transferSeconds},
                     {"copy_out_seconds", channel.copyOutSeconds},
                     {"copy_in_seconds", channel.copyInSeconds},
                     {"send_seconds", channel.sendSeconds},
                     {"receive_work_seconds", channel.receiveSeconds},
                     {"cloned", message.cloned}});
  }
  for (const std::string &note : plan.notes)
    notes.push_back(note);
  json::Object file{{"version", 1},
                    {"training", plan.training},
                    {"microbatches", plan.microbatches},
                    {"microbatch_size", plan.microbatchSize},
                    {"step_seconds", plan.stepSeconds},
                    {"simulated_seconds", plan.simulatedSeconds},
                    {"bottleneck_seconds", plan.bottleneckSeconds},
                    {"lower_bound_seconds", plan.lowerBoundSeconds},
                    {"gap", plan.gap()},
                    {"upper_bound_throughput", plan.upperBoundThroughput},
                    {"order_bound_seconds", plan.orderBoundSeconds},
                    {"optimal_for_order", plan.optimalForOrder()},
                    {"notes", std::move(notes)},
                    {"stages", std::move(stages)},
                    {"messages", std::move(messages)}};
  if (plan.training)
    file["schedule"] = toString(plan.schedule);
  return file;
}

static std::string valueOf(const json::Object &object, StringRef field) {
  const json::Value *value = object.get(field);
  return value ? formatv("{0}", *value).str() : "none";
}

Expected<std::vector<StageRequest>> parseStageMap(StringRef text,
                                                  StringRef fileName) {
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(),
                             fileName + ": " + message);
  };
  Expected<json::Value> root = parseStrictJson(text);
  if (!root)
    return fail("a plan must be JSON: " + toString(root.takeError()));
  const json::Object *object = root->getAsObject();
  if (!object)
    return fail("a plan must be an object with stages");
  if (const json::Value *version = object->get("version"))
    if (version->getAsInteger() != 1)
      return fail(formatv("version must be 1, got: {0}", *version));
  const json::Array *stages = object->getArray("stages");
  if (!stages)
    return fail("a plan must have a list of stages");
  std::vector<StageRequest> requests;
  for (size_t index = 0; index < stages->size(); ++index) {
    const std::string where = "stage " + std::to_string(index);
    const json::Object *stage = (*stages)[index].getAsObject();
    if (!stage)
      return fail(where + " must be an object");
    StageRequest request;
    std::optional<StringRef> type = stage->getString("device_type");
    if (!type)
      return fail(where + ": device_type must be a string, got: " +
                  valueOf(*stage, "device_type"));
    request.deviceType = type->str();
    for (auto [key, field] :
         {std::pair<StringRef, unsigned *>{"replicas", &request.replicas},
          std::pair<StringRef, unsigned *>{"tensor_parallel",
                                           &request.tensorParallel}})
      if (const json::Value *value = stage->get(key)) {
        std::optional<int64_t> number = value->getAsInteger();
        if (!number || *number < 1 || *number > 1000000)
          return fail(where + ": " + key +
                      formatv(" must be a whole number from 1 to 1000000, "
                              "got: {0}",
                              *value));
        *field = unsigned(*number);
      }
    if (const json::Value *value = stage->get("first_rank")) {
      std::optional<int64_t> rank = value->getAsInteger();
      if (!rank || *rank < 0 || *rank > 1000000)
        return fail(where +
                    formatv(": first_rank must be a whole number from 0 to "
                            "1000000, got: {0}",
                            *value));
      request.firstRank = unsigned(*rank);
    }
    if (const json::Value *value = stage->get("recompute")) {
      std::optional<bool> flag = value->getAsBoolean();
      if (!flag)
        return fail(
            where +
            formatv(": recompute must be true or false, got: {0}", *value));
      request.recompute = *flag;
    }
    if (!stage->get("nodes")) {
      std::optional<StringRef> first = stage->getString("first");
      if (!first && (index > 0 || stage->get("first")))
        return fail(where +
                    ": a stage must have nodes, or first, the scope or name "
                    "that it begins with, got: " +
                    valueOf(*stage, "first"));
      request.first = first.value_or("").str();
      requests.push_back(std::move(request));
      continue;
    }
    const json::Array *nodes = stage->getArray("nodes");
    if (!nodes)
      return fail(where + ": nodes must be a list of operation names, got: " +
                  valueOf(*stage, "nodes"));
    for (const json::Value &node : *nodes) {
      std::optional<StringRef> name = node.getAsString();
      if (!name)
        return fail(where +
                    formatv(": nodes must be operation names, got: {0}", node));
      request.nodes.push_back(name->str());
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

} // namespace hethub::planner

// The `explanation` object of plan.json.
#include "hethub/Planner/Explain.h"
#include "hethub/Planner/PlanFile.h"

using namespace llvm;

namespace hethub::planner {

static json::Value stagesToJSON(const cluster::Cluster &cluster,
                                const Plan &plan) {
  json::Array stages;
  for (const Stage &stage : plan.stages)
    stages.push_back(
        json::Object{{"device_type", cluster.types[stage.deviceType].name},
                     {"replicas", stage.replicas},
                     {"operations", int64_t(stage.nodes.size())},
                     {"load_seconds", stage.load()}});
  return stages;
}

/// Fields that all plans of changed problems share. `throughput_gain`: by how
/// much more microbatches/s it has than the explained plan.
static json::Object figuresOf(const cluster::Cluster &cluster,
                              const Plan &found, const Plan &plan) {
  return json::Object{
      {"step_seconds", found.stepSeconds},
      {"throughput_gain",
       found.stepSeconds > 0 ? plan.stepSeconds / found.stepSeconds - 1 : 0},
      {"optimal_for_order", found.optimalForOrder()},
      {"stages", stagesToJSON(cluster, found)}};
}

static json::Value bordersToJSON(const Graph &graph,
                                 const Explanation &explanation) {
  json::Array borders;
  for (const Border &border : explanation.borders) {
    json::Object object{{"neighbour", border.neighbour},
                        {"hold", toString(border.hold)}};
    if (!border.moved.empty()) {
      object["moved"] = int64_t(border.moved.size());
      object["first"] = graph.nodes[border.moved.front()].name;
      object["last"] = graph.nodes[border.moved.back()].name;
    }
    if (!border.moved.empty() && border.hold != Hold::CannotRun) {
      object["step_seconds"] = border.stepSeconds;
      object["neighbour_load_seconds"] = border.neighbourLoadSeconds;
      object["neighbour_memory_bytes"] = border.neighbourMemoryBytes;
      object["neighbour_memory_limit_bytes"] = border.neighbourMemoryLimit;
    }
    borders.push_back(std::move(object));
  }
  return borders;
}

json::Value explanationToJSON(const Graph &graph,
                              const cluster::Cluster &cluster, const Plan &plan,
                              const Explanation &explanation) {
  json::Object unused;
  for (unsigned type = 0; type < explanation.unusedDevices.size(); ++type)
    if (explanation.unusedDevices[type] > 0)
      unused[cluster.types[type].name] = explanation.unusedDevices[type];
  json::Array alternatives, whatIf;
  for (const Alternative &alternative : explanation.alternatives) {
    json::Object object;
    if (alternative.plan)
      object = figuresOf(cluster, *alternative.plan, plan);
    else
      object["error"] = alternative.error;
    object["changes"] = json::Array(alternative.changes);
    alternatives.push_back(std::move(object));
  }
  const Plan &base =
      explanation.automatic ? *explanation.automatic : plan; // of `what_if`
  for (const OneMore &more : explanation.whatIf) {
    json::Object object = figuresOf(cluster, more.plan, base);
    object["device_type"] = cluster.types[more.deviceType].name;
    object["count"] = int64_t(cluster.types[more.deviceType].count) + 1;
    whatIf.push_back(std::move(object));
  }
  json::Object object{{"fill_seconds", explanation.fillSeconds},
                      {"message_seconds", explanation.messageSeconds},
                      {"steady_seconds", explanation.steadySeconds},
                      {"once_seconds", explanation.onceSeconds},
                      {"imbalance", explanation.imbalance},
                      {"unused_devices", std::move(unused)},
                      {"alternatives", std::move(alternatives)},
                      {"what_if", std::move(whatIf)}};
  if (!plan.stages.empty() && !graph.nodes.empty()) {
    json::Object bottleneck{
        {"stage", explanation.bottleneck},
        {"load_seconds", plan.stages[explanation.bottleneck].load()},
        {"heaviest", graph.nodes[explanation.heaviest].name},
        {"heaviest_seconds", explanation.heaviestSeconds},
        {"borders", bordersToJSON(graph, explanation)}};
    if (!explanation.bottleneckStages.empty())
      bottleneck["stages"] = json::Array(explanation.bottleneckStages);
    object["bottleneck"] = std::move(bottleneck);
  }
  if (!explanation.automaticError.empty())
    object["automatic_error"] = explanation.automaticError;
  if (explanation.automatic) {
    object["automatic"] = planToJSON(graph, cluster, *explanation.automatic);
    object["automatic_throughput_gain"] =
        explanation.automatic->stepSeconds > 0
            ? plan.stepSeconds / explanation.automatic->stepSeconds - 1
            : 0;
  }
  return object;
}

} // namespace hethub::planner

//===- Annotations.cpp - stages that the file itself names ----------------===//
//
// ONNX's multi-device annotations: each node may name, for configurations that
// the model declares, the pipeline stage that it belongs to.
//===----------------------------------------------------------------------===//

#include "Borders.h"

using namespace llvm;
using hethub::import::fail;
using onnx::NodeProto;

namespace hethub::split {

namespace {

/// Stage and configuration that a node names.
struct Wish {
  int64_t stage;
  std::string configuration;
};

std::optional<Wish> wishOf(const NodeProto &node) {
  std::optional<Wish> wish;
  for (const auto &device : node.device_configurations()) {
    if (!device.has_pipeline_stage())
      continue;
    if (wish && wish->configuration == device.configuration_id() &&
        wish->stage != device.pipeline_stage())
      fail(import::describe(node) +
           ": a node must be in one pipeline stage, got: " +
           Twine(wish->stage) + " and " + Twine(device.pipeline_stage()));
    // Of several configurations the first one counts.
    if (!wish)
      wish = Wish{device.pipeline_stage(), device.configuration_id()};
  }
  return wish;
}

/// Nodes of sub-graphs run where their owner does.
void checkSubgraphs(const NodeProto &owner, std::optional<int64_t> stage) {
  for (const auto &attribute : owner.attribute())
    if (attribute.has_g())
      for (const NodeProto &node : attribute.g().node()) {
        std::optional<Wish> wish = wishOf(node);
        if (wish && wish->stage != stage)
          fail(import::describe(node) +
               ": a node of a sub-graph must be in "
               "the pipeline stage of " +
               import::describe(owner) + ", got: " + Twine(wish->stage));
        checkSubgraphs(node, stage);
      }
}

} // namespace

/// Nodes that name no stage stand as early as what they read allows.
static void fillIn(ModelCut &cut, std::vector<std::optional<unsigned>> stages) {
  for (unsigned index = 0; index < cut.nodes.size(); ++index) {
    CutNode &node = cut.nodes[index];
    if (stages[index]) {
      node.stage = *stages[index];
      continue;
    }
    node.stage = 0;
    for (const std::string &name : node.reads)
      if (auto from = cut.producer.find(name);
          from != cut.producer.end() && !cut.nodes[from->second].constant)
        node.stage = std::max(node.stage, cut.nodes[from->second].stage);
  }
}

void cutAsAnnotated(ModelCut &cut) {
  StringSet<> declared;
  for (const auto &configuration : cut.model.configuration())
    declared.insert(configuration.name());
  std::vector<std::optional<unsigned>> stages(cut.nodes.size());
  std::optional<std::string> used;
  int64_t most = -1;
  for (unsigned index = 0; index < cut.nodes.size(); ++index) {
    const NodeProto &proto = *cut.nodes[index].proto;
    std::optional<Wish> wish = wishOf(proto);
    checkSubgraphs(proto, wish ? std::optional(wish->stage) : std::nullopt);
    if (!wish)
      continue;
    if (wish->stage < 0 || wish->stage >= int64_t(cut.nodes.size()))
      fail(cut.describe(index) +
           ": pipeline stage must be from 0 to the number of nodes, got: " +
           Twine(wish->stage));
    if (!declared.contains(wish->configuration))
      fail(cut.describe(index) +
           ": device configuration must be one that the model declares, got: "
           "'" +
           wish->configuration + "'");
    if (used && *used != wish->configuration)
      fail(cut.describe(index) +
           ": all nodes must name stages of one device configuration first, "
           "got: '" +
           *used + "' and '" + wish->configuration + "'");
    used = wish->configuration;
    stages[index] = unsigned(wish->stage);
    most = std::max(most, wish->stage);
  }
  if (!used)
    fail("no node names a pipeline stage (device_configurations)");
  std::vector<bool> filled(most + 1);
  for (std::optional<unsigned> stage : stages)
    if (stage)
      filled[*stage] = true;
  for (int64_t stage = 0; stage <= most; ++stage)
    if (!filled[stage])
      fail("pipeline stages must be numbered from 0 without gaps, got no node "
           "in stage " +
           Twine(stage) + " of " + Twine(most + 1));
  fillIn(cut, std::move(stages));
  cut.stageCount = most + 1;
}

std::vector<std::string> annotatedDevices(const ModelCut &cut) {
  for (const CutNode &node : cut.nodes)
    if (std::optional<Wish> wish = wishOf(*node.proto))
      for (const auto &configuration : cut.model.configuration())
        if (configuration.name() == wish->configuration)
          return {configuration.device().begin(), configuration.device().end()};
  return {};
}

} // namespace hethub::split

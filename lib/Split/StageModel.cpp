//===- StageModel.cpp - what of a model a stage needs ---------------------===//

#include "StageFiles.h"

#include "hethub/Export/ModelFiles.h"

#include "llvm/ADT/SetVector.h"

using namespace llvm;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::ValueInfoProto;

namespace hethub::split {

/// Calls `function` for a node and those of its sub-graphs.
static void forEachNode(const NodeProto &node,
                        const std::function<void(const NodeProto &)> &visit) {
  visit(node);
  for (const auto &attribute : node.attribute()) {
    for (const NodeProto &inner : attribute.g().node())
      forEachNode(inner, visit);
    for (const GraphProto &graph : attribute.graphs())
      for (const NodeProto &inner : graph.node())
        forEachNode(inner, visit);
  }
}

/// Functions that the nodes call, and those that these call.
static void addFunctions(const ModelProto &model, ModelProto &stage) {
  auto key = [](StringRef domain, StringRef name) {
    return (domain + "\n" + name).str();
  };
  StringSet<> called;
  auto note = [&](const NodeProto &node) {
    called.insert(key(node.domain(), node.op_type()));
  };
  for (const NodeProto &node : stage.graph().node())
    forEachNode(node, note);
  std::vector<bool> taken(model.functions_size());
  for (bool more = true; more;) {
    more = false;
    for (int index = 0; index < model.functions_size(); ++index) {
      const FunctionProto &function = model.functions(index);
      if (taken[index] ||
          !called.contains(key(function.domain(), function.name())))
        continue;
      taken[index] = more = true;
      for (const NodeProto &node : function.node())
        forEachNode(node, note);
    }
  }
  for (int index = 0; index < model.functions_size(); ++index)
    if (taken[index])
      *stage.add_functions() = model.functions(index);
}

static ValueInfoProto infoOf(const ModelCut &cut, const std::string &name) {
  const GraphProto &graph = cut.model.graph();
  for (auto *list : {&graph.input(), &graph.output(), &graph.value_info()})
    for (const ValueInfoProto &info : *list)
      if (info.name() == name)
        return info;
  ValueInfoProto info;
  info.set_name(name);
  if (const onnx::TypeProto *type = cut.typeOf(name))
    *info.mutable_type() = *type;
  return info;
}

ModelProto stageModel(const ModelCut &cut, unsigned stage) {
  const GraphProto &graph = cut.model.graph();
  ModelProto model = cut.model;
  model.clear_functions();
  GraphProto &part = *model.mutable_graph();
  part.clear_node();
  part.clear_initializer();
  part.clear_sparse_initializer();
  part.clear_input();
  part.clear_output();
  part.clear_value_info();
  part.clear_quantization_annotation();

  StringSet<> made;
  SetVector<StringRef> reads;
  for (unsigned index : cut.contents(stage)) {
    const CutNode &node = cut.nodes[index];
    *part.add_node() = *node.proto;
    for (const std::string &name : node.reads)
      reads.insert(name);
    for (const std::string &output : node.proto->output())
      made.insert(output);
  }
  // Values that leave: to later stages, and out of the model. What no node
  // makes, an input or weight that is an output, leaves from the first stage.
  StringSet<> wanted;
  for (const CutNode &node : cut.nodes)
    if (node.stage > stage && !node.constant)
      for (const std::string &name : node.reads)
        wanted.insert(name);
  StringSet<> outgoing;
  for (const ValueInfoProto &output : graph.output()) {
    auto from = cut.producer.find(output.name());
    bool here = from == cut.producer.end()
                    ? stage == 0
                    : cut.nodes[from->second].stage == stage;
    if (!here)
      continue;
    if (from == cut.producer.end())
      reads.insert(output.name());
    *part.add_output() = output;
    outgoing.insert(output.name());
  }
  for (const NodeProto &node : part.node())
    for (const std::string &name : node.output()) {
      auto from = cut.producer.find(name);
      if (name.empty() || !wanted.contains(name) ||
          cut.nodes[from->second].constant || !outgoing.insert(name).second)
        continue;
      *part.add_output() = infoOf(cut, name);
    }

  for (const ValueInfoProto &input : graph.input())
    // One that nobody reads stays known, with the first stage.
    if (reads.contains(input.name()) ||
        (stage == 0 && llvm::none_of(cut.nodes, [&](const CutNode &node) {
           return llvm::is_contained(node.reads, input.name());
         })))
      *part.add_input() = input;
  for (const CutNode &node : cut.nodes)
    for (const std::string &name : node.proto->output())
      if (!name.empty() && reads.contains(name) && !made.contains(name))
        *part.add_input() = infoOf(cut, name);
  // Weights that nobody reads stay as well.
  StringSet<> readAnywhere;
  for (const CutNode &node : cut.nodes)
    for (const std::string &name : node.reads)
      readAnywhere.insert(name);
  auto holds = [&](const std::string &name) {
    return reads.contains(name) || (stage == 0 && !readAnywhere.contains(name));
  };
  for (const auto &tensor : graph.initializer())
    if (holds(tensor.name()))
      *part.add_initializer() = tensor;
  for (const auto &tensor : graph.sparse_initializer())
    if (holds(tensor.values().name()))
      *part.add_sparse_initializer() = tensor;
  for (const ValueInfoProto &info : graph.value_info())
    if (made.contains(info.name()) && !outgoing.contains(info.name()))
      *part.add_value_info() = info;
  for (const auto &annotation : graph.quantization_annotation())
    if (made.contains(annotation.tensor_name()) ||
        reads.contains(annotation.tensor_name()))
      *part.add_quantization_annotation() = annotation;
  addFunctions(cut.model, model);
  return model;
}

ModelProto annotatedModel(const ModelCut &cut, ArrayRef<std::string> devices) {
  ModelProto model = cut.model;
  model.clear_configuration();
  auto *configuration = model.add_configuration();
  configuration->set_name(exporter::pipelineConfiguration.str());
  configuration->set_num_devices(static_cast<int>(cut.stageCount));
  for (const std::string &device : devices)
    configuration->add_device(device);
  for (auto [node, source] :
       llvm::zip(*model.mutable_graph()->mutable_node(), cut.nodes)) {
    node.clear_device_configurations();
    auto *device = node.add_device_configurations();
    device->set_configuration_id(configuration->name());
    device->set_pipeline_stage(static_cast<int>(source.stage));
  }
  model.set_ir_version(
      std::max<int64_t>(model.ir_version(), exporter::configurationsVersion));
  return model;
}

} // namespace hethub::split

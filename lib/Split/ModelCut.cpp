//===- ModelCut.cpp - a model as nodes that stages share out --------------===//

#include "ModelCut.h"

#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

using namespace llvm;
using hethub::import::fail;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::OpSchema;
using onnx::TypeProto;

namespace hethub::split {

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

ModelCut readModel(StringRef path) {
  import::ModelFile file = import::openModel(path);
  ModelProto model;
  import::parseModel(file, model);
  import::normalise(model);
  import::checkTensors(model, file);
  import::sortGraphs(model);
  import::checkModel(model);
  return ModelCut(std::move(file), std::move(model));
}

/// Adds what a graph reads of what it does not define.
static void addReads(const GraphProto &graph, StringSet<> &reads) {
  StringSet<> defined;
  for (const auto &input : graph.input())
    defined.insert(input.name());
  for (const auto &tensor : graph.initializer())
    defined.insert(tensor.name());
  for (const auto &tensor : graph.sparse_initializer())
    defined.insert(tensor.values().name());
  for (const NodeProto &node : graph.node()) {
    for (const auto &name : outerReads(node))
      if (!defined.contains(name.getKey()))
        reads.insert(name.getKey());
    for (const std::string &output : node.output())
      defined.insert(output);
  }
  for (const auto &output : graph.output())
    if (!defined.contains(output.name()))
      reads.insert(output.name());
}

StringSet<> outerReads(const NodeProto &node) {
  StringSet<> reads;
  for (const std::string &input : node.input())
    if (!input.empty())
      reads.insert(input);
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      addReads(attribute.g(), reads);
    for (const GraphProto &graph : attribute.graphs())
      addReads(graph, reads);
  }
  return reads;
}

/// Whether equal operands always make equal results; operators that nobody
/// describes may draw numbers or keep state.
static bool isDeterministic(const NodeProto &node, const ModelProto &model) {
  int version = 0;
  for (const auto &import : model.opset_import())
    if (import.domain() == node.domain())
      version = static_cast<int>(import.version());
  for (const auto &function : model.functions())
    if (function.domain() == node.domain() && function.name() == node.op_type())
      return false;
  const OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.op_type(), version, node.domain());
  return schema && schema->GetNodeDeterminism() !=
                       OpSchema::NodeDeterminism::NonDeterministic;
}

ModelCut::ModelCut(import::ModelFile file, ModelProto given)
    : file(std::move(file)), model(std::move(given)) {
  const GraphProto &graph = model.graph();
  for (const auto &input : graph.input())
    inputs.insert(input.name());
  for (const auto &tensor : graph.initializer())
    weights.insert(tensor.name());
  for (const auto &tensor : graph.sparse_initializer())
    weights.insert(tensor.values().name());
  for (const NodeProto &proto : graph.node()) {
    CutNode node{&proto, {}, isDeterministic(proto, model)};
    for (const auto &name : outerReads(proto))
      node.reads.push_back(name.getKey().str());
    llvm::sort(node.reads);
    for (const std::string &name : node.reads) {
      auto from = producer.find(name);
      node.constant &= from == producer.end()
                           ? weights.contains(name) && !inputs.contains(name)
                           : nodes[from->second].constant;
    }
    for (const std::string &output : proto.output())
      if (!output.empty())
        producer[output] = nodes.size();
    nodes.push_back(std::move(node));
  }
  findDead();
  inferTypes();
}

void ModelCut::findDead() {
  StringSet<> wanted;
  for (const auto &output : model.graph().output())
    wanted.insert(output.name());
  for (CutNode &node : llvm::reverse(nodes)) {
    for (const std::string &output : node.proto->output())
      node.dead &= output.empty() || !wanted.contains(output);
    if (!node.dead)
      wanted.insert_range(node.reads);
  }
}

/// What the file declares, and what follows from it as far as the library
/// knows.
void ModelCut::inferTypes() {
  ModelProto inferred = model;
  try {
    onnx::shape_inference::InferShapes(inferred);
  } catch (const std::exception &) {
    // A model that cannot be inferred may still be cut where types are stated.
  }
  for (const ModelProto *from : {&model, &inferred}) {
    const GraphProto &graph = from->graph();
    for (auto *list : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const auto &info : *list)
        if (info.type().value_case() != TypeProto::VALUE_NOT_SET)
          types.try_emplace(info.name(), info.type());
  }
}

const TypeProto *ModelCut::typeOf(StringRef value) const {
  auto found = types.find(value);
  return found == types.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

std::vector<unsigned> ModelCut::contents(unsigned stage) const {
  std::vector<bool> inside(nodes.size());
  for (unsigned index = nodes.size(); index-- > 0;) {
    const CutNode &node = nodes[index];
    if (node.stage == stage)
      inside[index] = true;
    if (inside[index])
      for (const std::string &name : node.reads)
        if (auto from = producer.find(name);
            from != producer.end() && nodes[from->second].constant)
          inside[from->second] = true;
  }
  std::vector<unsigned> result;
  for (unsigned index = 0; index < nodes.size(); ++index)
    if (inside[index])
      result.push_back(index);
  return result;
}

void ModelCut::placeOthers() {
  for (CutNode &node : nodes) {
    if (!node.dead || node.constant)
      continue;
    node.stage = 0;
    for (const std::string &name : node.reads)
      if (auto from = producer.find(name);
          from != producer.end() && !nodes[from->second].constant)
        node.stage = std::max(node.stage, nodes[from->second].stage);
  }
  std::vector<std::optional<unsigned>> first(nodes.size());
  for (unsigned index = nodes.size(); index-- > 0;) {
    CutNode &node = nodes[index];
    if (node.constant)
      node.stage = first[index].value_or(0);
    for (const std::string &name : node.reads)
      if (auto from = producer.find(name); from != producer.end()) {
        auto &stage = first[from->second];
        stage = std::min(stage.value_or(node.stage), node.stage);
      }
  }
}

void ModelCut::check() const {
  std::vector<bool> computes(stageCount);
  for (const CutNode &node : nodes)
    if (!node.constant && !node.dead)
      computes[node.stage] = true;
  for (unsigned stage = 0; stage < stageCount; ++stage)
    if (!computes[stage] && stageCount > 1)
      fail("each stage must compute something that outputs depend on, got "
           "nothing in stage " +
           Twine(stage));
  for (unsigned index = 0; index < nodes.size(); ++index)
    for (const std::string &name : nodes[index].reads) {
      auto from = producer.find(name);
      if (from == producer.end() || nodes[from->second].constant)
        continue;
      unsigned made = nodes[from->second].stage, read = nodes[index].stage;
      if (made > read)
        fail("values must flow to later stages, got: '" + name + "' of " +
             describe(from->second) + " in stage " + Twine(made) + ", which " +
             describe(index) + " in stage " + Twine(read) + " reads");
      const TypeProto *type = typeOf(name);
      if (made == read)
        continue;
      if (!type)
        fail("the type of a value that crosses stages must be known, got none "
             "for '" +
             name + "' of " + describe(from->second) +
             "; cut elsewhere, or declare it in the model's value_info");
      if (type->value_case() != TypeProto::kTensorType)
        fail("only tensors may cross stages, got: '" + name + "' of " +
             describe(from->second) + " from stage " + Twine(made) +
             " to stage " + Twine(read));
    }
}

} // namespace hethub::split

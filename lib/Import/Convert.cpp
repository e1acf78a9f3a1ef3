//===- Convert.cpp - to the newest opset ----------------------------------===//
//
// The ONNX library's version converter with corrections registered on top: a
// later registration of an adapter wins.
//===----------------------------------------------------------------------===//

#include "ImportDetail.h"
#include "hethub/Import/Import.h"

#include "onnx/shape_inference/implementation.h"
#include "onnx/version_converter/convert.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;
using llvm::Twine;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::OpSetID;
using namespace onnx::version_conversion;
using GraphPtr = std::shared_ptr<onnx::Graph>;

namespace hethub::import {

namespace {

//===----------------------------------------------------------------------===//
// Corrected adapters
//===----------------------------------------------------------------------===//

std::string describeIr(onnx::Node *node) {
  std::string name = node->has_name() && !node->name().empty()
                         ? node->name()
                         : node->outputs()[0]->uniqueName();
  return "node '" + name + "' (" + node->kind().toString() + ")";
}

/// The floats of a constant value, or nothing.
std::vector<float> constantFloats(const GraphPtr &graph, onnx::Value *value) {
  const onnx::Tensor *tensor = nullptr;
  if (value->node()->kind() == onnx::kConstant &&
      value->node()->hasAttribute(onnx::kvalue)) {
    tensor = &value->node()->t(onnx::kvalue);
  } else {
    auto it = graph->getInitializer(value->uniqueName());
    if (it != graph->initializers().end())
      tensor = &*it;
  }
  if (!tensor || tensor->elem_type() != onnx::TensorProto::FLOAT)
    return {};
  if (tensor->is_raw_data()) {
    std::vector<float> result(tensor->raw().size() / sizeof(float));
    std::memcpy(result.data(), tensor->raw().data(),
                result.size() * sizeof(float));
    return result;
  }
  return tensor->floats();
}

const onnx::Symbol upsampleMark("hethub_upsample");

/// Remembers that the scales are at least 1 by the rules of Upsample.
class Upsample9To10 final : public Adapter {
public:
  Upsample9To10() : Adapter("Upsample", OpSetID(9), OpSetID(10)) {}
  onnx::Node *adapt(GraphPtr graph, onnx::Node *node) const override {
    std::string name = node->has_name() ? node->name() : "";
    onnx::Node *resize = Upsample_9_10().adapt(graph, node);
    resize->i_(upsampleMark, 1);
    if (!name.empty())
      resize->setName(name);
    return resize;
  }
};

/// Resize 10 samples at floor(x / scale): the library leaves the default of
/// opset 11, half_pixel.
class Resize10To11 final : public Adapter {
public:
  Resize10To11() : Adapter("Resize", OpSetID(10), OpSetID(11)) {}
  onnx::Node *adapt(GraphPtr graph, onnx::Node *node) const override {
    std::vector<float> scales = constantFloats(graph, node->inputs()[1]);
    bool linear = node->hasAttribute(onnx::Symbol("mode")) &&
                  node->s(onnx::Symbol("mode")) == "linear";
    bool upsample = node->hasAttribute(upsampleMark);
    if (upsample)
      node->removeAttribute(upsampleMark);
    node = Resize_10_11().adapt(graph, node);
    node->s_(onnx::Symbol("coordinate_transformation_mode"), "asymmetric");
    if (linear)
      return node;
    bool up = upsample || llvm::any_of(scales, [](float s) { return s > 1; });
    bool down = llvm::any_of(scales, [](float s) { return s < 1; });
    if (up && down)
      fail(describeIr(node) +
           ": enlarging one axis and shrinking another has no "
           "one meaning before opset 11");
    if (!upsample && scales.empty())
      fail(describeIr(node) + ": scales must be constant before opset 11");
    node->s_(onnx::Symbol("nearest_mode"), down ? "ceil" : "floor");
    return node;
  }
};

/// A slope of one value a channel needs dims behind it from opset 7 on.
class PRelu6To7 final : public Adapter {
public:
  PRelu6To7() : Adapter("PRelu", OpSetID(6), OpSetID(7)) {}
  onnx::Node *adapt(GraphPtr graph, onnx::Node *node) const override {
    size_t rank = node->inputs()[0]->sizes().size();
    onnx::Value *slope = node->inputs()[1];
    if (slope->sizes().size() != 1 || rank <= 2 ||
        (slope->sizes()[0].is_int && slope->sizes()[0].dim == 1))
      return node;
    std::vector<int64_t> axes;
    for (size_t axis = 1; axis + 1 < rank; ++axis)
      axes.push_back(axis);
    onnx::Node *unsqueeze = graph->create(onnx::kUnsqueeze);
    unsqueeze->addInput(slope);
    unsqueeze->is_(onnx::kaxes, std::move(axes));
    unsqueeze->insertBefore(node);
    node->replaceInput(1, unsqueeze->output());
    return node;
  }
};

/// The library's adapter also takes a dim from the shapes of the inputs: the
/// batch, which unbatchScans keeps.
class Scan8To9 final : public Adapter {
public:
  Scan8To9() : Adapter("Scan", OpSetID(8), OpSetID(9)) {}
  onnx::Node *adapt(GraphPtr, onnx::Node *node) const override {
    node->removeInput(0);
    if (onnx::Symbol directions("directions"); node->hasAttribute(directions)) {
      std::vector<int64_t> values = node->is(directions);
      node->removeAttribute(directions);
      node->is_(onnx::Symbol("scan_input_directions"), std::move(values));
    }
    return node;
  }
};

class Converter final : public DefaultVersionConverter {
public:
  Converter() {
    registerAdapter(std::make_unique<Upsample9To10>());
    registerAdapter(std::make_unique<Resize10To11>());
    registerAdapter(std::make_unique<Scan8To9>());
    // The library registers an adapter that changes nothing over this one.
    registerAdapter(std::make_unique<GroupNormalization_20_21>());
    registerAdapter(std::make_unique<Softmax_12_13>("Hardmax"));
    registerAdapter(std::make_unique<PRelu6To7>());
    for (const char *name : {"RNN", "GRU", "LSTM"})
      registerAdapter(name, 6, 7,
                      RemoveAttribute(onnx::Symbol("output_sequence")));
    for (const char *name : {"And", "Or", "Xor", "Equal", "Less", "Greater"})
      registerAdapter(std::make_unique<BroadcastForwardCompatibility>(
          name, OpSetID(6), OpSetID(7)));
  }

  /// True where some step from opset `from` on changes the node; throws where a
  /// step has no adapter.
  bool changes(const NodeProto &node, int64_t from) const {
    if (!node.domain().empty())
      return false;
    auto schemas = all_schemas.find(node.op_type());
    if (schemas == all_schemas.end())
      return false;
    auto versions = schemas->second.find("");
    if (versions == schemas->second.end())
      return false;
    bool changed = false;
    for (const auto &[version, schema] : versions->second) {
      if (version <= from)
        continue;
      const Adapter *adapter = find(node.op_type(), version - 1, version);
      if (!adapter)
        fail(describe(node) + ": cannot convert from opset " +
             Twine(version - 1) + " to " + Twine(version) +
             "; the model's opset is " + Twine(from) +
             ", 7 and later are supported");
      changed |= !dynamic_cast<const CompatibleAdapter *>(adapter);
    }
    return changed;
  }

  /// The newest version that changed what a node means, or the first one. A
  /// step that leaves nodes alone in either direction changed nothing: types
  /// that only one of the versions has, its schema tells.
  int64_t unchangedSince(const std::string &type) const {
    auto schemas = all_schemas.find(type);
    if (schemas == all_schemas.end())
      return 0;
    auto versions = schemas->second.find("");
    if (versions == schemas->second.end())
      return 0;
    int64_t since = 0;
    for (const auto &[version, schema] : versions->second) {
      const Adapter *up = find(type, version - 1, version);
      const Adapter *down = find(type, version, version - 1);
      bool same = dynamic_cast<const CompatibleAdapter *>(up) ||
                  dynamic_cast<const CompatibleAdapter *>(down) ||
                  dynamic_cast<const TypeRestriction *>(down);
      if (!since || !same)
        since = version;
    }
    return since;
  }

private:
  const Adapter *find(const std::string &name, int64_t from, int64_t to) const {
    auto byName = adapters.find(name);
    if (byName == adapters.end())
      return nullptr;
    auto byFrom = byName->second.find(OpSetID(from).toString());
    if (byFrom == byName->second.end())
      return nullptr;
    auto byTo = byFrom->second.find(OpSetID(to).toString());
    return byTo == byFrom->second.end() ? nullptr : byTo->second.get();
  }
};

//===----------------------------------------------------------------------===//
// What the converter gets wrong in silence
//===----------------------------------------------------------------------===//

int64_t integerAttribute(const NodeProto &node, StringRef name,
                         int64_t fallback) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return fallback;
}

void refuse(const NodeProto &node, int64_t opset) {
  if (!node.domain().empty())
    return;
  const std::string &type = node.op_type();
  if (type == "BatchNormalization") {
    if (opset < 9 && !integerAttribute(node, "spatial", 1))
      fail(describe(node) + ": spatial = 0 is not supported");
    bool training = false;
    for (int i = 1; i < node.output_size(); ++i)
      training |= !node.output(i).empty();
    if (opset < 14 && training)
      fail(describe(node) +
           ": training outputs of before opset 14 are not supported");
  }
  if (opset < 7 && integerAttribute(node, "broadcast", 0) &&
      integerAttribute(node, "axis", 0) > 0)
    fail(describe(node) + ": broadcasting along an axis of before opset 7 is "
                          "not supported");
}

//===----------------------------------------------------------------------===//
// What the converter loses: names and metadata, given back by output name
//===----------------------------------------------------------------------===//

using Metadata =
    google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>;
struct Kept {
  std::string name;
  std::string doc;
  Metadata metadata;
  google::protobuf::RepeatedPtrField<onnx::NodeDeviceConfigurationProto>
      devices;
};

template <typename Function>
void forEachNode(ModelProto &model, Function function) {
  forEachGraph(*model.mutable_graph(), [&](GraphProto &graph) {
    for (NodeProto &node : *graph.mutable_node())
      function(node);
  });
}

void giveBack(ModelProto &model, const llvm::StringMap<Kept> &kept) {
  forEachNode(model, [&](NodeProto &node) {
    for (const std::string &output : node.output()) {
      auto it = kept.find(output);
      if (output.empty() || it == kept.end())
        continue;
      if (node.name().empty())
        node.set_name(it->second.name);
      if (!it->second.doc.empty())
        node.set_doc_string(it->second.doc);
      *node.mutable_metadata_props() = it->second.metadata;
      *node.mutable_device_configurations() = it->second.devices;
      break;
    }
  });
}

const Converter &converter() {
  static const Converter instance;
  return instance;
}

} // namespace

int64_t unchangedSince(StringRef opType) {
  return converter().unchangedSince(opType.str());
}

void convertVersion(ModelProto &model) {
  onnx::OperatorSetIdProto *import = nullptr;
  for (auto &entry : *model.mutable_opset_import())
    if (entry.domain().empty())
      import = &entry;
  if (!import)
    return; // no node of the default domain
  int64_t from = import->version();
  if (from == newestOpset())
    return;

  if (from == 8)
    unbatchScans(model);
  bool changes = false;
  llvm::StringMap<Kept> kept;
  forEachNode(model, [&](NodeProto &node) {
    refuse(node, from);
    changes |= converter().changes(node, from);
    for (const std::string &output : node.output())
      kept[output] = {node.name(), node.doc_string(), node.metadata_props(),
                      node.device_configurations()};
  });
  if (!changes) {
    import->set_version(newestOpset());
    return;
  }

  ModelProto whole; // without its nodes
  *whole.mutable_metadata_props() = model.metadata_props();
  *whole.mutable_configuration() = model.configuration();
  GraphProto &graph = *whole.mutable_graph();
  graph.set_doc_string(model.graph().doc_string());
  *graph.mutable_metadata_props() = model.graph().metadata_props();
  *graph.mutable_quantization_annotation() =
      model.graph().quantization_annotation();
  try {
    onnx::shape_inference::InferShapes(model);
    model = converter().convert_version(model, OpSetID(from),
                                        OpSetID(newestOpset()));
  } catch (const ModelError &) {
    throw;
  } catch (const std::exception &error) {
    // The library's assertions begin with the C++ file they stand in.
    StringRef text = StringRef(error.what()).trim();
    if (size_t found = text.rfind(": ");
        text.contains(".h:") || text.contains(".cc:"))
      if (found != StringRef::npos)
        text = text.drop_front(found + 2);
    fail("cannot convert from opset " + Twine(from) + " to " +
         Twine(newestOpset()) + ": " + text);
  }
  model.mutable_metadata_props()->Swap(whole.mutable_metadata_props());
  model.mutable_configuration()->Swap(whole.mutable_configuration());
  if (!graph.doc_string().empty())
    model.mutable_graph()->set_doc_string(graph.doc_string());
  model.mutable_graph()->mutable_metadata_props()->Swap(
      graph.mutable_metadata_props());
  model.mutable_graph()->mutable_quantization_annotation()->Swap(
      graph.mutable_quantization_annotation());
  giveBack(model, kept);
}

} // namespace hethub::import

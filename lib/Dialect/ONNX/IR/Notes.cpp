//===- Notes.cpp - what a file says beside what it computes ---------------===//

#include "hethub/Dialect/ONNX/IR/Notes.h"
#include "hethub/Dialect/ONNX/IR/Inference.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Dialect/ONNX/IR/Proto.h"
#include "hethub/Support/Notes.h"

using namespace mlir;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TypeProto;
using onnx::ValueInfoProto;

namespace hethub::ox {

static constexpr StringLiteral docNote = "doc";
static constexpr StringLiteral metadataNote = "metadata";
static constexpr StringLiteral devicesNote = "devices";
static constexpr StringLiteral stageField = "stage";

static std::string text(DictionaryAttr dictionary, StringRef key) {
  auto value = dictionary.getAs<StringAttr>(key);
  return value ? value.str() : "";
}

ArrayAttr pairsToAttr(const Pairs &pairs, MLIRContext *context) {
  SmallVector<Attribute> result;
  for (const auto &pair : pairs) {
    result.push_back(StringAttr::get(context, pair.key()));
    result.push_back(StringAttr::get(context, pair.value()));
  }
  return ArrayAttr::get(context, result);
}

void pairsFromAttr(Attribute attribute, Pairs &pairs) {
  auto texts = dyn_cast_or_null<ArrayAttr>(attribute);
  for (size_t i = 0; texts && i + 1 < texts.size(); i += 2) {
    auto key = dyn_cast<StringAttr>(texts[i]);
    auto value = dyn_cast<StringAttr>(texts[i + 1]);
    if (!key || !value)
      continue;
    auto *pair = pairs.Add();
    pair->set_key(key.str());
    pair->set_value(value.str());
  }
}

void addTexts(const std::string &doc, const Pairs &metadata,
              MLIRContext *context, Notes &notes) {
  Builder builder(context);
  if (!doc.empty())
    notes.push_back(builder.getNamedAttr(docNote, builder.getStringAttr(doc)));
  if (!metadata.empty())
    notes.push_back(
        builder.getNamedAttr(metadataNote, pairsToAttr(metadata, context)));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Shards of tensors, which nothing here reads, stay in the form of the file.
static Attribute devicesToAttr(const NodeProto &node, MLIRContext *context) {
  Builder builder(context);
  SmallVector<Attribute> devices;
  for (const auto &device : node.device_configurations()) {
    NamedAttrList fields;
    fields.set("configuration",
               builder.getStringAttr(device.configuration_id()));
    if (device.has_pipeline_stage())
      fields.set(stageField,
                 builder.getI64IntegerAttr(device.pipeline_stage()));
    SmallVector<Attribute> shards;
    for (const auto &spec : device.sharding_spec())
      shards.push_back(builder.getStringAttr(spec.SerializeAsString()));
    if (!shards.empty())
      fields.set("shards", builder.getArrayAttr(shards));
    devices.push_back(fields.getDictionary(context));
  }
  return builder.getArrayAttr(devices);
}

Notes notesOfNode(const NodeProto &node, MLIRContext *context) {
  Notes notes;
  addTexts(node.doc_string(), node.metadata_props(), context, notes);
  if (node.device_configurations_size())
    notes.emplace_back(StringAttr::get(context, devicesNote),
                       devicesToAttr(node, context));
  return notes;
}

void notesToNode(Location loc, NodeProto &node) {
  if (auto doc = noteOf<StringAttr>(loc, docNote))
    node.set_doc_string(doc.str());
  pairsFromAttr(note(loc, metadataNote), *node.mutable_metadata_props());
  auto devices = noteOf<ArrayAttr>(loc, devicesNote);
  for (Attribute item : devices ? devices.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<DictionaryAttr>(item);
    if (!fields)
      continue;
    auto *device = node.add_device_configurations();
    device->set_configuration_id(text(fields, "configuration"));
    if (auto stage = fields.getAs<IntegerAttr>(stageField))
      device->set_pipeline_stage(static_cast<int32_t>(stage.getInt()));
    if (auto shards = fields.getAs<ArrayAttr>("shards"))
      for (auto shard : shards.getAsRange<StringAttr>())
        device->add_sharding_spec()->ParseFromString(shard.str());
  }
}

std::optional<int64_t> annotatedStage(Location loc) {
  auto devices = noteOf<ArrayAttr>(loc, devicesNote);
  for (Attribute item : devices ? devices.getValue() : ArrayRef<Attribute>())
    if (auto fields = dyn_cast<DictionaryAttr>(item))
      if (auto stage = fields.getAs<IntegerAttr>(stageField))
        return stage.getInt();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Declarations of values
//===----------------------------------------------------------------------===//

/// The tensor inside sequences and optionals; null where there is none.
static const TypeProto::Tensor *innermost(const TypeProto &type) {
  switch (type.value_case()) {
  case TypeProto::kTensorType:
    return &type.tensor_type();
  case TypeProto::kSequenceType:
    return innermost(type.sequence_type().elem_type());
  case TypeProto::kOptionalType:
    return innermost(type.optional_type().elem_type());
  default:
    return nullptr;
  }
}

ArrayAttr dimNames(const TypeProto &type, MLIRContext *context) {
  SmallVector<StringRef> names;
  if (const TypeProto::Tensor *tensor = innermost(type))
    for (const auto &dim : tensor->shape().dim())
      names.push_back(dim.dim_param() == "?" ? StringRef()
                                             : StringRef(dim.dim_param()));
  if (llvm::all_of(names, [](StringRef name) { return name.empty(); }))
    return nullptr;
  return Builder(context).getStrArrayAttr(names);
}

DictionaryAttr declarationOf(const ValueInfoProto &info, MLIRContext *context) {
  Builder builder(context);
  Notes notes;
  if (Type type = typeFromProto(info.type(), context))
    notes.push_back(builder.getNamedAttr("type", TypeAttr::get(type)));
  if (ArrayAttr names = dimNames(info.type(), context))
    notes.push_back(builder.getNamedAttr("dims", names));
  addTexts(info.doc_string(), info.metadata_props(), context, notes);
  return builder.getDictionaryAttr(notes);
}

void setDimNames(ArrayAttr names, TypeProto &type) {
  const TypeProto::Tensor *tensor = innermost(type);
  if (!names || !tensor)
    return;
  auto &shape = *const_cast<TypeProto::Tensor *>(tensor)->mutable_shape();
  for (auto [name, dim] :
       llvm::zip(names.getAsRange<StringAttr>(), *shape.mutable_dim()))
    if (!name.empty() && !dim.has_dim_value())
      dim.set_dim_param(name.str());
}

/// Only sizes that the declaration leaves to a symbol.
static void takeSizes(RankedTensorType known, ArrayAttr names,
                      TypeProto &type) {
  if (!known || !names || type.value_case() != TypeProto::kTensorType)
    return;
  auto &shape = *type.mutable_tensor_type()->mutable_shape();
  if (shape.dim_size() != known.getRank() ||
      names.size() != size_t(known.getRank()))
    return;
  for (int axis = 0; axis < shape.dim_size(); ++axis)
    if (!shape.dim(axis).has_dim_value() && !known.isDynamicDim(axis) &&
        !cast<StringAttr>(names[axis]).empty())
      shape.mutable_dim(axis)->set_dim_value(known.getDimSize(axis));
}

void declarationToProto(DictionaryAttr declaration, Type known,
                        ValueInfoProto &info) {
  if (auto type = declaration.getAs<TypeAttr>("type");
      type && !isa<UnknownType>(type.getValue())) {
    // The library's converter declares some types wrongly in sub-graphs.
    bool agrees = !known || mergeTypes(type.getValue(), known);
    *info.mutable_type() = typeToProto(agrees ? type.getValue() : known);
  }
  auto names = declaration.getAs<ArrayAttr>("dims");
  takeSizes(dyn_cast_or_null<RankedTensorType>(known), names,
            *info.mutable_type());
  setDimNames(names, *info.mutable_type());
  info.set_doc_string(text(declaration, docNote));
  if (info.doc_string().empty())
    info.clear_doc_string();
  pairsFromAttr(declaration.get(metadataNote), *info.mutable_metadata_props());
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

DictionaryAttr factsOfModel(const ModelProto &model, MLIRContext *context) {
  Builder builder(context);
  NamedAttrList facts;
  auto add = [&](StringRef key, const std::string &value) {
    if (!value.empty())
      facts.set(key, builder.getStringAttr(value));
  };
  auto addPairs = [&](StringRef key, const Pairs &pairs) {
    if (!pairs.empty())
      facts.set(key, pairsToAttr(pairs, context));
  };
  facts.set("graph", builder.getStringAttr(model.graph().name()));
  facts.set("ir_version", builder.getI64IntegerAttr(model.ir_version()));
  add("producer", model.producer_name());
  add("producer_version", model.producer_version());
  add("domain", model.domain());
  if (model.model_version())
    facts.set("version", builder.getI64IntegerAttr(model.model_version()));
  add(docNote, model.doc_string());
  add("graph_doc", model.graph().doc_string());
  addPairs(metadataNote, model.metadata_props());
  addPairs("graph_metadata", model.graph().metadata_props());
  for (const auto &import : model.opset_import())
    if (!import.domain().empty())
      facts.set("opset." + import.domain(),
                builder.getI64IntegerAttr(import.version()));
  SmallVector<Attribute> annotations, configurations;
  for (const auto &annotation : model.graph().quantization_annotation())
    annotations.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("tensor",
                              builder.getStringAttr(annotation.tensor_name())),
         builder.getNamedAttr(
             "parameters",
             pairsToAttr(annotation.quant_parameter_tensor_names(),
                         context))}));
  if (!annotations.empty())
    facts.set("quantization", builder.getArrayAttr(annotations));
  for (const auto &configuration : model.configuration()) {
    SmallVector<StringRef> devices(configuration.device().begin(),
                                   configuration.device().end());
    configurations.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name",
                              builder.getStringAttr(configuration.name())),
         builder.getNamedAttr(
             "count", builder.getI64IntegerAttr(configuration.num_devices())),
         builder.getNamedAttr("devices", builder.getStrArrayAttr(devices))}));
  }
  if (!configurations.empty())
    facts.set("configurations", builder.getArrayAttr(configurations));
  return facts.getDictionary(context);
}

void factsToModel(DictionaryAttr facts, ModelProto &model) {
  auto &graph = *model.mutable_graph();
  auto number = [&](StringRef key) -> int64_t {
    auto value = facts.getAs<IntegerAttr>(key);
    return value ? value.getInt() : 0;
  };
  auto set = [&](StringRef key, auto setter) {
    if (std::string value = text(facts, key); !value.empty())
      setter(value);
  };
  set("graph", [&](auto &value) { graph.set_name(value); });
  set("producer", [&](auto &value) { model.set_producer_name(value); });
  set("producer_version",
      [&](auto &value) { model.set_producer_version(value); });
  set("domain", [&](auto &value) { model.set_domain(value); });
  set(docNote, [&](auto &value) { model.set_doc_string(value); });
  set("graph_doc", [&](auto &value) { graph.set_doc_string(value); });
  if (int64_t version = number("ir_version"))
    model.set_ir_version(version);
  if (int64_t version = number("version"))
    model.set_model_version(version);
  pairsFromAttr(facts.get(metadataNote), *model.mutable_metadata_props());
  pairsFromAttr(facts.get("graph_metadata"), *graph.mutable_metadata_props());
  for (NamedAttribute fact : facts) {
    StringRef domain = fact.getName();
    auto version = dyn_cast<IntegerAttr>(fact.getValue());
    if (!version || !domain.consume_front("opset."))
      continue;
    auto *import = model.add_opset_import();
    import->set_domain(domain.str());
    import->set_version(version.getInt());
  }
  auto dictionaries = [&](StringRef key) {
    auto list = facts.getAs<ArrayAttr>(key);
    return llvm::make_filter_range(
        list ? list.getValue() : ArrayRef<Attribute>(),
        [](Attribute item) { return isa<DictionaryAttr>(item); });
  };
  for (Attribute item : dictionaries("quantization")) {
    auto fields = cast<DictionaryAttr>(item);
    auto *annotation = graph.add_quantization_annotation();
    annotation->set_tensor_name(text(fields, "tensor"));
    pairsFromAttr(fields.get("parameters"),
                  *annotation->mutable_quant_parameter_tensor_names());
  }
  for (Attribute item : dictionaries("configurations")) {
    auto fields = cast<DictionaryAttr>(item);
    auto *configuration = model.add_configuration();
    configuration->set_name(text(fields, "name"));
    if (auto count = fields.getAs<IntegerAttr>("count"))
      configuration->set_num_devices(static_cast<int32_t>(count.getInt()));
    if (auto devices = fields.getAs<ArrayAttr>("devices"))
      for (auto device : devices.getAsRange<StringAttr>())
        configuration->add_device(device.str());
  }
}

} // namespace hethub::ox

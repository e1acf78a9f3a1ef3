//===- Manifest.cpp - stages.json -----------------------------------------===//

#include "StageFiles.h"

#include "hethub/Dialect/ONNX/IR/Proto.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using onnx::ValueInfoProto;

namespace hethub::split {

/// Name, element type and shape; a size that is open is its name, or null.
static json::Object portOf(const ValueInfoProto &info) {
  json::Object port{{"name", info.name()}};
  if (!info.type().has_tensor_type())
    return port;
  const auto &tensor = info.type().tensor_type();
  port["type"] = ox::elementName(tensor.elem_type());
  if (!tensor.has_shape())
    return port;
  json::Array shape;
  for (const auto &dim : tensor.shape().dim()) {
    if (dim.has_dim_value())
      shape.push_back(dim.dim_value());
    else if (!dim.dim_param().empty())
      shape.push_back(dim.dim_param());
    else
      shape.push_back(nullptr);
  }
  port["shape"] = std::move(shape);
  return port;
}

json::Value describeStages(ArrayRef<StageFile> stages,
                           ArrayRef<std::string> inputs,
                           ArrayRef<std::string> outputs) {
  StringSet<> modelInputs, modelOutputs;
  modelInputs.insert_range(inputs);
  modelOutputs.insert_range(outputs);
  StringMap<int64_t> from;
  StringMap<std::vector<int64_t>> to;
  for (auto [index, stage] : llvm::enumerate(stages)) {
    for (const ValueInfoProto &output : stage.model->graph().output())
      from.try_emplace(output.name(), index);
    for (const ValueInfoProto &input : stage.model->graph().input())
      to[input.name()].push_back(index);
  }
  json::Array list;
  for (const StageFile &stage : stages) {
    json::Array stageInputs, stageOutputs;
    for (const ValueInfoProto &input : stage.model->graph().input()) {
      json::Object port = portOf(input);
      // Null: an input of the model.
      auto source = from.find(input.name());
      if (modelInputs.contains(input.name()) || source == from.end())
        port["from"] = nullptr;
      else
        port["from"] = source->second;
      stageInputs.push_back(std::move(port));
    }
    for (const ValueInfoProto &output : stage.model->graph().output()) {
      json::Object port = portOf(output);
      json::Array readers;
      if (!modelInputs.contains(output.name()))
        for (int64_t reader : to[output.name()])
          readers.push_back(reader);
      port["to"] = std::move(readers);
      port["is_output"] = modelOutputs.contains(output.name());
      stageOutputs.push_back(std::move(port));
    }
    list.push_back(json::Object{{"file", stage.path},
                                {"nodes", stage.model->graph().node_size()},
                                {"weight_bytes", stage.weightBytes},
                                {"inputs", std::move(stageInputs)},
                                {"outputs", std::move(stageOutputs)}});
  }
  return json::Object{{"version", 1},
                      {"inputs", json::Array(inputs)},
                      {"outputs", json::Array(outputs)},
                      {"stages", std::move(list)}};
}

} // namespace hethub::split

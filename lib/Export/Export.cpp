//===- Export.cpp - from the onnx dialect to an ONNX file -----------------===//

#include "hethub/Export/Export.h"
#include "ExportDetail.h"

#include "hethub/Dialect/ONNX/IR/Notes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

#include <climits>

using namespace mlir;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::TensorProto;
using onnx::ValueInfoProto;

namespace hethub::exporter {

/// Weights with default values stand among the inputs again, all in the order
/// of the file.
static void listDefaults(DictionaryAttr facts, ModelProto &model) {
  GraphProto &graph = *model.mutable_graph();
  auto order = facts ? facts.getAs<ArrayAttr>("inputs") : nullptr;
  if (order) {
    llvm::StringMap<ValueInfoProto> given;
    std::vector<std::string> names;
    for (ValueInfoProto &input : *graph.mutable_input()) {
      names.push_back(input.name());
      given[input.name()].Swap(&input);
    }
    llvm::StringMap<const TensorProto *> weights;
    for (const TensorProto &tensor : graph.initializer())
      weights[tensor.name()] = &tensor;
    graph.clear_input();
    auto add = [&](StringRef name) {
      if (auto found = given.find(name); found != given.end()) {
        graph.add_input()->Swap(&found->second);
        given.erase(found);
      } else if (const TensorProto *tensor = weights.lookup(name)) {
        ValueInfoProto *input = graph.add_input();
        input->set_name(name.str());
        auto *type = input->mutable_type()->mutable_tensor_type();
        type->set_elem_type(tensor->data_type());
        type->mutable_shape();
        for (int64_t dim : tensor->dims())
          type->mutable_shape()->add_dim()->set_dim_value(dim);
      }
    };
    for (auto name : order.getAsRange<StringAttr>())
      add(name.getValue());
    for (const std::string &name : names)
      if (given.contains(name))
        add(name);
  }
  // Before version 4 all weights were inputs.
  if (model.ir_version() >= 4)
    return;
  llvm::StringSet<> inputs;
  for (const ValueInfoProto &input : graph.input())
    inputs.insert(input.name());
  for (const TensorProto &tensor : graph.initializer())
    if (!inputs.contains(tensor.name()))
      model.set_ir_version(4);
}

/// Which device type each stage is for.
static void writeConfiguration(func::FuncOp main, ModelProto &model) {
  auto stages = main.getOps<hh::StageOp>();
  if (stages.empty())
    return;
  model.clear_configuration();
  auto *configuration = model.add_configuration();
  configuration->set_name(pipelineConfiguration.str());
  for (hh::StageOp stage : stages)
    configuration->add_device(stage.getDevice().str());
  configuration->set_num_devices(configuration->device_size());
  model.set_ir_version(
      std::max<int64_t>(model.ir_version(), configurationsVersion));
}

static LogicalResult buildModel(ModuleOp module, const ExportOptions &options,
                                const PlaceParameter &place,
                                ModelProto &model) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock())
    return module.emitError("module must have a function @main of one block");
  Block &block = main.getBody().front();
  std::vector<Port> inputs, outputs;
  for (BlockArgument argument : block.getArguments())
    inputs.push_back(
        {argument, portInfo(main.getArgAttrDict(argument.getArgNumber()),
                            argument.getType())});
  for (OpOperand &output : block.getTerminator()->getOpOperands())
    outputs.push_back({output.get(), portInfo(main.getResultAttrDict(
                                                  output.getOperandNumber()),
                                              output.get().getType())});
  for (auto [list, what] :
       {std::pair(&inputs, "input"), std::pair(&outputs, "output")})
    for (auto [index, port] : llvm::enumerate(*list))
      if (port.info.name().empty())
        return main.emitError()
               << what << " " << index << " of @main must have an onnx.name";
  if (failed(
          writeFacts(module, block, options.opset, options.ownOpset, model)) ||
      failed(writeGraph(module, block, inputs, outputs, place,
                        *model.mutable_graph())))
    return failure();
  listDefaults(module->getAttrOfType<DictionaryAttr>(ox::modelAttrName), model);
  writeConfiguration(main, model);
  return success();
}

/// Both files appear, or none.
static LogicalResult writeModel(ModuleOp module, const ModelProto &model,
                                StringRef path, const DataFile &data,
                                StringRef dataPath) {
  if (model.ByteSizeLong() > INT_MAX)
    return module.emitError("a model must be below 2 GiB without its weights, "
                            "got: ")
           << model.ByteSizeLong() << " bytes";
  auto open = [&](StringRef name) -> std::unique_ptr<llvm::ToolOutputFile> {
    std::string error;
    auto file = openOutputFile(name, &error);
    if (!file)
      module.emitError() << error;
    return file;
  };
  auto close = [&](llvm::ToolOutputFile &file, StringRef name) {
    file.os().flush();
    std::error_code error = file.os().error();
    file.os().clear_error();
    if (!error)
      return success();
    return LogicalResult(module.emitError("cannot write ")
                         << name << ": " << error.message());
  };
  std::unique_ptr<llvm::ToolOutputFile> dataFile;
  if (!data.empty()) {
    dataFile = open(dataPath);
    if (!dataFile || failed(data.write(dataFile->os())) ||
        failed(close(*dataFile, dataPath)))
      return failure();
  }
  auto file = open(path);
  if (!file)
    return failure();
  file->os() << model.SerializeAsString();
  if (failed(close(*file, path)))
    return failure();
  file->keep();
  if (dataFile)
    dataFile->keep();
  return success();
}

LogicalResult exportModel(ModuleOp module, StringRef path,
                          const ExportOptions &options) {
  std::string dataPath = (path + ".data").str();
  DataFile data(llvm::sys::path::filename(dataPath));
  PlaceParameter place =
      options.packWeights
          ? PlaceParameter([&](hh::ParameterOp parameter, TensorProto &tensor) {
              return data.place(parameter, tensor);
            })
          : referenceFrom(llvm::sys::path::parent_path(path));
  ModelProto model;
  if (failed(buildModel(module, options, place, model)))
    return failure();
  // Files that the model is made from must not be overwritten while they are
  // read.
  for (auto parameter : module.getOps<hh::ParameterOp>())
    for (StringRef written : {path, StringRef(dataPath)})
      if (llvm::sys::fs::equivalent(parameter.getFile(), written))
        return module.emitError("output must not replace a file that holds the "
                                "model's weights, got: ")
               << written;
  return writeModel(module, model, path, data, dataPath);
}

} // namespace hethub::exporter

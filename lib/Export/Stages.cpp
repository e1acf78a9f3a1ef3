//===- Stages.cpp - an ONNX file for each stage ---------------------------===//

#include "ExportDetail.h"
#include "hethub/Export/Export.h"

#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using onnx::ModelProto;
using onnx::TensorProto;
using onnx::ValueInfoProto;

namespace hethub::exporter {

namespace {

/// One name for each value between stages, that of an output of the model
/// where it is one.
class StageExporter {
public:
  StageExporter(ModuleOp module, func::FuncOp main, StringRef folder)
      : module(module), main(main), folder(folder.str()),
        stages(main.getOps<hh::StageOp>()) {}

  LogicalResult run();

private:
  void nameValues();
  ValueInfoProto inputInfo(BlockArgument input);
  ValueInfoProto infoOf(OpResult value) const;
  LogicalResult writeStage(unsigned index, ModelProto &model,
                           int64_t &weightBytes);
  LogicalResult writeManifest(ArrayRef<StageFile> files);

  ModuleOp module;
  func::FuncOp main;
  std::string folder;
  SmallVector<hh::StageOp> stages;
  llvm::DenseMap<Value, std::string> nameOf;
};

} // namespace

void StageExporter::nameValues() {
  llvm::StringSet<> used;
  for (BlockArgument input : main.getArguments()) {
    nameOf[input] = inputInfo(input).name();
    used.insert(nameOf[input]);
  }
  Operation *end = main.getBody().front().getTerminator();
  for (OpOperand &output : end->getOpOperands()) {
    std::string name =
        portInfo(main.getResultAttrDict(output.getOperandNumber()),
                 output.get().getType())
            .name();
    used.insert(name);
    nameOf.try_emplace(output.get(), name);
  }
  for (hh::StageOp stage : stages)
    for (auto [result, yielded] :
         llvm::zip(stage->getResults(),
                   stage.getBody().front().getTerminator()->getOperands())) {
      if (nameOf.contains(result))
        continue;
      std::string wanted = valueName(yielded);
      if (wanted.empty())
        wanted = "stage_" + std::to_string(stage.getIndex());
      std::string name = wanted;
      for (int suffix = 1; !used.insert(name).second; ++suffix)
        name = wanted + "." + std::to_string(suffix);
      nameOf[result] = name;
    }
}

ValueInfoProto StageExporter::inputInfo(BlockArgument input) {
  return portInfo(main.getArgAttrDict(input.getArgNumber()), input.getType());
}

ValueInfoProto StageExporter::infoOf(OpResult value) const {
  ValueInfoProto info = portInfo(nullptr, value.getType());
  info.set_name(nameOf.lookup(value));
  return info;
}

LogicalResult StageExporter::writeStage(unsigned index, ModelProto &model,
                                        int64_t &weightBytes) {
  hh::StageOp stage = stages[index];
  Block &body = stage.getBody().front();
  Operation *yield = body.getTerminator();
  Operation *end = main.getBody().front().getTerminator();
  std::vector<Port> inputs, outputs;
  llvm::DenseMap<Value, Value> inside;
  for (auto [outer, argument] :
       llvm::zip_equal(stage.getInputs(), body.getArguments())) {
    auto input = dyn_cast<BlockArgument>(outer);
    inside[outer] = argument;
    inputs.push_back(
        {argument, input ? inputInfo(input) : infoOf(cast<OpResult>(outer))});
  }
  // What no stage reads stays with the first one, and what passes through the
  // model does so there.
  if (index == 0)
    for (BlockArgument input : main.getArguments()) {
      bool passes = llvm::is_contained(end->getOperands(), Value(input));
      bool read = llvm::any_of(input.getUsers(), [](Operation *user) {
        return isa<hh::StageOp>(user);
      });
      if (inside.contains(input) || (read && !passes))
        continue;
      inside[input] = input;
      inputs.push_back({input, inputInfo(input)});
    }
  llvm::StringSet<> listed;
  for (OpOperand &output : end->getOpOperands()) {
    auto result = dyn_cast<OpResult>(output.get());
    if (result ? result.getOwner() != stage : index != 0)
      continue;
    Value value = result ? yield->getOperand(result.getResultNumber())
                         : inside.lookup(output.get());
    outputs.push_back(
        {value, portInfo(main.getResultAttrDict(output.getOperandNumber()),
                         output.get().getType())});
    listed.insert(outputs.back().info.name());
  }
  for (OpResult result : stage->getResults())
    if (listed.insert(nameOf.lookup(result)).second)
      outputs.push_back(
          {yield->getOperand(result.getResultNumber()), infoOf(result)});

  std::string path = folder + "/stage_" + std::to_string(index);
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    return module.emitError("cannot create ")
           << path << ": " << error.message();
  path += "/stage.onnx";
  DataFile data("stage.onnx.data");
  PlaceParameter place = [&](hh::ParameterOp parameter, TensorProto &tensor) {
    return data.place(parameter, tensor);
  };
  if (failed(writeFacts(module, body, /*opset=*/0, /*ownOpset=*/true, model)) ||
      failed(writeGraph(module, body, inputs, outputs, /*allParameters=*/false,
                        place, *model.mutable_graph())))
    return failure();
  // Before version 4 weights had to be inputs.
  model.set_ir_version(std::max<int64_t>(model.ir_version(), 4));
  weightBytes = data.weightBytes();
  return writeModel(module, model, path, data, path + ".data");
}

LogicalResult StageExporter::writeManifest(ArrayRef<StageFile> files) {
  std::vector<std::string> inputs, outputs;
  for (BlockArgument input : main.getArguments())
    inputs.push_back(nameOf.lookup(input));
  for (OpOperand &output :
       main.getBody().front().getTerminator()->getOpOperands())
    outputs.push_back(
        portInfo(main.getResultAttrDict(output.getOperandNumber()),
                 output.get().getType())
            .name());
  std::string error;
  auto file = openOutputFile(folder + "/stages.json", &error);
  if (!file)
    return module.emitError() << error;
  file->os() << llvm::formatv("{0:2}\n",
                              describeStages(files, inputs, outputs));
  file->keep();
  return success();
}

LogicalResult StageExporter::run() {
  nameValues();
  std::vector<ModelProto> models(stages.size());
  std::vector<StageFile> files;
  for (unsigned index = 0; index < stages.size(); ++index) {
    int64_t weightBytes = 0;
    if (failed(writeStage(index, models[index], weightBytes)))
      return failure();
    files.push_back({&models[index],
                     "stage_" + std::to_string(index) + "/stage.onnx",
                     weightBytes});
  }
  return writeManifest(files);
}

LogicalResult exportStages(ModuleOp module, StringRef folder) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.getOps<hh::StageOp>().empty())
    return module.emitError("function @main must be partitioned "
                            "(hh-partition) to be exported in stages");
  return StageExporter(module, main, folder).run();
}

} // namespace hethub::exporter

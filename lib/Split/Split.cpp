//===- Split.cpp - an ONNX model into one file a stage --------------------===//

#include "hethub/Split/Split.h"
#include "Borders.h"
#include "StageFiles.h"

#include "hethub/Export/ModelFiles.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using hethub::import::fail;
using onnx::ModelProto;

namespace hethub::split {

/// The plan where nothing is known of devices and times.
static llvm::json::Value planOf(const ModelCut &cut) {
  llvm::json::Array stages;
  for (unsigned stage = 0; stage < cut.stageCount; ++stage) {
    llvm::json::Array nodes;
    for (const CutNode &node : cut.nodes)
      if (!node.constant && node.stage == stage)
        nodes.push_back(node.proto->name().empty() && node.proto->output_size()
                            ? node.proto->output(0)
                            : node.proto->name());
    stages.push_back(llvm::json::Object{{"nodes", std::move(nodes)}});
  }
  return llvm::json::Object{{"version", 1}, {"stages", std::move(stages)}};
}

static void writeJson(StringRef path, const llvm::json::Value &value) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os << llvm::formatv("{0:2}\n", value);
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    fail("cannot write " + path + ": " + error.message());
}

/// Some value that crosses has no type yet.
static bool lacksTypes(const ModelCut &cut) {
  return llvm::any_of(cut.nodes, [&](const CutNode &node) {
    return llvm::any_of(node.reads, [&](const std::string &name) {
      auto from = cut.producer.find(name);
      return from != cut.producer.end() &&
             cut.nodes[from->second].stage != node.stage && !cut.typeOf(name);
    });
  });
}

static void split(StringRef path, StringRef folder, const Options &options,
                  MLIRContext *context) {
  ModelCut cut = readModel(path);
  std::vector<std::string> devices;
  llvm::json::Value plan(nullptr);
  if (options.annotated) {
    cutAsAnnotated(cut);
    devices = annotatedDevices(cut);
  } else if (!options.at.empty()) {
    cutAt(cut, options.at);
  } else {
    plan = cutByPlan(cut, options, context);
    for (const auto &stage : *plan.getAsObject()->getArray("stages"))
      devices.push_back(
          stage.getAsObject()->getString("device_type").value_or("").str());
  }
  cut.placeConstants();
  if (lacksTypes(cut))
    addImportedTypes(cut, context);
  cut.check();
  if (plan.kind() == llvm::json::Value::Null)
    plan = planOf(cut);

  std::vector<ModelProto> models;
  std::vector<exporter::StageFile> files;
  models.reserve(cut.stageCount);
  for (unsigned stage = 0; stage < cut.stageCount; ++stage) {
    std::string stem = "stage_" + std::to_string(stage);
    models.push_back(stageModel(cut, stage));
    int64_t bytes = writeModelFile(cut, models.back(), folder, stem,
                                   options.referenceWeights);
    files.push_back({&models.back(), stem + ".onnx", bytes});
  }
  std::vector<std::string> inputs, outputs;
  for (const auto &input : cut.model.graph().input())
    inputs.push_back(input.name());
  for (const auto &output : cut.model.graph().output())
    outputs.push_back(output.name());
  writeJson((folder + "/plan.json").str(), plan);
  writeJson((folder + "/stages.json").str(),
            exporter::describeStages(files, inputs, outputs));
  if (options.annotate) {
    ModelProto whole = annotatedModel(cut, devices);
    writeModelFile(cut, whole, folder, "annotated", options.referenceWeights);
  }
}

/// Calls `action`; what it throws becomes one diagnostic that names the file.
static LogicalResult reporting(StringRef path, MLIRContext *context,
                               llvm::function_ref<void()> action) {
  try {
    action();
    return success();
  } catch (const std::exception &error) {
    return emitError(UnknownLoc::get(context)) << path << ": " << error.what();
  }
}

LogicalResult splitModel(StringRef path, StringRef folder,
                         const Options &options, MLIRContext *context) {
  return reporting(path, context,
                   [&] { split(path, folder, options, context); });
}

std::optional<AnnotatedStages> readAnnotatedStages(StringRef path,
                                                   MLIRContext *context) {
  AnnotatedStages result;
  if (failed(reporting(path, context, [&] {
        ModelCut cut = readModel(path);
        cutAsAnnotated(cut);
        cut.placeConstants();
        cut.check();
        for (const CutNode &node : cut.nodes)
          if (!node.constant)
            for (const std::string &output : node.proto->output())
              if (!output.empty())
                result.stageOf[output] = node.stage;
        result.devices = annotatedDevices(cut);
      })))
    return std::nullopt;
  return result;
}

} // namespace hethub::split

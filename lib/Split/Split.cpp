//===- Split.cpp - an ONNX model into one file a stage --------------------===//

#include "hethub/Split/Split.h"
#include "Borders.h"
#include "StageFiles.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
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

static void finishCut(ModelCut &cut, MLIRContext *context) {
  cut.placeOthers();
  if (lacksTypes(cut))
    addImportedTypes(cut, context);
  cut.check();
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
  finishCut(cut, context);
  if (plan.kind() == llvm::json::Value::Null)
    plan = planOf(cut);

  NewFiles files;
  writeStages(
      cut, folder,
      [](unsigned stage) { return "stage_" + std::to_string(stage); },
      options.referenceWeights, files);
  files.writeJson((folder + "/plan.json").str(), plan);
  if (options.annotate) {
    ModelProto whole = annotatedModel(cut, devices);
    writeModelFile(cut, whole, folder, "annotated", options.referenceWeights,
                   files);
  }
  files.keep();
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

LogicalResult exportStages(ModuleOp module, StringRef path, StringRef folder) {
  return reporting(path, module.getContext(), [&] {
    ModelCut cut = readModel(path);
    cutAsStaged(cut, module);
    finishCut(cut, module.getContext());
    NewFiles files;
    writeStages(
        cut, folder,
        [](unsigned stage) {
          return "stage_" + std::to_string(stage) + "/stage";
        },
        /*referenceWeights=*/false, files);
    files.keep();
  });
}

std::optional<AnnotatedStages> readAnnotatedStages(StringRef path,
                                                   MLIRContext *context) {
  AnnotatedStages result;
  if (failed(reporting(path, context, [&] {
        ModelCut cut = readModel(path);
        cutAsAnnotated(cut);
        cut.placeOthers();
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

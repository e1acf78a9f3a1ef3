// The manifest of a checkpoint and the look-up of parameters by name over all
// its files.
#include "CheckpointFiles.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Weights.h"
#include "weights/Entries.h"
#include "weights/Mapping.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unordered_map>

using namespace hethub::runtime;
using nlohmann::json;
namespace fs = std::filesystem;

std::string hethub::runtime::parameterFile(int stage) {
  return "stage_" + std::to_string(stage) + ".safetensors";
}

std::string hethub::runtime::optimizerKey(const std::string &kind,
                                          const std::string &parameter) {
  return kind + "/" + parameter;
}

std::string hethub::runtime::optimizerFile(int stage) {
  return "stage_" + std::to_string(stage) + ".optimizer.safetensors";
}

namespace {
constexpr std::string_view stepPrefix = "step-";

/// The step of "step-000100"; nothing for other names.
std::optional<int64_t> stepOf(const std::string &name) {
  std::string digits = name.starts_with(stepPrefix)
                           ? name.substr(stepPrefix.size())
                           : std::string();
  if (digits.empty() || digits.size() > 18 ||
      !std::all_of(digits.begin(), digits.end(),
                   [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stoll(digits);
}

json filesJson(const std::vector<CheckpointManifest::File> &files) {
  json list = json::array();
  for (const auto &file : files)
    list.push_back({{"file", file.name}, {"bytes", file.bytes}});
  return list;
}

std::vector<CheckpointManifest::File> filesOf(const json &list,
                                              const std::string &path) {
  std::vector<CheckpointManifest::File> files;
  for (const json &value : list) {
    CheckpointManifest::File file{value.at("file"), value.at("bytes")};
    // Names come from a file: none may lead out of the folder.
    if (fs::path(file.name).filename() != file.name)
      fail("files of ", path, " must lie beside it, got: ", file.name);
    files.push_back(std::move(file));
  }
  return files;
}

bool isCheckpoint(const fs::path &folder) {
  std::error_code ignored;
  return fs::exists(folder / CheckpointManifest::fileName, ignored);
}
} // namespace

std::string hethub::runtime::stepName(int64_t step) {
  char text[32];
  std::snprintf(text, sizeof(text), "step-%06lld",
                static_cast<long long>(step));
  return text;
}

std::vector<int64_t> hethub::runtime::savedSteps(const std::string &folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (auto step = stepOf(entry.path().filename().string());
        step && isCheckpoint(entry.path()))
      steps.push_back(*step);
  if (error && error != std::errc::no_such_file_or_directory)
    fail("cannot read ", folder, ": ", error.message());
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::optional<std::string>
hethub::runtime::newestCheckpoint(const std::string &folder) {
  std::string name;
  std::ifstream(fs::path(folder) / "latest") >> name;
  if (stepOf(name) && isCheckpoint(fs::path(folder) / name))
    return (fs::path(folder) / name).string();
  std::vector<int64_t> steps = savedSteps(folder);
  if (steps.empty())
    return std::nullopt;
  return (fs::path(folder) / stepName(steps.back())).string();
}

std::string CheckpointManifest::text() const {
  return json{{"format", format},
              {"model", model},
              {"plan", planHash},
              {"optimizer", optimizer},
              {"seed", seed},
              {"step", step},
              {"samples", samples},
              {"parameters", filesJson(parameters)},
              {"optimizer_state", filesJson(optimizerState)}}
             .dump(1) +
         "\n";
}

CheckpointManifest CheckpointManifest::read(const std::string &folder) {
  std::string path = (fs::path(folder) / fileName).string();
  fileSize(path);
  CheckpointManifest manifest;
  try {
    std::ifstream file(path);
    json value = json::parse(file);
    // First: a newer version may have changed all the rest.
    int found = value.at("format");
    if (found > format)
      fail("the format of ", path, " must be at most ", format,
           ", got: ", found, " (it was written by a newer version)");
    manifest.model = value.at("model");
    manifest.planHash = value.at("plan");
    manifest.optimizer = value.at("optimizer");
    manifest.seed = value.at("seed");
    manifest.step = value.at("step");
    manifest.samples = value.at("samples");
    manifest.parameters = filesOf(value.at("parameters"), path);
    manifest.optimizerState = filesOf(value.at("optimizer_state"), path);
  } catch (const json::exception &error) {
    fail("not a checkpoint's manifest: ", path, ": ", messageOf(error));
  }
  if (manifest.step < 0 || manifest.samples < 0)
    fail("step and samples must not be negative in ", path,
         ", got: ", manifest.step, " and ", manifest.samples);
  for (const auto *files : {&manifest.parameters, &manifest.optimizerState})
    for (const File &file : *files) {
      std::string part = (fs::path(folder) / file.name).string();
      if (int64_t bytes = fileSize(part); bytes != file.bytes)
        fail(part, " must have ", file.bytes, " bytes, got: ", bytes,
             bytes < file.bytes ? " (truncated)" : "");
    }
  return manifest;
}

namespace {
/// One file of a checkpoint, and where it has what.
struct Part {
  std::string path;
  std::unique_ptr<WeightsFile> tensors;
};

/// Entries of several files by name; a tensor that two stages share stands in
/// one of them.
class Parts {
public:
  Parts(const std::string &folder,
        const std::vector<CheckpointManifest::File> &files) {
    for (const auto &file : files) {
      Part part{(fs::path(folder) / file.name).string(), nullptr};
      part.tensors = std::make_unique<WeightsFile>(part.path);
      for (WeightEntry &entry : readSafetensorsHeader(part.path)) {
        std::string name = entry.name;
        entries_.try_emplace(name, std::pair{std::move(entry), parts_.size()});
      }
      parts_.push_back(std::move(part));
    }
  }

  /// The tensor `name` for `target`; `what` and `whose` are for the message.
  Refill refill(const at::Tensor &target, const std::string &name,
                const std::string &what, const std::string &whose) const {
    auto found = entries_.find(name);
    if (found == entries_.end())
      fail(what, " is missing in ", whose);
    const auto &[entry, part] = found->second;
    if (entry.dtype != target.scalar_type() ||
        at::IntArrayRef(entry.shape) != target.sizes())
      fail(what, " must be ", typeName(target.scalar_type(), target.sizes()),
           ", got ", typeName(entry.dtype, entry.shape), " in ", whose);
    return {target, parts_[part].tensors->get(name, entry.dtype, entry.shape)};
  }

private:
  std::vector<Part> parts_;
  std::unordered_map<std::string, std::pair<WeightEntry, size_t>> entries_;
};
} // namespace

std::vector<Refill>
hethub::runtime::readState(const std::string &folder,
                           const CheckpointManifest &manifest,
                           const TrainState &state, const std::string &model) {
  if (manifest.optimizer != state.optimizer)
    fail("checkpoint ", folder, " holds the state of optimizer '",
         manifest.optimizer, "', got: '", state.optimizer, "'");
  std::string whose = "checkpoint " + folder;
  if (manifest.model != model)
    whose += " (it is one of model '" + manifest.model + "', this is '" +
             model + "')";
  Parts values(folder, manifest.parameters),
      optimizer(folder, manifest.optimizerState);
  std::vector<Refill> refills;
  for (const ParameterState &parameter : state.parameters) {
    std::string quoted = "'" + parameter.name + "'";
    refills.push_back(values.refill(parameter.value, parameter.name,
                                    "parameter " + quoted, whose));
    for (const auto &[kind, tensor] : parameter.optimizer)
      refills.push_back(
          optimizer.refill(tensor, optimizerKey(kind, parameter.name),
                           kind + " of parameter " + quoted, whose));
  }
  return refills;
}

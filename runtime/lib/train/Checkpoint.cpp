// Writes and reads checkpoints together with the other ranks.
#include "Checkpoint.h"
#include "CheckpointFiles.h"
#include "hethub/runtime/Error.h"
#include "io/FileWriter.h"
#include "run/RunRank.h"
#include "weights/Mapping.h"
#include "weights/SafetensorsWriter.h"

#include <cstdio>
#include <filesystem>
#include <set>

using namespace hethub::runtime;
namespace fs = std::filesystem;

namespace {
/// Hidden, so that nothing takes a half-written or half-removed folder for a
/// checkpoint.
std::string hidden(const std::string &folder, const std::string &name,
                   const char *why) {
  return (fs::path(folder) / ("." + name + why)).string();
}

/// What std::filesystem throws says the path twice.
template <typename Function>
void onDisk(const std::string &path, const Function &function) {
  std::error_code error;
  function(error);
  if (error)
    fail("cannot write ", path, ": ", error.message());
}

/// What runs left that died while they wrote or removed a checkpoint.
void removeLeftovers(const std::string &folder) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(folder, ignored)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(".step-") &&
        (name.ends_with(".part") || name.ends_with(".old")))
      fs::remove_all(entry.path(), ignored);
  }
}

/// A folder that vanished half-way is still not a checkpoint.
void removeCheckpoint(const std::string &folder, const std::string &name) {
  std::string aside = hidden(folder, name, ".old");
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  fs::rename(fs::path(folder) / name, aside, ignored);
  fs::remove_all(aside, ignored);
}

/// Names of what training changes in a stage.
std::set<std::string> changedBy(const StageSpec &spec) {
  std::set<std::string> names;
  for (const TrainedSpec &parameter : spec.trained)
    names.insert(parameter.name);
  for (const PortSpec &port : spec.outputs)
    if (!port.updateOf.empty())
      names.insert(port.updateOf);
  return names;
}
} // namespace

Checkpoints::Checkpoints(std::string folder, int kept, RankStages stages,
                         int rank, SumOverRanks sum)
    : folder_(std::move(folder)), kept_(kept), stages_(std::move(stages)),
      spec_(*stages_[0]), rank_(rank), sum_(std::move(sum)) {}

void Checkpoints::waitToBeStopped() const {
  // Another rank has failed and is about to say why; it does not come to this
  // sum any more.
  sum_(0);
  fail("another rank failed");
}

Checkpoints::Outcome
Checkpoints::together(const std::function<void()> &work) const {
  Outcome outcome;
  try {
    work();
  } catch (const std::exception &error) {
    outcome.problem = messageOf(error);
  }
  // Nobody may go on, and nobody may leave, while another still works. A rank
  // that is lost meanwhile is no problem of this kind: that error goes up.
  outcome.allDid = sum_(outcome.problem ? 1 : 0) == 0;
  return outcome;
}

void Checkpoints::demand(const Outcome &outcome) const {
  if (outcome.problem)
    throw Error(*outcome.problem);
  if (!outcome.allDid)
    waitToBeStopped();
}

bool Checkpoints::begin(TrainState &state, bool resume) {
  CheckpointManifest manifest;
  std::vector<Refill> refills;
  std::optional<std::string> newest;
  demand(together([&] {
    if (rank_ == 0) {
      onDisk(folder_,
             [&](auto &error) { fs::create_directories(folder_, error); });
      // Now, not after an hour of training.
      FileWriter probe((fs::path(folder_) / ".writable").string());
    }
    newest = newestCheckpoint(folder_);
    if (newest && !resume)
      fail("the checkpoint folder must be new or used with --resume, got: ",
           folder_, ", which has ", fs::path(*newest).filename().string());
    if (rank_ == 0)
      removeLeftovers(folder_);
    if (!newest)
      return;
    manifest = CheckpointManifest::read(*newest);
    refills = readState(*newest, manifest, state, spec_.model);
  }));
  // A folder that is not shared, or seen late, would mix two states.
  int64_t step = newest ? manifest.step : -1;
  if (int64_t ranks = sum_(1); sum_(step) != step * ranks)
    fail("all ranks must see the same checkpoint in ", folder_,
         ", this one sees ",
         newest ? fs::path(*newest).filename().string() : "none",
         ": the folder must be shared by all");
  if (!newest)
    return false;

  state.seed = manifest.seed;
  state.step = manifest.step;
  state.samples = manifest.samples;
  for (Refill &refill : refills)
    refill.target.copy_(refill.source);
  return true;
}

void Checkpoints::writeStages(const TrainState &state,
                              const std::string &folder) const {
  std::vector<Place> places = placesOf(spec_, rank_);
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (places[i].replica != 0)
      continue;
    std::set<std::string> names = changedBy(*stages_[i]);
    NamedTensors values, kept;
    for (const ParameterState &parameter : state.parameters) {
      if (!names.count(parameter.name))
        continue;
      values.emplace_back(parameter.name, parameter.value);
      for (const auto &[kind, tensor] : parameter.optimizer)
        kept.emplace_back(optimizerKey(kind, parameter.name), tensor);
    }
    int stage = places[i].stage;
    writeSafetensors((fs::path(folder) / parameterFile(stage)).string(), values,
                     {{"format", "pt"}});
    writeSafetensors((fs::path(folder) / optimizerFile(stage)).string(), kept);
  }
}

void Checkpoints::publish(const TrainState &state,
                          const std::string &name) const {
  std::string part = hidden(folder_, name, ".part");
  CheckpointManifest manifest;
  manifest.model = spec_.model;
  manifest.planHash = spec_.planHash;
  manifest.optimizer = state.optimizer;
  manifest.seed = state.seed;
  manifest.step = state.step;
  manifest.samples = state.samples;
  auto describe = [&](std::string file) -> CheckpointManifest::File {
    std::string path = (fs::path(part) / file).string();
    if (!fs::exists(path))
      fail("rank 0 must see what all ranks write, it lacks ", path,
           ": the checkpoint folder must be shared by all");
    return {file, fileSize(path)};
  };
  for (int stage = 0; stage < static_cast<int>(spec_.stages.size()); ++stage) {
    manifest.parameters.push_back(describe(parameterFile(stage)));
    manifest.optimizerState.push_back(describe(optimizerFile(stage)));
  }
  writeFile((fs::path(part) / CheckpointManifest::fileName).string(),
            manifest.text(), /*durable=*/true);
  syncFolder(part);

  fs::path target = fs::path(folder_) / name;
  // One that a run left which went back to an older checkpoint since.
  if (fs::exists(target))
    removeCheckpoint(folder_, name);
  onDisk(target.string(),
         [&](auto &error) { fs::rename(part, target, error); });
  writeFile((fs::path(folder_) / "latest").string(), name + "\n",
            /*durable=*/true);
  syncFolder(folder_);
}

void Checkpoints::removeOld(int64_t step) const {
  if (kept_ <= 0)
    return;
  // Those of later steps belong to a run that this one has left behind; they
  // are replaced when their step comes.
  std::vector<int64_t> steps = savedSteps(folder_);
  std::erase_if(steps, [&](int64_t saved) { return saved > step; });
  for (size_t i = 0; i + static_cast<size_t>(kept_) < steps.size(); ++i)
    removeCheckpoint(folder_, stepName(steps[i]));
}

Checkpoints::Outcome Checkpoints::attempt(const TrainState &state) const {
  std::string name = stepName(state.step);
  std::string part = hidden(folder_, name, ".part");
  auto cleanUp = [&] {
    std::error_code ignored;
    if (rank_ == 0)
      fs::remove_all(part, ignored);
  };
  Outcome outcome = together([&] {
    // What a run left that died half-way would else come along.
    cleanUp();
    if (rank_ == 0)
      onDisk(part, [&](auto &error) { fs::create_directories(part, error); });
  });
  if (outcome.allDid)
    outcome = together([&] { writeStages(state, part); });
  if (outcome.allDid)
    outcome = together([&] {
      if (rank_ == 0)
        publish(state, name);
    });
  if (!outcome.allDid)
    cleanUp();
  else if (rank_ == 0)
    removeOld(state.step);
  return outcome;
}

void Checkpoints::save(const TrainState &state) { demand(attempt(state)); }

bool Checkpoints::trySave(const TrainState &state) {
  Outcome outcome = attempt(state);
  if (outcome.problem) {
    std::fprintf(stderr,
                 "warning: %s: the checkpoint of step %lld is not written: "
                 "%s; training goes on\n",
                 rankName(spec_, rank_).c_str(),
                 static_cast<long long>(state.step), outcome.problem->c_str());
    std::fflush(stderr);
  }
  return outcome.allDid;
}

TrainHooks hethub::runtime::checkpointHooks(const CheckpointOptions &options,
                                            const RankStages &stages, int rank,
                                            SumOverRanks sum) {
  if (options.folder.empty())
    return {};
  auto checkpoints = std::make_shared<Checkpoints>(
      options.folder, options.kept, stages, rank, std::move(sum));
  TrainHooks hooks;
  hooks.restore = [checkpoints, rank,
                   resume = options.resume](TrainState &state) {
    if (!checkpoints->begin(state, resume) && resume && rank == 0)
      std::fprintf(stderr, "note: no checkpoint to resume from yet: training "
                           "starts from step 0\n");
  };
  hooks.afterStep = [checkpoints, every = options.every](
                        const TrainState &state, bool isLast) {
    if (isLast)
      checkpoints->save(state);
    else if (state.step % every == 0)
      checkpoints->trySave(state);
  };
  return hooks;
}

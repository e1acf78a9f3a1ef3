// What stands in a checkpoint's folder, and how it is read back.
#pragma once

#include "hethub/runtime/TrainState.h"

#include <optional>
#include <string>
#include <vector>

namespace hethub::runtime {

struct CheckpointManifest {
  /// Raised when older versions could not read what is written.
  static constexpr int format = 1;
  static constexpr const char *fileName = "manifest.json";

  struct File {
    std::string name;
    int64_t bytes = 0;
  };
  std::string model, planHash, optimizer;
  uint64_t seed = 0;
  int64_t step = 0, samples = 0;
  std::vector<File> parameters, optimizerState; ///< one each per stage

  std::string text() const;
  /// Reads and checks that of a checkpoint's folder and the sizes of its files;
  /// throws Error that names the file.
  static CheckpointManifest read(const std::string &folder);
};

std::string parameterFile(int stage);
std::string optimizerFile(int stage);
/// Key of what the optimizer keeps for a parameter: "exp_avg/NAME".
std::string optimizerKey(const std::string &kind, const std::string &parameter);

/// "step-000100"
std::string stepName(int64_t step);
/// Steps of the checkpoints that `folder` has, in order.
std::vector<int64_t> savedSteps(const std::string &folder);
/// Path of the newest checkpoint: the one that `latest` names, or the last one
/// there is when a run died while it replaced that.
std::optional<std::string> newestCheckpoint(const std::string &folder);

/// A tensor of the state, and its view of the file that it is to be filled
/// from.
struct Refill {
  at::Tensor target, source;
};
/// What puts a checkpoint into `state`: nothing has changed yet. Throws Error:
/// a tensor that no file has, one of another type or shape, another optimizer.
/// `model` is the plan's, for messages.
std::vector<Refill> readState(const std::string &folder,
                              const CheckpointManifest &manifest,
                              const TrainState &state,
                              const std::string &model);

} // namespace hethub::runtime

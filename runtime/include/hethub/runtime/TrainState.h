// What training changes on a rank, by name: what a checkpoint holds, and the
// two places of the training loop where checkpoints come in.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hethub::runtime {

/// A parameter and what the optimizer keeps for it. The tensors are the
/// training's own, not copies: they exist from before the first step, keep
/// their dtype, shape and place, and whoever restores a state writes into them
/// (`value.copy_(...)`).
struct ParameterState {
  std::string name;
  at::Tensor value; ///< in the model's dtype, on the stage's device
  /// By torch.optim's names: "momentum_buffer" (sgd with momentum), "exp_avg"
  /// and "exp_avg_sq" (adam, adamw); "master" is the fp32 copy that the
  /// optimizer works on where `value` has 16 bits. Parameters that are only
  /// updated (running means) have none.
  std::vector<std::pair<std::string, at::Tensor>> optimizer;
};

struct TrainState {
  int64_t step = 0;      ///< steps done; Adam's bias correction follows from it
  int64_t samples = 0;   ///< samples used so far: the position in the data
  uint64_t seed = 0;     ///< of the order of the data and of random operators
  std::string optimizer; ///< "sgd", "adam" or "adamw"
  /// Trained and then updated parameters of this rank's stages, in the order of
  /// their programs, each once. Equal on all replicas. Frozen ones are not
  /// among them.
  std::vector<ParameterState> parameters;
};

/// Called by the training loop of each rank, under no-grad. Both are called on
/// all ranks at the same point of the run, so that they may meet in barriers.
/// What they throw ends the run.
struct TrainHooks {
  /// Before the first step. Changes nothing where there is nothing to go on
  /// from; else fills tensors, step, samples and seed. Checks everything before
  /// it changes anything.
  std::function<void(TrainState &state)> restore;
  /// After each step. `isLast`: the run ends here, since all steps are done or
  /// it was asked to stop (SIGTERM).
  std::function<void(const TrainState &state, bool isLast)> afterStep;
};

} // namespace hethub::runtime

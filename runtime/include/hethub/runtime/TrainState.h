// All that training changes on one rank: what a checkpoint keeps, and what
// `--resume` puts back. The trainer owns it; runtime/lib/train/Checkpoint.h
// writes and reads it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hethub::runtime {

/// A parameter of this stage that training changes: by its gradient, or by a
/// new value that the forward function gives (a running mean).
struct ParameterState {
  std::string name; ///< the model's
  at::Tensor value; ///< the tensor that the stage's functions read
  /// What the optimizer keeps for it, by torch's names: "exp_avg",
  /// "exp_avg_sq", "momentum_buffer", "step" (an int64 scalar), and "master"
  /// for the fp32 copy of a narrower parameter. Empty before the first step,
  /// and without an optimizer.
  std::map<std::string, at::Tensor> optimizer;
  bool isWritten = true; ///< false: a copy that another stage writes
};

struct TrainState {
  std::string optimizer; ///< "sgd", "adam", "adamw"
  uint64_t seed = 0;     ///< of the order of the data and of random operators
  int64_t step = 0;      ///< optimizer steps that are done
  int64_t samples = 0;   ///< position in the data: samples used since step 0
  std::vector<ParameterState> parameters;
};

} // namespace hethub::runtime

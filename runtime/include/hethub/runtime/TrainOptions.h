// Options of training: what is learnt from, how, and what is written down.
#pragma once

#include <cstdint>
#include <string>

namespace hethub::runtime {

struct OptimizerOptions {
  std::string name = "adamw"; ///< sgd, adam or adamw, of torch::optim
  double learningRate = 1e-3;
  double momentum = 0;     ///< sgd
  bool nesterov = false;   ///< sgd
  double beta1 = 0.9;      ///< adam, adamw
  double beta2 = 0.999;    ///< adam, adamw
  double epsilon = 1e-8;   ///< adam, adamw
  double weightDecay = -1; ///< negative: torch's default, 0.01 for adamw
  /// Also parameters of one axis and scalars (biases, scales of
  /// normalisations), which are left out otherwise.
  bool decayAll = false;
  double clipNorm = 0; ///< of all gradients together; 0: not clipped
};

struct LearningRateOptions {
  std::string schedule = "constant"; ///< constant, cosine or linear
  int64_t warmupSteps = 0;           ///< the rate rises linearly to its value
  double minimum = 0;                ///< where cosine and linear end
};

struct DataOptions {
  std::string file;     ///< .npz, .safetensors, or tokens (any other name)
  int64_t sequence = 0; ///< token files: tokens of one sample
  std::string tokenType = "uint16"; ///< token files: uint16 or uint32
  bool inOrder = false;             ///< not shuffled
};

struct CheckpointOptions {
  std::string folder;  ///< empty: no checkpoints
  int64_t every = 100; ///< steps between two; the last step has one in any case
  int kept = 3;        ///< 0: all
  bool resume = false;
};

struct TrainOptions {
  bool given = false; ///< whether any of them was
  int64_t steps = 0;  ///< of the whole run, those before a resume included
  uint64_t seed = 0;
  OptimizerOptions optimizer;
  LearningRateOptions learningRate;
  DataOptions data;
  CheckpointOptions checkpoint;
  std::string log;              ///< JSON lines, by rank 0
  bool progress = false;        ///< a line a step on stdout, by rank 0
  std::string gradients;        ///< .npz of the first step's gradients, summed
  int traceSteps = 3;           ///< the first ones of the run
  bool ignoreNonFinite = false; ///< a loss that is not finite is no error
};

} // namespace hethub::runtime

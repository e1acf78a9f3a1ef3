// torch::optim on the parameters of one rank.
#pragma once

#include "hethub/runtime/TrainOptions.h"
#include "hethub/runtime/TrainState.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hethub::runtime {

/// Throws Error where options contradict each other.
void checkOptimizer(const OptimizerOptions &options);

class Optimizer {
public:
  /// `parameters` are changed in place. One of 16 bits has an fp32 copy that is
  /// trained instead, and rounded after each step.
  Optimizer(const OptimizerOptions &options,
            std::vector<at::Tensor> parameters);
  ~Optimizer();

  /// What is trained in place of parameter `index`: the type of its gradient.
  at::ScalarType gradientType(size_t index) const;

  /// One step; `gradients` in the order of the parameters, and left alone
  /// afterwards.
  void step(double learningRate, std::vector<at::Tensor> gradients);

  /// What is kept for parameter `index`, by torch.optim's names.
  std::vector<std::pair<std::string, at::Tensor>> state(size_t index) const;
  /// After the tensors of the state were filled: `steps` were done before.
  void setSteps(int64_t steps);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace hethub::runtime

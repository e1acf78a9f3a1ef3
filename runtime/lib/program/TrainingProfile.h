// What a training step costs beside its functions: adding up gradients, and the
// optimizer.
#pragma once

#include "hethub.pb.h"
#include "hethub/runtime/Stage.h"

#include <functional>
#include <vector>

namespace hethub::runtime {

/// Adds the gradients that a function gives to the sums of a step, as a rank
/// does with all microbatches but the first.
class GradientSums {
public:
  GradientSums(const StageProgram &program, const std::string &function);

  /// Calls `told` with the origin of the call that made each gradient, and the
  /// seconds that adding it took.
  void add(const Tensors &outputs,
           const std::function<void(int origin, double seconds)> &told);
  /// In the order of outputs.
  const Tensors &sums() const { return sums_; }

private:
  struct Gradient {
    size_t output;
    int origin; ///< -1: of no single call
  };
  std::vector<Gradient> gradients_;
  Tensors sums_;
};

/// Seconds of a step of Adam for each byte of the parameters, which keep their
/// values; 0 where there are none.
double optimizerSecondsPerByte(const std::vector<at::Tensor> &parameters);

} // namespace hethub::runtime

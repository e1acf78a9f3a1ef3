// The model inputs of one stage, from an .npz file, split into microbatches.
#pragma once

#include "hethub/runtime/Executor.h"

#include <map>

namespace hethub::runtime {

class InputFeed {
public:
  /// Reads what `spec` needs and checks it. Throws Error that names the input
  /// that is missing or does not fit.
  InputFeed(const StageSpec &spec, const std::string &path, int microbatches,
            at::Device device);

  at::Tensor get(const PortSpec &port, int microbatch) const;

private:
  struct Input {
    at::Tensor value;
    int64_t step = 0; ///< size of one microbatch on axis 0; 0: the whole tensor
                      ///< goes to each
  };
  std::map<int, Input> inputs_; ///< by position among the model's inputs
  at::Device device_;
};

} // namespace hethub::runtime

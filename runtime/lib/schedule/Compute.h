// One call of a stage's function, with its emulated time, its checks and its
// record.
#pragma once

#include "Messages.h"
#include "TrainingTable.h"

namespace hethub::runtime {

/// Throws Error where an output is not what its port says.
void checkOutput(const StageSpec &spec, const PortSpec &port,
                 const at::Tensor &output);

/// The same of all outputs of a function, and of their number. Gradients may be
/// undefined, since they may have been given away early.
void checkOutputs(const StageSpec &spec, const FunctionPorts &function,
                  const Tensors &outputs);

class Compute {
public:
  Compute(const StageSpec &spec, at::Device device, Recorder &recorder);

  /// Runs `function`, waits for the device and until the emulated time is over.
  /// `busyS` grows by what that took.
  Tensors run(Action action, const Forward &function, Tensors inputs,
              int64_t microbatch, double &busyS);

  void synchronize() const;

private:
  const StageSpec &spec_;
  const DeviceSpec &deviceSpec_;
  at::Device device_;
  Recorder &recorder_;
};

} // namespace hethub::runtime

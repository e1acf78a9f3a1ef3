// Times of the model's operations, measured in the model's own run.
#pragma once

#include "program/Interpreter.h"

#include <string>

namespace hethub::runtime {

/// Runs a one-stage program at least `repeats` times and for a second, after a
/// warm-up, and gives JSON:
/// {"forward_s": median of a whole run without clocks in it, "call_s": what of
/// it each call takes beyond its own time, "base_bytes": memory before the
/// first run, "process_bytes": at its peak, "ops": {signature: {"name": of one
/// such node, "op", "forward_s": median over runs of the mean over its nodes,
/// with "call_s" for each call, so that the sum over all nodes is the whole
/// run, "count": nodes}}}. Of a training program each operation has
/// "backward_s" as well, adding its gradients to the sums of a step included,
/// or where backward is two programs "input_gradient_s" and
/// "weight_gradient_s"; the whole has "optimizer_s_per_byte", of a step of Adam
/// for each byte of trained parameters, and "gradient_bytes", of the sums.
/// Inputs come from `inputsPath`, or are made up where it is empty: normal
/// floats, ones else (zeros where an index of one is too large). Throws Error
/// when the program has other stages.
std::string profileProgram(std::shared_ptr<const StageProgram> program,
                           const std::string &weightsPath,
                           const std::string &inputsPath, int repeats,
                           int threads);

} // namespace hethub::runtime

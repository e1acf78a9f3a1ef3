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
/// run, "count": nodes}}}. A training program has "backward_s" of the whole
/// backward pass and of each operation as well. Inputs come from `inputsPath`,
/// or are made up where it is empty: normal floats, ones else (zeros where an
/// index of one is too large). Throws Error when the program has other stages
/// or a backward pass of two parts.
std::string profileProgram(std::shared_ptr<const StageProgram> program,
                           const std::string &weightsPath,
                           const std::string &inputsPath, int repeats,
                           int threads);

} // namespace hethub::runtime

// Command-line options that hh-run and emitted stage programs share.
#pragma once

#include "hethub/runtime/TrainOptions.h"

#include <string>
#include <vector>

namespace hethub::runtime {

struct RunOptions {
  std::string inputs;   ///< .npz; empty: only for models without inputs
  std::string outputs;  ///< .npz; empty: outputs are not kept
  std::string weights;  ///< manifest; empty: weights.json of the stage's folder
  std::string trace;    ///< Chrome JSON
  std::string stats;    ///< one JSON line a rank
  int microbatches = 1; ///< axis 0 of inputs is split in this many
  int repeats =
      1; ///< the same microbatches again, without draining the pipeline between
  bool drain = false;      ///< repeats start together and one after the other
  int threads = 1;         ///< of LibTorch, per rank
  int ahead = 4;           ///< receives posted ahead per channel
  double timeoutS = 300;   ///< longest wait for a message or a rank
  bool positional = false; ///< outputs are called out0, out1, ... instead of by
                           ///< the model's names
  TrainOptions train;      ///< of training programs
};

/// Reads the options above out of `arguments` and leaves the others in place.
/// Throws Error on a bad value.
RunOptions takeRunOptions(std::vector<std::string> &arguments);

/// Their part of --help.
std::string runOptionsHelp();

} // namespace hethub::runtime

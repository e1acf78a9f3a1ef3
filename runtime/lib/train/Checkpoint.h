// Checkpoints of a training run, in a folder that all ranks share:
//
//   CKPT/latest                     name of the newest one
//   CKPT/step-000100/manifest.json  model, plan, step, seed, position in the
//   data, files with their sizes
//                    stage_K.safetensors            parameters by the model's
//                    names stage_K.optimizer.safetensors  what the optimizer
//                    keeps, "exp_avg/NAME"
//
// Each stage's replica 0 writes its two files into a temporary folder; once all
// are on the disk rank 0 adds the manifest, renames the folder and then names
// it in `latest`. So a run that dies at any moment leaves the newest whole
// checkpoint, and a checkpoint, read by parameter name over all its files, fits
// every plan of the model.
#pragma once

#include "hethub/runtime/Executor.h"
#include "hethub/runtime/TrainOptions.h"
#include "hethub/runtime/TrainState.h"

#include <functional>
#include <optional>
#include <string>

namespace hethub::runtime {

/// Sum of one number over all ranks; all of them call it in the same order.
using SumOverRanks = std::function<int64_t(int64_t)>;

class Checkpoints {
public:
  /// Keeps the newest `kept` checkpoints of `folder`, 0: all.
  Checkpoints(std::string folder, int kept, RankStages stages, int rank,
              SumOverRanks sum);

  /// Call before the first step, on all ranks. With `resume` puts the newest
  /// checkpoint into `state`, whose parameters must be there, and returns true;
  /// returns false where the folder has none yet. Without it there must be
  /// none. Nothing is changed unless all ranks can read all that they need.
  /// Throws Error: folder that cannot be written, truncated file, newer format,
  /// other model, missing parameter, other shape, other optimizer.
  bool begin(TrainState &state, bool resume);

  /// Call after the same step on all ranks. Throws Error on the rank that
  /// cannot write its part; the others do not return. Whatever was there before
  /// is still there.
  void save(const TrainState &state);

  /// The same in the middle of a run: a failure is a warning on stderr and
  /// false, since the training itself has lost nothing.
  bool trySave(const TrainState &state);

private:
  /// How work on the disk went that all ranks do at once.
  struct Outcome {
    std::optional<std::string> problem; ///< of this rank
    bool allDid = false;
  };
  Outcome together(const std::function<void()> &work) const;
  void demand(const Outcome &outcome) const;
  [[noreturn]] void waitToBeStopped() const;
  Outcome attempt(const TrainState &state) const;
  void writeStages(const TrainState &state, const std::string &folder) const;
  void publish(const TrainState &state, const std::string &name) const;
  void removeOld(int64_t step) const;

  std::string folder_;
  int kept_;
  RankStages stages_;
  const StageSpec &spec_; ///< the first of them, for what all share
  int rank_;
  SumOverRanks sum_;
};

/// What the training loop calls; empty functions without a folder. `stages`
/// must outlive them.
TrainHooks checkpointHooks(const CheckpointOptions &options,
                           const RankStages &stages, int rank,
                           SumOverRanks sum);

} // namespace hethub::runtime

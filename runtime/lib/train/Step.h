// The rows of one training step on one rank.
#pragma once

#include "Gradients.h"
#include "Updates.h"
#include "schedule/Compute.h"

namespace hethub::runtime {

/// One stage of the rank: what it runs, and what waits for its functions.
struct TrainingStage {
  TrainingStage(const StageSpec &spec, Functions functions, Updates updates,
                at::Device device, Recorder &recorder);

  const StageSpec &spec;
  Functions functions;
  Updates updates;
  Compute compute;
  std::map<int, Action> lastReader; ///< of a slot
  Waiting slots;
};

class TrainingStep {
public:
  /// `stages`, `gradients` and what messages carry are changed by run().
  TrainingStep(std::vector<TrainingStage> &stages,
               const std::vector<Step> &steps, Messages &messages,
               Gradients &gradients, at::Device device, Recorder &recorder)
      : stages_(stages), steps_(steps), messages_(messages),
        gradients_(gradients), device_(device), recorder_(recorder) {}

  /// Losses of this rank's microbatches; empty where its stages have none.
  using Losses = std::map<int, at::Tensor>;

  /// Runs all rows; `optimize` is the optimizer step of the rank. Random
  /// operators draw what follows from `seed`, step, stage and microbatch alone,
  /// so that backward may repeat what forward has drawn. `busyS` grows by the
  /// time in functions.
  void run(int64_t step, uint64_t seed, const Feed &feed,
           const std::function<void()> &optimize, Losses &losses,
           double &busyS);

private:
  void compute(const Step &row, int64_t step, uint64_t seed, const Feed &feed,
               Losses &losses, double &busyS);
  Forward functionOf(size_t place, Action action);
  Tensors inputsOf(const Step &row, const Feed &feed);
  void sumOverRanks();

  std::vector<TrainingStage> &stages_;
  const std::vector<Step> &steps_;
  Messages &messages_;
  Gradients &gradients_;
  at::Device device_;
  Recorder &recorder_;
  Waiting received_, toSend_; ///< by channel
};

} // namespace hethub::runtime

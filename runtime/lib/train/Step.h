// The rows of one training step on one rank.
#pragma once

#include "Gradients.h"
#include "Updates.h"
#include "schedule/Compute.h"

namespace hethub::runtime {

class TrainingStep {
public:
  /// `functions`, `gradients` and `updates` are changed by run().
  TrainingStep(const StageSpec &spec, int rank, const std::vector<Step> &steps,
               Functions functions, Messages &messages, Compute &compute,
               Gradients &gradients, Updates &updates, at::Device device,
               Recorder &recorder);

  /// Losses of this rank's microbatches; empty where the stage has none.
  using Losses = std::map<int, at::Tensor>;

  /// Runs all rows; `optimize` is the optimizer step. Random operators draw
  /// what follows from `seed`, step, stage and microbatch alone, so that
  /// backward may repeat what forward has drawn. `busyS` grows by the time in
  /// functions.
  void run(int64_t step, uint64_t seed, const Feed &feed,
           const std::function<void()> &optimize, Losses &losses,
           double &busyS);

private:
  void compute(const Step &row, int64_t step, uint64_t seed, const Feed &feed,
               Losses &losses, double &busyS);
  Forward functionOf(Action action);
  Tensors inputsOf(const Step &row, const Feed &feed);

  const StageSpec &spec_;
  const std::vector<Step> &steps_;
  Functions functions_;
  Messages &messages_;
  Compute &compute_;
  Gradients &gradients_;
  Updates &updates_;
  at::Device device_;
  Recorder &recorder_;
  std::map<int, Action> lastReader_; ///< of a slot
  Waiting received_, toSend_, slots_;
};

} // namespace hethub::runtime

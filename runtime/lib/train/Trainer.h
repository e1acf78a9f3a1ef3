// The steps of a training run on one rank.
#pragma once

#include "Data.h"
#include "Optimizer.h"
#include "Step.h"
#include "StepTalk.h"
#include "TrainLog.h"

namespace hethub::runtime {

/// Throws Error where options contradict each other or the program.
void checkTrainOptions(const StageSpec &spec, const RunOptions &options);

/// What all ranks must have been told alike.
std::string trainSettings(const RunOptions &options);

/// How a rank reaches the others.
struct TrainerComms {
  CommOf of;                  ///< of a channel
  Gradients::GroupOf groupOf; ///< of some ranks
  Comm *host = nullptr;       ///< between all; null: there is one rank
};

class Trainer {
public:
  /// `functions` are those of each of the rank's stages. All ranks must
  /// construct theirs at the same point. `trace` may be null.
  Trainer(const RankStages &stages, int rank, const RunOptions &options,
          WeightsFile &weights, std::vector<Functions> functions,
          TrainData &data, TrainerComms comms, at::Device device, Trace *trace,
          RunStats &stats);

  /// Runs until all steps are done or one of the ranks was asked to stop.
  void run(const TrainHooks &hooks);

private:
  void oneStep();
  void optimize();
  void checkLosses() const;
  void log(size_t keep);
  void writeGradients(const std::vector<at::Tensor> &gradients) const;
  bool needsNorm() const;

  const StageSpec &spec_; ///< the first of the rank's, for what all share
  int rank_;
  const RunOptions &options_;
  const TrainOptions &train_;
  TrainData &data_;
  TrainerComms comms_;
  Trace *trace_;
  RunStats &stats_;
  Recorder recorder_;
  std::vector<Step> steps_;
  std::vector<TrainedSpec> trained_;   ///< by the rank
  std::vector<at::Tensor> parameters_; ///< of `trained_`
  Optimizer optimizer_;
  Gradients gradients_;
  std::vector<TrainingStage> stages_;
  Messages messages_;
  TrainingStep step_;
  StepTalk talk_;
  std::unique_ptr<TrainLog> log_; ///< of rank 0
  TrainState state_;
  int64_t firstStep_ = 0;              ///< of this run
  int64_t logged_ = 0;                 ///< steps that the log has
  std::deque<Clock::time_point> ends_; ///< rank 0: of steps not logged yet
  bool stopReported_ = false;
  TrainingStep::Losses losses_; ///< of the step that runs
  double squares_ = 0;
};

} // namespace hethub::runtime

// The pipeline of a plan.json, and what its simulation gives as JSON.
#ifndef HETHUB_SIMULATOR_PIPELINEFILE_H
#define HETHUB_SIMULATOR_PIPELINEFILE_H

#include "hethub/Simulator/Simulator.h"

namespace hethub::simulator {

/// What a plan.json says of a step.
struct PlannedStep {
  Pipeline pipeline;
  bool training = false;
  ScheduleKind kind = ScheduleKind::OneForwardOneBackward; ///< Of training.
  int microbatches = 1;
  int64_t microbatchSize = 0;            ///< Samples; 0: not known.
  std::vector<std::string> deviceTypes;  ///< Of each stage.
  std::vector<int64_t> memoryLimitBytes; ///< Of each stage; 0: none.
  std::vector<int64_t> libraryBytes;     ///< Of each stage's process, before
                                         ///< weights and values.
};

/// Reads the predicted figures of a plan's stages and messages (docs/Planner.md
/// has the fields). One error for the first figure that is missing, malformed,
/// negative or contradicts another: "FILE: stage 1: forward_seconds must be a
/// number of at least 0, got: -1".
llvm::Expected<PlannedStep> parsePlannedStep(llvm::StringRef text,
                                             llvm::StringRef fileName);

/// The table of a step of `microbatches`; in training of the plan's kind.
Schedule scheduleOf(const PlannedStep &step, int microbatches);

/// Seconds of one more step when steps follow each other without draining the
/// pipeline (inference), or of a step (training).
double steadyStepSeconds(const PlannedStep &step, int microbatches);

/// step_seconds, throughput and the figures of each stage; fields:
/// docs/Predictor.md.
llvm::json::Value predictionToJSON(const PlannedStep &step, int microbatches,
                                   const Result &result);

} // namespace hethub::simulator

#endif

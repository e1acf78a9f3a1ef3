// What people watch: a line for each step.
#pragma once

#include "hethub/runtime/Trace.h"
#include "hethub/runtime/TrainOptions.h"

#include <cstdio>
#include <memory>
#include <optional>

namespace hethub::runtime {

struct StepLine {
  int64_t step = 0; ///< steps done, this one included
  double loss = 0;  ///< mean over microbatches
  double learningRate = 0;
  std::optional<double> gradientNorm; ///< before clipping
  Clock::time_point end;              ///< of the step on rank 0
};

class TrainLog {
public:
  /// `done` steps were done before, by the run that this one resumes. The file
  /// is begun anew where there were none.
  TrainLog(const TrainOptions &options, int64_t samplesPerStep, int64_t done);

  void add(const StepLine &line);

private:
  const TrainOptions &options_;
  int64_t samplesPerStep_;
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file_{nullptr, std::fclose};
  Clock::time_point start_, last_;
};

} // namespace hethub::runtime

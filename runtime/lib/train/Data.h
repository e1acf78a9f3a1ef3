// The samples of a training run: of each input of the model, as many as a
// microbatch has.
#pragma once

#include "SampleOrder.h"
#include "hethub/runtime/Executor.h"
#include "hethub/runtime/TrainOptions.h"

#include <functional>
#include <map>

namespace hethub::runtime {

/// Samples of one step: those of all its microbatches.
int64_t samplesPerStep(const StageSpec &spec);

class TrainData {
public:
  /// Opens what the stages of a rank read. Throws Error: no such file, an input
  /// that is missing or of another type, fewer samples than one step needs.
  TrainData(const RankStages &stages, const DataOptions &options, uint64_t seed,
            at::Device device);

  /// Samples of the file; 0: this rank reads none.
  int64_t samples() const { return samples_; }
  /// After a resume.
  void setSeed(uint64_t seed);

  /// The input `port` of the microbatch whose first sample stands at
  /// `position`.
  at::Tensor get(const PortSpec &port, int64_t position);

private:
  /// Copies one sample of an input to where it lies in the microbatch.
  using CopySample = std::function<void(int64_t sample, char *target)>;
  struct Input {
    int64_t samplesPerMicrobatch = 0; ///< 0: the same for all microbatches
    int64_t bytesPerSample = 0;
    CopySample copy;
  };
  void openArrays(const std::vector<const PortSpec *> &ports);
  void openTokens(const std::vector<const PortSpec *> &ports);

  const StageSpec &spec_;
  const DataOptions &options_;
  at::Device device_;
  int64_t samples_ = 0;
  std::map<int, Input> inputs_; ///< by position among the model's inputs
  SampleOrder order_{1, 0, true};
};

} // namespace hethub::runtime

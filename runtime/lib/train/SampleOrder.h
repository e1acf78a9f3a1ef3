// Which sample stands at each position of a run: epoch after epoch, each
// shuffled anew. Depends on the seed alone, not on plan, ranks or microbatches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>

namespace hethub::runtime {

class SampleOrder {
public:
  SampleOrder(int64_t samples, uint64_t seed, bool inOrder)
      : samples_(samples), seed_(seed), inOrder_(inOrder) {}

  /// The sample at `position`, which counts from the start of the run.
  int64_t at(int64_t position);

private:
  int64_t samples_;
  uint64_t seed_;
  bool inOrder_;
  std::map<int64_t, at::Tensor> epochs_; ///< the two newest
};

/// One seed out of several numbers, all of which change it wholly.
uint64_t mixSeed(std::initializer_list<uint64_t> parts);

} // namespace hethub::runtime

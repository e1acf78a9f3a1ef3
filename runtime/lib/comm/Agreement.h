// The check before the first microbatch: all ranks run the same plan, and both
// ends of each channel mean the same.
#pragma once

#include "Store.h"
#include "hethub/runtime/Executor.h"
#include "hethub/runtime/Stage.h"

#include <string>
#include <vector>

namespace hethub::runtime {

/// What all ranks of a training run must have alike.
struct TrainingTerms {
  std::string settings; ///< options; empty: inference
  int64_t samples = 0;  ///< of the data; 0: the rank reads none
};

/// What one rank says of itself, as JSON text.
std::string describeRank(const RankStages &stages, int rank, int microbatches,
                         int repeats, const std::vector<Step> &steps,
                         const TrainingTerms &training = {});

/// Compares two descriptions; returns what they disagree on, naming both sides,
/// or an empty string.
std::string disagreement(const std::string &mine, const std::string &other);

/// Exchanges descriptions through the store; throws Error that names both
/// sides.
void agree(c10d::Store &store, const RankStages &stages, int rank,
           int microbatches, int repeats, const std::vector<Step> &steps,
           const TrainingTerms &training = {});

} // namespace hethub::runtime

// Ranks count through stages and replicas: all replicas of stage 0, then those
// of stage 1, ... unless stages are interleaved.
#ifndef HETHUB_LIB_SIMULATOR_RANKS_H
#define HETHUB_LIB_SIMULATOR_RANKS_H

#include "hethub/Simulator/Schedule.h"

#include <algorithm>

namespace hethub::simulator {

struct Ranks {
  explicit Ranks(const Pipeline &pipeline) : first(firstRanks(pipeline)) {
    for (size_t stage = 0; stage < first.size(); ++stage)
      count = std::max(count, first[stage] + pipeline.stages[stage].replicas);
  }
  int of(int stage, int replica) const { return first[stage] + replica; }

  std::vector<int> first;
  int count = 0;
};

/// Places count through stages and replicas whatever ranks they are on.
struct Places {
  explicit Places(const Pipeline &pipeline) {
    for (const PipelineStage &stage : pipeline.stages) {
      first.push_back(count);
      count += stage.replicas;
    }
  }
  int of(int stage, int replica) const { return first[stage] + replica; }

  std::vector<int> first;
  int count = 0;
};

} // namespace hethub::simulator

#endif

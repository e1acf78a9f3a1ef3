// Ranks count through stages and replicas: all replicas of stage 0, then those
// of stage 1, ...
#ifndef HETHUB_LIB_SIMULATOR_RANKS_H
#define HETHUB_LIB_SIMULATOR_RANKS_H

#include "hethub/Simulator/Schedule.h"

namespace hethub::simulator {

struct Ranks {
  explicit Ranks(const Pipeline &pipeline) {
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

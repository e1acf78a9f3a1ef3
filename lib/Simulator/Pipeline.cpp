// Figures that follow from a pipeline alone.
#include "hethub/Simulator/Pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hethub::simulator {

std::vector<int> firstRanks(const Pipeline &pipeline) {
  std::vector<int> first;
  int count = 0;
  for (const PipelineStage &stage : pipeline.stages) {
    first.push_back(stage.firstRank >= 0 ? stage.firstRank : count);
    count = std::max(count, first.back() + stage.replicas);
  }
  return first;
}

bool isInterleaved(const Pipeline &pipeline) {
  std::vector<int> first = firstRanks(pipeline);
  int count = 0, places = 0;
  for (size_t stage = 0; stage < first.size(); ++stage) {
    count = std::max(count, first[stage] + pipeline.stages[stage].replicas);
    places += pipeline.stages[stage].replicas;
  }
  return places > count;
}

void addGradientChannels(Pipeline &pipeline) {
  int links = 0;
  for (const Channel &channel : pipeline.channels)
    links = std::max(links, channel.link + 1);
  size_t count = pipeline.channels.size();
  for (size_t index = 0; index < count; ++index) {
    Channel back = pipeline.channels[index];
    if (!pipeline.stages[back.fromStage].hasBackward ||
        !pipeline.stages[back.toStage].hasBackward)
      continue;
    std::swap(back.fromStage, back.toStage);
    back.name = "gradient of " + back.name;
    if (back.link >= 0)
      back.link += links;
    pipeline.channels.push_back(std::move(back));
  }
}

static double secondsOf(const PipelineStage &stage) {
  double seconds = stage.forwardSeconds + stage.overheadSeconds;
  if (stage.backwardSeconds > 0)
    seconds += stage.backwardSeconds + stage.overheadSeconds;
  return seconds;
}

double bottleneckSeconds(const Pipeline &pipeline) {
  std::vector<int> first = firstRanks(pipeline);
  std::vector<double> loads;
  for (size_t index = 0; index < first.size(); ++index) {
    const PipelineStage &stage = pipeline.stages[index];
    size_t end = size_t(first[index] + stage.replicas);
    loads.resize(std::max(loads.size(), end), 0);
    for (size_t rank = size_t(first[index]); rank < end; ++rank)
      loads[rank] += secondsOf(stage) / stage.replicas;
  }
  double most = 0;
  for (double load : loads)
    most = std::max(most, load);
  return most;
}

int inFlightLimitOf(const PipelineStage &stage, int64_t memoryLimitBytes) {
  if (memoryLimitBytes <= 0 || stage.activationBytes <= 0)
    return 0;
  const int64_t fits =
      (memoryLimitBytes - stage.residentBytes - stage.workspaceBytes) /
      stage.activationBytes * stage.replicas;
  constexpr int64_t most = std::numeric_limits<int>::max();
  return std::max(stage.inFlight, int(std::min(fits, most)));
}

std::vector<int> microbatchesInFlight(const Pipeline &pipeline,
                                      int microbatches) {
  std::vector<double> hops(pipeline.stages.size(), 0);
  for (const Channel &channel : pipeline.channels)
    if (!channel.isGradient())
      hops[channel.toStage] += channel.latencySeconds +
                               channel.transferSeconds +
                               channel.copyOutSeconds + channel.copyInSeconds;
  double bottleneck = bottleneckSeconds(pipeline);
  auto rounds = [&](double seconds) {
    // Sums in another order must not cost a whole round.
    return bottleneck > 0 ? std::ceil(seconds / bottleneck * (1 - 1e-12)) : 0;
  };
  std::vector<int> inFlight(pipeline.stages.size(), 1);
  double sum = 0;
  for (size_t stage = pipeline.stages.size(); stage-- > 0;) {
    sum += std::max(1.0, rounds(secondsOf(pipeline.stages[stage])));
    inFlight[stage] = int(std::min<double>(sum, microbatches));
    sum += rounds(2 * hops[stage]);
  }
  return inFlight;
}

double allReduceSeconds(int64_t participants, double bytes,
                        double latencySeconds, double bandwidth) {
  if (participants < 2)
    return 0;
  double n = double(participants);
  double ring =
      2 * (n - 1) * latencySeconds + 2 * (n - 1) / n * bytes / bandwidth;
  double tree =
      2 * std::ceil(std::log2(n)) * latencySeconds + 2 * bytes / bandwidth;
  return std::min(ring, tree);
}

} // namespace hethub::simulator

// Figures of a plan whose devices have several stages.
#include "Interleave.h"

#include "Bounds.h"
#include "StageCosts.h"
#include "hethub/Planner/SimulatePlan.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

std::vector<std::vector<unsigned>> stagesOfRanks(const Plan &plan) {
  std::vector<std::vector<unsigned>> ranks;
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    const size_t rank = plan.isInterleaved()
                            ? size_t(plan.stages[index].firstRank)
                            : ranks.size();
    ranks.resize(std::max(ranks.size(), rank + 1));
    ranks[rank].push_back(index);
  }
  return ranks;
}

int64_t memoryOfRank(const Plan &plan, const std::vector<unsigned> &stages) {
  int64_t bytes = 0, workspace = 0;
  for (unsigned index : stages) {
    const Stage &stage = plan.stages[index];
    bytes += stage.memoryBytes - stage.workspaceBytes;
    workspace = std::max(workspace, stage.workspaceBytes);
  }
  return bytes + workspace;
}

InterleavedStep interleavedStep(const Plan &plan) {
  const std::vector<std::vector<unsigned>> ranks = stagesOfRanks(plan);
  // A microbatch alone waits for nothing but its way forth and back.
  InterleavedStep longest;
  for (const Stage &stage : plan.stages) {
    longest.fillSeconds += stage.fillSeconds();
    longest.messageSeconds += 2 * stage.receiveSeconds;
  }
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    InterleavedStep step;
    step.rank = rank;
    for (unsigned index = 0; index <= ranks[rank].front(); ++index) {
      const Stage &stage = plan.stages[index];
      if (index < ranks[rank].front())
        step.fillSeconds += stage.fillSeconds();
      step.messageSeconds += 2 * stage.receiveSeconds;
    }
    for (unsigned index : ranks[rank]) {
      const Stage &stage = plan.stages[index];
      step.steadySeconds += plan.microbatches * stage.load();
      step.onceSeconds += stage.allReduceSeconds + stage.optimizerSeconds;
    }
    if (step.seconds() > longest.seconds())
      longest = step;
  }
  return longest;
}

/// Microbatches x stages of tables that are run for their memory.
static constexpr uint64_t longestTable = 300'000;

/// As many microbatches in flight as the table has which nothing limits.
static std::vector<int> unlimitedInFlight(const Graph &graph,
                                          const cluster::Cluster &cluster,
                                          const Plan &plan) {
  simulator::Pipeline pipeline =
      pipelineOf(graph, cluster, plan, /*mergeMessages=*/true);
  for (simulator::PipelineStage &stage : pipeline.stages)
    stage.inFlight = 0;
  const int microbatches = int(plan.microbatches);
  if (uint64_t(microbatches) * plan.stages.size() > longestTable)
    return simulator::microbatchesInFlight(pipeline, microbatches);
  simulator::Result result =
      simulateGenerated(scheduleOf(plan, pipeline), pipeline);
  std::vector<int> inFlight;
  for (const simulator::StageTimes &stage : result.stages)
    inFlight.push_back(std::max(1, stage.mostInFlight));
  return inFlight;
}

void costInterleaved(const Graph &graph, const cluster::Cluster &cluster,
                     const Options &options, Plan &plan) {
  const std::vector<std::vector<unsigned>> ranks = stagesOfRanks(plan);
  plan.stepSeconds = interleavedStep(plan).seconds();
  plan.bottleneckSeconds = 0;
  for (const std::vector<unsigned> &stages : ranks) {
    double load = 0;
    for (unsigned stage : stages)
      load += plan.stages[stage].load();
    plan.bottleneckSeconds = std::max(plan.bottleneckSeconds, load);
  }

  std::vector<int> inFlight = unlimitedInFlight(graph, cluster, plan);
  auto fits = [&](int most) {
    for (unsigned index = 0; index < plan.stages.size(); ++index) {
      Stage &stage = plan.stages[index];
      stage.inFlight = unsigned(std::min(inFlight[index], most));
      stage.memoryBytes = parameterMemory(options, double(stage.parameterBytes),
                                          double(stage.trainedBytes)) +
                          int64_t(stage.inFlight) * stage.activationBytes +
                          stage.workspaceBytes;
    }
    return llvm::all_of(ranks, [&](const std::vector<unsigned> &stages) {
      const int64_t limit = plan.stages[stages.front()].memoryLimit;
      return limit == 0 || memoryOfRank(plan, stages) <= limit;
    });
  };
  // Fewer of them wait longer, and need less.
  int most = *std::max_element(inFlight.begin(), inFlight.end());
  while (!fits(most) && most > 1 &&
         options.schedule != simulator::ScheduleKind::GPipe)
    --most;
}

double interleavedBound(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options) {
  Options each = options;
  each.replicas = false;
  // Theorem 1 leaves out one microbatch, which is a part of the sum there; here
  // a device is busy with all of them.
  const double fill = SliceCosts(graph, cluster, each).leastWork();
  ++each.microbatches;
  return std::max(fill, steadyBound(SliceCosts(graph, cluster, each)));
}

} // namespace hethub::planner

// What holds the bottleneck of a plan where it is.
#include "hethub/Planner/Explain.h"

#include "Alternatives.h"
#include "Interleave.h"
#include "StageCosts.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace llvm;

namespace hethub::planner {

StringRef toString(Hold hold) {
  switch (hold) {
  case Hold::NoCut:
    return "no_cut";
  case Hold::CannotRun:
    return "cannot_run";
  case Hold::Memory:
    return "memory";
  case Hold::Load:
    return "load";
  case Hold::Tied:
    return "tied";
  case Hold::Sum:
    return "sum";
  case Hold::Nothing:
    return "nothing";
  }
  llvm_unreachable("all cases return");
}

/// Which prefixes of a stage's nodes may be split from the rest.
static std::vector<char> splitsAllowed(const Graph &graph,
                                       ArrayRef<unsigned> nodes) {
  std::vector<int> covered(nodes.size() + 1, 0);
  DenseMap<unsigned, unsigned> position;
  DenseMap<int, std::pair<unsigned, unsigned>> groups;
  for (unsigned index = 0; index < nodes.size(); ++index) {
    position[nodes[index]] = index;
    if (int group = graph.nodes[nodes[index]].group; group >= 0)
      groups.try_emplace(group, index, index).first->second.second = index;
  }
  auto forbid = [&](unsigned first,
                    unsigned last) { // no split in (first, last]
    ++covered[first + 1];
    if (last + 1 < covered.size())
      --covered[last + 1];
  };
  for (const auto &[group, range] : groups)
    if (range.first < range.second)
      forbid(range.first, range.second);
  for (const Tensor &tensor : graph.tensors) {
    auto producer = position.find(tensor.producer);
    if (tensor.cuttable || producer == position.end())
      continue;
    for (unsigned consumer : tensor.consumers)
      if (auto use = position.find(consumer); use != position.end())
        forbid(producer->second, use->second);
  }
  std::vector<char> allowed(nodes.size() + 1);
  int depth = 0;
  for (unsigned split = 0; split <= nodes.size(); ++split) {
    depth += covered[split];
    allowed[split] = depth == 0;
  }
  return allowed;
}

/// What a stage adds to the step after the first microbatch; its work where
/// there is only one and nothing follows.
static double pressure(const Plan &plan, unsigned stage) {
  const Stage &at = plan.stages[stage];
  return plan.microbatches > 1 || plan.training
             ? at.steadySeconds(plan.microbatches)
             : at.forwardSeconds + at.backwardSeconds;
}

static double largestPressure(const Plan &plan) {
  double largest = 0;
  for (unsigned stage = 0; stage < plan.stages.size(); ++stage)
    largest = std::max(largest, pressure(plan, stage));
  return largest;
}

namespace {

/// Moves nodes over one border of the bottleneck stage.
class BorderSearch {
public:
  BorderSearch(const Graph &graph, const cluster::Cluster &cluster,
               const Options &options, const Plan &plan, unsigned stage)
      : graph(graph), cluster(cluster), options(options), plan(plan),
        stage(stage), allowed(splitsAllowed(graph, plan.stages[stage].nodes)) {}

  Border run(unsigned neighbour);

private:
  Plan move(unsigned neighbour, ArrayRef<unsigned> moved) const;
  void note(Border &border, const Plan &changed,
            ArrayRef<unsigned> moved) const;

  const Graph &graph;
  const cluster::Cluster &cluster;
  const Options &options;
  const Plan &plan;
  unsigned stage;
  std::vector<char> allowed;
};

} // namespace

Plan BorderSearch::move(unsigned neighbour, ArrayRef<unsigned> moved) const {
  Plan changed = plan;
  std::vector<unsigned> &from = changed.stages[stage].nodes,
                        &to = changed.stages[neighbour].nodes;
  if (neighbour < stage)
    from.erase(from.begin(), from.begin() + moved.size());
  else
    from.resize(from.size() - moved.size());
  to.insert(to.end(), moved.begin(), moved.end());
  costPlan(graph, cluster, options, changed);
  return changed;
}

void BorderSearch::note(Border &border, const Plan &changed,
                        ArrayRef<unsigned> moved) const {
  const Stage &neighbour = changed.stages[border.neighbour];
  border.moved = moved;
  border.stepSeconds = changed.stepSeconds;
  border.neighbourLoadSeconds = neighbour.load();
  border.neighbourMemoryBytes = neighbour.memoryBytes;
  border.neighbourMemoryLimit = neighbour.memoryLimit;
}

static bool fits(const Plan &plan) {
  return llvm::all_of(plan.stages, [](const Stage &stage) {
    return stage.memoryLimit == 0 || stage.memoryBytes <= stage.memoryLimit;
  });
}

Border BorderSearch::run(unsigned neighbour) {
  // Costing a plan of n nodes and values takes some 20 n ns.
  constexpr uint64_t workLimit = 50'000'000;
  const uint64_t workOfOne = graph.nodes.size() + graph.tensors.size();
  uint64_t work = 0;
  ArrayRef<unsigned> nodes = plan.stages[stage].nodes;
  const double now = pressure(plan, stage);
  const bool pressed = plan.microbatches > 1 || plan.training;
  Border best, tooLarge, cannotRun;
  best.neighbour = tooLarge.neighbour = cannotRun.neighbour = neighbour;
  best.stepSeconds = tooLarge.stepSeconds = std::numeric_limits<double>::max();
  for (unsigned count = 1; count < nodes.size() && work < workLimit; ++count) {
    const bool front = neighbour < stage;
    if (!allowed[front ? count : nodes.size() - count])
      continue;
    ArrayRef<unsigned> moved =
        front ? nodes.take_front(count) : nodes.take_back(count);
    Plan changed = move(neighbour, moved);
    work += workOfOne;
    if (!(pressure(changed, stage) < now * (1 - 1e-12)))
      continue; // views and the like: no help
    const double neighbours = pressure(changed, neighbour);
    if (!std::isfinite(changed.stages[neighbour].load())) {
      note(cannotRun, changed, moved);
      cannotRun.stepSeconds = 0;
      break;
    }
    Border &kind = fits(changed) ? best : tooLarge;
    if (changed.stepSeconds < kind.stepSeconds) {
      note(kind, changed, moved);
      kind.hold = !pressed                                       ? Hold::Sum
                  : neighbours >= now * (1 - 1e-9)               ? Hold::Load
                  : largestPressure(changed) >= now * (1 - 1e-9) ? Hold::Tied
                                                                 : Hold::Sum;
    }
    if (pressed && neighbours >= now)
      break; // more of them only makes it slower
  }
  const double goal = plan.stepSeconds * (1 - 1e-9);
  if (!best.moved.empty() && best.stepSeconds < goal)
    best.hold = Hold::Nothing;
  else if (!tooLarge.moved.empty() &&
           (best.moved.empty() || tooLarge.stepSeconds < goal)) {
    best = tooLarge;
    best.hold = Hold::Memory;
  } else if (best.moved.empty() && !cannotRun.moved.empty()) {
    best = cannotRun;
    best.hold = Hold::CannotRun;
  }
  if (best.moved.empty())
    best.stepSeconds = 0;
  return best;
}

static double secondsOf(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options, const Stage &stage,
                        unsigned node) {
  NodeCosts costs = costNode(graph.nodes[node], cluster, options,
                             stage.deviceType, stage.tensorParallel);
  return (stage.recompute ? 2 : 1) * costs.forwardSeconds +
         costs.backwardSeconds;
}

/// The parts of the step where ranks have several stages; the bottleneck is the
/// busiest stage of the rank.
static void explainRanks(const Plan &plan, Explanation &result) {
  const InterleavedStep step = interleavedStep(plan);
  const std::vector<std::vector<unsigned>> ranks = stagesOfRanks(plan);
  result.bottleneckStages = ranks[step.rank];
  result.bottleneck = *std::max_element(
      result.bottleneckStages.begin(), result.bottleneckStages.end(),
      [&](unsigned a, unsigned b) {
        return plan.stages[a].load() < plan.stages[b].load();
      });
  result.fillSeconds = step.fillSeconds;
  result.messageSeconds = step.messageSeconds;
  result.steadySeconds = step.steadySeconds;
  result.onceSeconds = step.onceSeconds;
}

Explanation explainPlan(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options, const Plan &plan,
                        const ExplainOptions &explain) {
  Explanation result;
  if (plan.stages.empty() || graph.nodes.empty())
    return result;
  double loads = 0, devices = 0;
  std::vector<unsigned> used(cluster.types.size(), 0);
  std::set<int> ranks;
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    const Stage &stage = plan.stages[index];
    result.fillSeconds += stage.fillSeconds();
    result.messageSeconds += (plan.training ? 2 : 1) * stage.receiveSeconds;
    loads += stage.devices() * stage.load();
    if (!plan.isInterleaved() || ranks.insert(stage.firstRank).second) {
      devices += stage.devices();
      used[stage.deviceType] += stage.devices();
    }
    if (pressure(plan, index) > pressure(plan, result.bottleneck))
      result.bottleneck = index;
  }
  if (plan.bottleneckSeconds > 0)
    result.imbalance =
        std::max(0.0, 1 - loads / (devices * plan.bottleneckSeconds));
  for (unsigned type = 0; type < used.size(); ++type)
    result.unusedDevices.push_back(
        cluster.types[type].count -
        std::min(used[type], cluster.types[type].count));

  if (plan.isInterleaved())
    explainRanks(plan, result);
  const Stage &slowest = plan.stages[result.bottleneck];
  if (!plan.isInterleaved()) {
    result.onceSeconds = slowest.allReduceSeconds + slowest.optimizerSeconds;
    result.steadySeconds =
        slowest.steadySeconds(plan.microbatches) - result.onceSeconds;
  }
  result.heaviest = slowest.nodes.front();
  for (unsigned node : slowest.nodes)
    if (double seconds = secondsOf(graph, cluster, options, slowest, node);
        seconds > result.heaviestSeconds) {
      result.heaviest = node;
      result.heaviestSeconds = seconds;
    }
  // A rank with several stages has more borders than say something.
  BorderSearch search(graph, cluster, options, plan, result.bottleneck);
  if (result.bottleneck > 0 && !plan.isInterleaved())
    result.borders.push_back(search.run(result.bottleneck - 1));
  if (result.bottleneck + 1 < plan.stages.size() && !plan.isInterleaved())
    result.borders.push_back(search.run(result.bottleneck + 1));

  if (explain.alternatives)
    result.alternatives = alternativesTo(graph, cluster, options, plan);
  if (explain.whatIf)
    result.whatIf = oneMoreOfEach(graph, cluster, options, plan);
  return result;
}

} // namespace hethub::planner

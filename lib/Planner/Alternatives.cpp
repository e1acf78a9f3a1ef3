// Plans of changed problems. A plan with another number of stages, without a
// device type, or with another type at an end of the pipeline is the best plan
// of a problem in which just that is asked for.
#include "Alternatives.h"
#include "FindPlan.h"

#include <algorithm>
#include <limits>

using namespace llvm;

namespace hethub::planner {

/// So many searches together may take as long as the plan itself.
static Options shareOf(Options options, unsigned searches) {
  options.workLimit = std::max<uint64_t>(1, options.workLimit / searches);
  return options;
}

/// What is missing where no plan exists is no part of an explanation.
static Expected<Plan> planAgain(const Graph &graph,
                                const cluster::Cluster &cluster,
                                const Options &options) {
  return findPlan(graph, cluster, options, /*thorough=*/false);
}

static bool samePlan(const Plan &a, const Plan &b) {
  return llvm::equal(a.stages, b.stages, [](const Stage &a, const Stage &b) {
    return a.deviceType == b.deviceType && a.replicas == b.replicas &&
           a.tensorParallel == b.tensorParallel && a.recompute == b.recompute &&
           a.nodes == b.nodes;
  });
}

namespace {

class Collector {
public:
  explicit Collector(double stepSeconds) : stepSeconds(stepSeconds) {}

  std::vector<Alternative> found;

  void add(std::string change, Expected<Plan> plan) {
    if (!plan) {
      found.push_back(
          {{std::move(change)}, std::nullopt, toString(plan.takeError())});
      return;
    }
    // Far from the plan, a search that was cut short says nothing of its kind.
    if (!plan->optimalForOrder() && plan->stepSeconds > 2 * stepSeconds) {
      found.push_back(
          {{std::move(change)},
           std::nullopt,
           "no good plan was found within the limit of the search"});
      return;
    }
    for (Alternative &alternative : found)
      if (alternative.plan && samePlan(*alternative.plan, *plan)) {
        alternative.changes.push_back(std::move(change));
        return;
      }
    found.push_back({{std::move(change)}, std::move(*plan), ""});
  }

private:
  double stepSeconds; // of the plan that is explained
};

} // namespace

/// The graph with one node that a device type cannot run: no plan has the type
/// at that end of the pipeline.
static Graph without(Graph graph, unsigned node, unsigned type) {
  graph.nodes[node].forwardSeconds[type] =
      std::numeric_limits<double>::infinity();
  return graph;
}

std::vector<Alternative> alternativesTo(const Graph &graph,
                                        const cluster::Cluster &cluster,
                                        const Options &wanted,
                                        const Plan &plan) {
  Collector alternatives(plan.stepSeconds);
  if (plan.isInterleaved()) {
    Options changed = wanted;
    changed.stagesPerDevice = 1;
    changed.exactStages = 0;
    alternatives.add("one stage a device", planAgain(graph, cluster, changed));
    return alternatives.found;
  }
  const unsigned stages = plan.stages.size();
  std::vector<unsigned> used(cluster.types.size(), 0);
  for (const Stage &stage : plan.stages)
    used[stage.deviceType] += stage.devices();
  const unsigned typesUsed =
      llvm::count_if(used, [](unsigned devices) { return devices > 0; });
  // Numbers of stages, ends of the pipeline, features; two for each type.
  const Options options = shareOf(wanted, 2 + 2 + 3 + 2 * typesUsed);

  Options counted = options;
  counted.maxStages = 0;
  if (stages > 1) {
    counted.exactStages = stages - 1;
    alternatives.add("one stage fewer", planAgain(graph, cluster, counted));
  }
  if (stages < cluster.deviceCount() && stages < graph.nodes.size()) {
    counted.exactStages = stages + 1;
    alternatives.add("one stage more", planAgain(graph, cluster, counted));
  }
  for (unsigned type = 0; type < used.size(); ++type) {
    cluster::Cluster smaller = cluster;
    smaller.types[type].count = 0;
    if (used[type] > 0 && smaller.deviceCount() >= options.exactStages &&
        smaller.deviceCount() > 0)
      alternatives.add("without device type '" + cluster.types[type].name + "'",
                       planAgain(graph, smaller, options));
    smaller.types[type].count = used[type] - 1;
    if (used[type] > 1 && smaller.deviceCount() >= options.exactStages)
      alternatives.add("one device of type '" + cluster.types[type].name +
                           "' fewer",
                       planAgain(graph, smaller, options));
  }
  auto any = [&](auto property) { return llvm::any_of(plan.stages, property); };
  if (any([](const Stage &stage) { return stage.replicas > 1; })) {
    Options changed = options;
    changed.replicas = false;
    alternatives.add("no replicas", planAgain(graph, cluster, changed));
  }
  if (any([](const Stage &stage) { return stage.recompute; })) {
    Options changed = options;
    changed.recompute = false;
    alternatives.add("no recomputation", planAgain(graph, cluster, changed));
  }
  if (any([](const Stage &stage) { return stage.tensorParallel > 1; })) {
    Options changed = options;
    changed.tensorParallel = false;
    alternatives.add("no tensor parallelism",
                     planAgain(graph, cluster, changed));
  }
  if (stages > 1 && cluster.types.size() > 1) {
    const unsigned first = plan.stages.front().deviceType,
                   last = plan.stages.back().deviceType;
    // Other orders may begin and end with other nodes.
    Options given = options;
    given.anyOrder = false;
    alternatives.add("a first stage that is not on '" +
                         cluster.types[first].name + "'",
                     planAgain(without(graph, 0, first), cluster, given));
    alternatives.add("a last stage that is not on '" +
                         cluster.types[last].name + "'",
                     planAgain(without(graph, graph.nodes.size() - 1, last),
                               cluster, given));
  }
  std::stable_sort(alternatives.found.begin(), alternatives.found.end(),
                   [](const Alternative &a, const Alternative &b) {
                     if (!a.plan || !b.plan)
                       return bool(a.plan) && !b.plan;
                     return a.plan->stepSeconds < b.plan->stepSeconds;
                   });
  return alternatives.found;
}

std::vector<OneMore> oneMoreOfEach(const Graph &graph,
                                   const cluster::Cluster &cluster,
                                   const Options &options, const Plan &plan) {
  std::vector<OneMore> found;
  for (unsigned type = 0; type < cluster.types.size(); ++type) {
    cluster::Cluster larger = cluster;
    ++larger.types[type].count;
    Expected<Plan> better =
        planAgain(graph, larger, shareOf(options, cluster.types.size()));
    // A search that was cut short may miss the plan that needs no new device.
    if (better && better->stepSeconds < plan.stepSeconds)
      found.push_back({type, std::move(*better)});
    else
      found.push_back({type, plan});
    if (!better)
      consumeError(better.takeError());
  }
  return found;
}

void compareWithAutomatic(const Graph &graph, const cluster::Cluster &cluster,
                          const Options &options, bool whatIf,
                          Explanation &explanation) {
  Expected<Plan> automatic = findPlan(graph, cluster, options);
  if (!automatic) {
    explanation.automaticError = toString(automatic.takeError());
    return;
  }
  if (whatIf)
    explanation.whatIf = oneMoreOfEach(graph, cluster, options, *automatic);
  explanation.automatic = std::move(*automatic);
}

} // namespace hethub::planner

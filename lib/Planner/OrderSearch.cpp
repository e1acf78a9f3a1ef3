// A local search over topological orders.
//
// Every order in which the stages of the best plan stand one behind the other
// has that plan among its cuts, so that planning such an order never loses it.
// What changes is the order within the stages: operations that come last in
// their stage (or first in it) can move over its border. Other orders run ahead
// of the stages, and may lead to a plan of another shape.
#include "OrderSearch.h"

#include "ExactSearch.h"
#include "TopologicalOrders.h"

#include "llvm/ADT/EquivalenceClasses.h"

#include <algorithm>
#include <random>

using namespace llvm;

namespace hethub::planner {

namespace {

class OrderSearch {
public:
  OrderSearch(const Graph &graph, const cluster::Cluster &cluster,
              const Options &options, const Plan &given, uint64_t workLimit,
              PlanOrder planOrder);

  std::optional<Plan> run();

private:
  /// Whether some two units may change places.
  bool isFree() const;
  std::vector<unsigned> draw(unsigned round);
  std::vector<unsigned> nearBorders();
  bool tryOrder(ArrayRef<unsigned> order);
  Slices knownIn(const SliceCosts &costs, ArrayRef<unsigned> order) const;

  const Graph &graph;
  const cluster::Cluster &cluster;
  const Options &options;
  const double givenSeconds;
  const uint64_t workLimit;
  PlanOrder planOrder;
  Units units;
  std::vector<std::vector<unsigned>> nodesOf; ///< of a unit, ascending
  std::vector<double> stageOf;                ///< of a unit, in `best`
  Plan best;
  bool left = false; ///< `best` is no cut of the given order
  uint64_t steps = 0;
  std::mt19937 random;
};

} // namespace

/// Nodes that must share a stage, and those between them, are one unit.
static Units unitsOf(const Graph &graph) {
  EquivalenceClasses<unsigned> together;
  std::vector<int> firstOfGroup;
  for (unsigned node = 0; node < graph.nodes.size(); ++node) {
    const int group = graph.nodes[node].group;
    if (group < 0)
      continue;
    if (size_t(group) >= firstOfGroup.size())
      firstOfGroup.resize(group + 1, -1);
    if (firstOfGroup[group] < 0)
      firstOfGroup[group] = int(node);
    together.unionSets(unsigned(firstOfGroup[group]), node);
  }
  for (const Tensor &tensor : graph.tensors)
    if (!tensor.cuttable)
      for (unsigned consumer : tensor.consumers)
        together.unionSets(tensor.producer, consumer);

  PlacementProblem problem;
  DeviceClass any;
  any.count = 1;
  problem.classes.push_back(any);
  problem.nodes.resize(graph.nodes.size());
  for (unsigned node = 0; node < graph.nodes.size(); ++node) {
    problem.nodes[node].seconds = {0};
    if (together.contains(node))
      problem.nodes[node].color = int(together.getLeaderValue(node));
  }
  for (const Tensor &tensor : graph.tensors) {
    PlacementNode &producer = problem.nodes[tensor.producer];
    producer.transferSeconds += double(tensor.bytes);
    producer.consumers.insert(producer.consumers.end(),
                              tensor.consumers.begin(), tensor.consumers.end());
  }
  return contract(problem, PlacementMode::Contiguous, /*mergeMemory=*/false,
                  /*mergeCostless=*/false);
}

OrderSearch::OrderSearch(const Graph &graph, const cluster::Cluster &cluster,
                         const Options &options, const Plan &given,
                         uint64_t workLimit, PlanOrder planOrder)
    : graph(graph), cluster(cluster), options(options),
      givenSeconds(given.stepSeconds), workLimit(workLimit),
      planOrder(planOrder), units(unitsOf(graph)), nodesOf(units.size()),
      stageOf(units.size(), 0), best(given) {
  for (unsigned node = 0; node < graph.nodes.size(); ++node)
    nodesOf[units.unitOfNode[node]].push_back(node);
}

bool OrderSearch::isFree() const {
  // Units are numbered in a topological order. It is the only one where each
  // has an arc to the next.
  for (unsigned unit = 0; unit + 1 < units.size(); ++unit)
    if (!llvm::is_contained(units.successors[unit], unit + 1))
      return true;
  return false;
}

/// Stage by stage as in the best plan. A few units come as late or as early in
/// their stage as they can, with all that depends on them there or that they
/// depend on; all others keep their places.
std::vector<unsigned> OrderSearch::nearBorders() {
  std::vector<double> rank(units.size());
  std::vector<unsigned> inStage(best.stages.size(), 0);
  for (double stage : stageOf)
    ++inStage[size_t(stage)];
  for (unsigned unit = 0; unit < units.size(); ++unit)
    rank[unit] = stageOf[unit] + 0.3 + 0.3 * unit / units.size();
  auto chosen = [&](unsigned unit) {
    return random() % inStage[size_t(stageOf[unit])] == 0;
  };
  // What depends on a late unit waits for it in any case.
  for (unsigned unit = 0; unit < units.size(); ++unit)
    if (chosen(unit))
      rank[unit] += 0.35;
  std::vector<bool> early(units.size(), false);
  for (unsigned unit = units.size(); unit-- > 0;) {
    if (!early[unit] && !chosen(unit))
      continue;
    rank[unit] = stageOf[unit] + 0.3 * unit / units.size();
    for (unsigned predecessor : units.predecessors[unit])
      if (stageOf[predecessor] == stageOf[unit])
        early[predecessor] = true;
  }
  return rankedOrder(units, rank, 0, 0);
}

std::vector<unsigned> OrderSearch::draw(unsigned round) {
  // The three rules without noise come first: they look at the whole graph.
  if (round < 3)
    return topologicalOrder(units, round, 0);
  switch (round % 4) {
  case 0:
    return topologicalOrder(units, round, 0);
  case 1:
    return rankedOrder(units, stageOf, 0.9, round);
  case 2:
    return rankedOrder(units, stageOf, 1.5 + 0.25 * (round % 5), round);
  default:
    return nearBorders();
  }
}

/// The best plan as slices of an order; empty where it is none.
Slices OrderSearch::knownIn(const SliceCosts &costs,
                            ArrayRef<unsigned> order) const {
  Slices slices;
  unsigned end = 0;
  for (size_t index = 0; index < best.stages.size(); ++index) {
    const Stage &stage = best.stages[index];
    const unsigned begin = end;
    end += stage.nodes.size();
    std::vector<unsigned> nodes(order.begin() + begin, order.begin() + end);
    std::sort(nodes.begin(), nodes.end());
    if (nodes != stage.nodes)
      return {};
    auto kind = llvm::find_if(costs.kinds, [&](const StageKind &kind) {
      return kind.type == stage.deviceType &&
             kind.width == stage.tensorParallel &&
             kind.recompute == stage.recompute;
    });
    slices.ends.push_back(end);
    slices.choices.push_back({unsigned(kind - costs.kinds.begin()),
                              stage.replicas, stage.deviceType,
                              stage.devices()});
  }
  return slices;
}

/// Whether it gave a better plan.
bool OrderSearch::tryOrder(ArrayRef<unsigned> unitOrder) {
  std::vector<unsigned> order;
  for (unsigned unit : unitOrder)
    order.insert(order.end(), nodesOf[unit].begin(), nodesOf[unit].end());
  const Graph reordered = reorder(graph, order);
  const SliceCosts costs(reordered, cluster, options);
  // Tables of a position take about so long.
  steps += uint64_t(graph.nodes.size() + graph.tensors.size()) * 50;
  const Slices slices = planOrder(costs, knownIn(costs, order), steps);
  if (slices.ends.empty())
    return false;
  Plan plan = makePlan(costs, slices);
  for (Stage &stage : plan.stages)
    for (unsigned &node : stage.nodes)
      node = order[node];
  costPlan(graph, cluster, options, plan);
  for (const Stage &stage : plan.stages)
    if (stage.memoryLimit > 0 && stage.memoryBytes > stage.memoryLimit)
      return false;
  const double goal =
      left ? best.stepSeconds * (1 - 1e-6) : givenSeconds * (1 - 1e-3);
  if (plan.stepSeconds > goal)
    return false;
  best = std::move(plan);
  left = true;
  return true;
}

std::optional<Plan> OrderSearch::run() {
  if (!isFree())
    return std::nullopt;
  constexpr unsigned patience = 48;
  for (unsigned round = 0, last = 0;
       steps < workLimit && round < last + patience; ++round) {
    for (unsigned stage = 0; stage < best.stages.size(); ++stage)
      for (unsigned node : best.stages[stage].nodes)
        stageOf[units.unitOfNode[node]] = stage;
    if (tryOrder(draw(round)))
      last = round;
  }
  return left ? std::optional<Plan>(std::move(best)) : std::nullopt;
}

std::optional<Plan> searchOrders(const Graph &graph,
                                 const cluster::Cluster &cluster,
                                 const Options &options, const Plan &given,
                                 uint64_t workLimit, PlanOrder planOrder) {
  return OrderSearch(graph, cluster, options, given, workLimit, planOrder)
      .run();
}

} // namespace hethub::planner

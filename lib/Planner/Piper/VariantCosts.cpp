#include "VariantCosts.h"

#include <set>

using namespace llvm;

namespace hethub::planner::piper {

using Verdict = ChoiceKnapsack::Verdict;
using Goal = ChoiceKnapsack::Goal;

/// Whether `a` is at most `b` in every stage that could use either.
static bool neverWorse(const DegreeCosts::Choice &a,
                       const DegreeCosts::Choice &b) {
  for (size_t edge = 0; edge < a.send.size(); ++edge)
    if (a.send[edge] > b.send[edge])
      return false;
  return a.compute <= b.compute && a.allReduce <= b.allReduce &&
         a.activation <= b.activation && a.fixed <= b.fixed;
}

DegreeCosts::DegreeCosts(const Problem &problem, unsigned tensorDegree)
    : tensorDegree(tensorDegree), choices(problem.layers.size()) {
  std::vector<std::vector<unsigned>> edges(problem.layers.size());
  for (unsigned edge = 0; edge < problem.edges.size(); ++edge) {
    edges[problem.edges[edge].source].push_back(edge);
    edges[problem.edges[edge].target].push_back(edge);
  }
  for (unsigned layer = 0; layer < problem.layers.size(); ++layer) {
    auto found = problem.layers[layer].variants.find(tensorDegree);
    if (found == problem.layers[layer].variants.end())
      continue;
    std::vector<Choice> &kept = choices[layer];
    for (unsigned index = 0; index < found->second.size(); ++index) {
      const Variant &variant = found->second[index];
      Choice choice{index,
                    variant.seconds,
                    4 * variant.parameterBytes / problem.microbatches /
                        problem.bandwidth,
                    variant.activationBytes,
                    variant.fixedBytes,
                    {}};
      for (unsigned edge : edges[layer]) {
        auto gather = variant.gatherBytes.find(edge);
        choice.send.push_back(
            2 *
            (problem.edges[edge].bytes +
             (gather == variant.gatherBytes.end() ? 0 : gather->second)) /
            problem.bandwidth);
      }
      if (llvm::any_of(kept, [&](const Choice &other) {
            return neverWorse(other, choice);
          }))
        continue;
      llvm::erase_if(
          kept, [&](const Choice &other) { return neverWorse(choice, other); });
      kept.push_back(std::move(choice));
    }
  }
}

VariantCosts::VariantCosts(const Problem &problem)
    : neighbours(problem.layers.size()), memoryLimit(problem.memoryBytes) {
  std::set<unsigned> tensorDegrees;
  for (const Layer &layer : problem.layers)
    for (const auto &[tensorDegree, variants] : layer.variants)
      if (tensorDegree <= problem.devices)
        tensorDegrees.insert(tensorDegree);
  for (unsigned tensorDegree : tensorDegrees)
    byDegree.emplace_back(problem, tensorDegree);
  // In the order of DegreeCosts::Choice::send.
  for (const Edge &edge : problem.edges) {
    neighbours[edge.source].push_back(edge.target);
    neighbours[edge.target].push_back(edge.source);
  }
}

void VariantCosts::select(const Ideals &ideals, unsigned inner, unsigned outer,
                          unsigned degreeIndex) {
  degree = &byDegree[degreeIndex];
  layers.clear();
  items.clear();
  ends.clear();
  ideals.forEachBetween(inner, outer, [&](unsigned layer) {
    layers.push_back(layer);
    for (const DegreeCosts::Choice &choice : degree->choices[layer]) {
      Item item{choice.compute, choice.allReduce, choice.activation,
                choice.fixed};
      for (size_t edge = 0; edge < choice.send.size(); ++edge) {
        const unsigned other = neighbours[layer][edge];
        if (ideals.contains(inner, other) || !ideals.contains(outer, other))
          item.work += choice.send[edge];
      }
      items.push_back(item);
    }
    ends.push_back(items.size());
  });
}

void VariantCosts::fillKnapsack(unsigned dataDegree, unsigned inFlight) {
  knapsack.clear();
  unsigned index = 0;
  for (unsigned end : ends) {
    for (; index < end; ++index) {
      const Item &item = items[index];
      knapsack.addChoice(item.allReduce +
                             (item.work - item.allReduce) / dataDegree,
                         item.activation * inFlight + item.fixed);
    }
    knapsack.endGroup();
  }
}

Verdict VariantCosts::fits(unsigned dataDegree, unsigned inFlight,
                           double limit) {
  // Most stages are decided by the sums of the fastest and of the smallest
  // variants.
  double time = 0, memory = 0, leastMemory = 0;
  unsigned index = 0;
  for (unsigned end : ends) {
    double bestTime = std::numeric_limits<double>::infinity(), bestMemory = 0,
           smallest = bestTime;
    for (; index < end; ++index) {
      const Item &item = items[index];
      const double seconds =
          item.allReduce + (item.work - item.allReduce) / dataDegree;
      const double bytes = item.activation * inFlight + item.fixed;
      if (seconds < bestTime || (seconds == bestTime && bytes < bestMemory)) {
        bestTime = seconds;
        bestMemory = bytes;
      }
      smallest = std::min(smallest, bytes);
    }
    time += bestTime;
    memory += bestMemory;
    leastMemory += smallest;
  }
  if (time > limit || leastMemory > memoryLimit)
    return Verdict::None;
  if (memory <= memoryLimit)
    return Verdict::Found;
  fillKnapsack(dataDegree, inFlight);
  return knapsack.solve(memoryLimit, limit, Goal::Any);
}

Stage VariantCosts::cheapest(unsigned dataDegree, unsigned inFlight,
                             double limit) {
  fillKnapsack(dataDegree, inFlight);
  Verdict verdict = knapsack.solve(memoryLimit, limit, Goal::Cheapest);
  assert(verdict == Verdict::Found && "the stage was found to fit");
  (void)verdict;
  Stage stage;
  stage.layers = layers;
  for (unsigned position = 0; position < layers.size(); ++position)
    stage.variants.push_back(
        degree->choices[layers[position]][knapsack.picks[position]].variant);
  stage.dataDegree = dataDegree;
  stage.tensorDegree = degree->tensorDegree;
  return stage;
}

} // namespace hethub::planner::piper

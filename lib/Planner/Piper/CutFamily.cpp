#include "CutFamily.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

/// Pairs of ideals are looked at, and between two there are up to all layers:
/// limits on ideals^2 x layers.
static constexpr double allWork = 1e11, familyWork = 5e9;
static constexpr unsigned mostOrders = 16;
/// Prefixes that differ from a boundary of the plan by up to this many layers
/// are always in.
static constexpr unsigned vicinity = 8;

std::optional<Ideals> cutIdeals(const Problem &problem,
                                const Options &options) {
  std::vector<Ideals::Edge> edges;
  for (const Edge &edge : problem.edges)
    edges.push_back({edge.source, edge.target});
  const double most = std::sqrt(allWork / problem.layers.size());
  return Ideals::enumerate(problem.layers.size(), edges,
                           std::min<double>(options.idealLimit, most));
}

CutFamily::CutFamily(const Problem &problem, uint64_t seed)
    : layerCount(problem.layers.size()), targets(layerCount),
      sourceCounts(layerCount, 0), random(seed) {
  for (const Edge &edge : problem.edges) {
    targets[edge.source].push_back(edge.target);
    ++sourceCounts[edge.target];
  }
}

/// A topological order of the layers by ascending region.
std::vector<unsigned> CutFamily::order(ArrayRef<unsigned> region, Rule rule) {
  const unsigned regions = *std::max_element(region.begin(), region.end()) + 1;
  std::vector<std::vector<unsigned>> ready(regions);
  std::vector<unsigned> waiting = sourceCounts;
  for (unsigned layer = 0; layer < layerCount; ++layer)
    if (waiting[layer] == 0)
      ready[region[layer]].push_back(layer);
  std::vector<unsigned> result;
  // No edge leads to an earlier region: what a region's layers wait for is
  // placed when the region's turn comes.
  for (std::vector<unsigned> &open : ready)
    while (!open.empty()) {
      size_t next = 0;
      if (rule == Rule::FirstInFile)
        next = std::min_element(open.begin(), open.end()) - open.begin();
      else if (rule == Rule::LastReady)
        next = open.size() - 1;
      else if (rule == Rule::AnyReady)
        next = random() % open.size();
      const unsigned layer = open[next];
      open.erase(open.begin() + next);
      result.push_back(layer);
      for (unsigned target : targets[layer])
        if (--waiting[target] == 0)
          ready[region[target]].push_back(target);
    }
  return result;
}

Ideals CutFamily::draw(ArrayRef<Stage> plan) {
  std::vector<std::vector<uint64_t>> sets;
  const unsigned stride = (layerCount + 63) / 64;
  const unsigned most = std::sqrt(familyWork / layerCount);
  const unsigned orders = std::clamp(most / (layerCount + 1), 1u, mostOrders);
  // Of a long order only every so many prefixes.
  const unsigned distance = layerCount / most + 1;
  for (unsigned number = 0; number < orders; ++number) {
    std::vector<unsigned> region(layerCount, 0);
    unsigned regions = 0;
    for (const Stage &stage : plan) {
      for (unsigned layer : stage.layers)
        region[layer] = regions;
      // The first order keeps all boundaries.
      if (number == 0 || random() % 2 == 0)
        ++regions;
    }
    // Of the first family each rule has its turn.
    const Rule rule = Rule(plan.empty() && number < 3 ? number : random() % 4);
    const std::vector<unsigned> layers = order(region, rule);
    std::vector<bool> near(layerCount, distance == 1);
    for (unsigned at = 1; at < layerCount; ++at)
      if (region[layers[at]] != region[layers[at - 1]])
        for (unsigned other = std::max(at, vicinity) - vicinity;
             other < std::min(at + vicinity, layerCount); ++other)
          near[other] = true;
    const unsigned offset = random() % distance;
    std::vector<uint64_t> set(stride, 0);
    for (unsigned at = 0; at < layerCount; ++at) {
      set[layers[at] / 64] |= uint64_t(1) << (layers[at] % 64);
      if (near[at] || at % distance == offset)
        sets.push_back(set);
    }
  }
  return Ideals::of(layerCount, std::move(sets));
}

} // namespace hethub::planner::piper

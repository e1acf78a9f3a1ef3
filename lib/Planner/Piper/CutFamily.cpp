#include "CutFamily.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner::piper {

/// Ideals of one family: pairs of them are looked at.
static constexpr unsigned familySize = 4000;
static constexpr unsigned mostOrders = 16;

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
  const unsigned orders =
      std::clamp(familySize / (layerCount + 1), 1u, mostOrders);
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
    std::vector<uint64_t> set(stride, 0);
    for (unsigned layer : order(region, rule)) {
      set[layer / 64] |= uint64_t(1) << (layer % 64);
      sets.push_back(set);
    }
  }
  return Ideals::of(layerCount, std::move(sets));
}

} // namespace hethub::planner::piper

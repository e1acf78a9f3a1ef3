// Sums over ideals, each from the one that it grew from.
#include "UnitIdeals.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

std::optional<Ideals> allIdeals(const Units &units, size_t limit) {
  std::vector<Ideals::Edge> edges;
  for (unsigned unit = 0; unit < units.size(); ++unit)
    for (unsigned successor : units.successors[unit])
      edges.push_back({unit, successor});
  return Ideals::enumerate(units.size(), edges, limit);
}

Ideals prefixes(const Units &units, ArrayRef<std::vector<unsigned>> orders) {
  std::vector<std::vector<uint64_t>> sets;
  for (const std::vector<unsigned> &order : orders) {
    std::vector<uint64_t> words((units.size() + 63) / 64, 0);
    for (unsigned unit : order) {
      words[unit / 64] |= uint64_t(1) << (unit % 64);
      sets.push_back(words);
    }
  }
  return Ideals::of(units.size(), std::move(sets));
}

std::vector<double> sums(const Ideals &ideals, ArrayRef<double> amounts) {
  std::vector<double> result(ideals.size(), 0);
  for (unsigned ideal = 0; ideal < ideals.size(); ++ideal)
    for (Ideals::Successor next : ideals.successors(ideal))
      result[next.ideal] = result[ideal] + amounts[next.node];
  return result;
}

std::vector<double> cutSeconds(const Units &units, const Ideals &ideals) {
  std::vector<double> result(ideals.size(), -1);
  result[0] = 0;
  for (unsigned ideal = 0; ideal < ideals.size(); ++ideal)
    for (Ideals::Successor next : ideals.successors(ideal)) {
      if (result[next.ideal] >= 0)
        continue;
      double cut = result[ideal];
      for (unsigned index : units.joinsOf[next.node]) {
        const Join &join = units.joins[index];
        unsigned inside = 0;
        for (unsigned end : join.units)
          inside += ideals.contains(next.ideal, end);
        // The unit is the first of the ends inside, or the last.
        if (inside == 1)
          cut += join.seconds;
        if (inside == join.units.size())
          cut -= join.seconds;
      }
      result[next.ideal] = std::max(cut, 0.0);
    }
  return result;
}

} // namespace hethub::planner

// Units without seconds at the end (or begin) of the graph, of the same size
// and for the same classes, can be taken in one order where what they hang on
// is ordered: let v and w be such sinks, and let every predecessor of v come
// before some predecessor of w. If a placement has v behind w, the two change
// places: w moves back, v to a device that is not before v's predecessors.
// Memory and compute stay as they are; only the tensors that v and w read may
// be paid elsewhere.
//
// So with arcs v -> w, and v and w not counted as ends of joins, the problem is
// a relaxation; with the arcs and all ends it is a restriction.
#include "LeafChains.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

namespace {

class Chaining {
public:
  explicit Chaining(const Units &units);
  LeafChains run();

private:
  bool isCostless(unsigned unit) const;
  bool reaches(unsigned from, unsigned to) const {
    return descendants[size_t(from) * words + to / 64] >> (to % 64) & 1;
  }
  /// Does the order hold between these two leaves?
  bool before(unsigned first, unsigned second, bool sinks) const;
  void chain(bool sinks);

  const Units &units;
  const unsigned words;
  std::vector<uint64_t> descendants; // of a unit, itself included
  std::vector<bool> isLeaf;
  LeafChains result;
};

} // namespace

Chaining::Chaining(const Units &units)
    : units(units), words((units.size() + 63) / 64),
      descendants(units.size() * size_t(words), 0),
      isLeaf(units.size(), false) {
  result.restricted = units;
  // Units are numbered in a topological order.
  for (unsigned unit = units.size(); unit-- > 0;) {
    uint64_t *row = &descendants[size_t(unit) * words];
    row[unit / 64] |= uint64_t(1) << (unit % 64);
    for (unsigned successor : units.successors[unit])
      for (unsigned word = 0; word < words; ++word)
        row[word] |= descendants[size_t(successor) * words + word];
  }
}

bool Chaining::isCostless(unsigned unit) const {
  return std::all_of(units.seconds.begin(), units.seconds.end(),
                     [&](const auto &row) { return row[unit] == 0; });
}

bool Chaining::before(unsigned first, unsigned second, bool sinks) const {
  if (units.memoryBytes[first] != units.memoryBytes[second] ||
      units.supported[first] != units.supported[second])
    return false;
  const auto &arcs = sinks ? units.predecessors : units.successors;
  const auto &inner = arcs[sinks ? first : second],
             &outer = arcs[sinks ? second : first];
  return std::all_of(inner.begin(), inner.end(), [&](unsigned end) {
    return std::any_of(outer.begin(), outer.end(), [&](unsigned other) {
      return sinks ? reaches(end, other) : reaches(other, end);
    });
  });
}

void Chaining::chain(bool sinks) {
  std::vector<unsigned> leaves;
  for (unsigned unit = 0; unit < units.size(); ++unit) {
    const auto &none = sinks ? units.successors : units.predecessors;
    if (none[unit].empty() && !isLeaf[unit] && isCostless(unit))
      leaves.push_back(unit);
  }
  // By the last thing that they hang on, so that chains become long.
  std::stable_sort(leaves.begin(), leaves.end(), [&](unsigned a, unsigned b) {
    const auto &arcs = sinks ? units.predecessors : units.successors;
    auto key = [&](unsigned unit) {
      return arcs[unit].empty() ? -1
             : sinks            ? int(arcs[unit].back())
                                : int(arcs[unit].front());
    };
    return key(a) < key(b);
  });
  std::vector<unsigned> ends; // of the chains so far
  for (unsigned leaf : leaves) {
    auto end = std::find_if(ends.begin(), ends.end(), [&](unsigned last) {
      return before(last, leaf, sinks);
    });
    if (end == ends.end()) {
      ends.push_back(leaf);
      continue;
    }
    result.restricted.successors[*end].push_back(leaf);
    result.restricted.predecessors[leaf].push_back(*end);
    isLeaf[*end] = isLeaf[leaf] = true;
    *end = leaf;
    result.any = true;
  }
}

LeafChains Chaining::run() {
  chain(/*sinks=*/true);
  chain(/*sinks=*/false);
  result.relaxed = result.restricted;
  result.relaxed.joins.clear();
  result.relaxed.joinsOf.assign(units.size(), {});
  for (const Join &join : units.joins) {
    Join rest{join.seconds, {}};
    for (unsigned end : join.units)
      if (!isLeaf[end])
        rest.units.push_back(end);
    if (rest.units.size() < 2)
      continue;
    for (unsigned end : rest.units)
      result.relaxed.joinsOf[end].push_back(result.relaxed.joins.size());
    result.relaxed.joins.push_back(std::move(rest));
  }
  return std::move(result);
}

LeafChains chainLeaves(const Units &units) { return Chaining(units).run(); }

} // namespace hethub::planner

// Three ways to choose the next unit among those that are ready.
#include "TopologicalOrders.h"

#include <algorithm>
#include <queue>
#include <random>

using namespace llvm;

namespace hethub::planner {

namespace {

class Builder {
public:
  Builder(const Units &units, unsigned index, unsigned seed)
      : units(units), rule(Rule(index % 3)), noise(index / 3),
        random(seed * 7919u + index), inside(units.joins.size(), 0) {}

  std::vector<unsigned> build();

private:
  enum Rule { SmallestCut, DepthFirst, BreadthFirst };
  struct Ready {
    unsigned unit;
    double priority; // the least comes next
  };
  double cutGrowth(unsigned unit) const;
  double draw() { return double(random()) / double(random.max()); }

  const Units &units;
  Rule rule;
  unsigned noise;
  std::mt19937 random;
  std::vector<unsigned> inside; // ends of a join that are placed
};

} // namespace

/// Seconds by which the cut grows when the unit comes next.
double Builder::cutGrowth(unsigned unit) const {
  double growth = 0;
  for (unsigned index : units.joinsOf[unit]) {
    const Join &join = units.joins[index];
    if (inside[index] == 0)
      growth += join.seconds;
    if (inside[index] + 1 == join.units.size())
      growth -= join.seconds;
  }
  return growth;
}

std::vector<unsigned> Builder::build() {
  std::vector<unsigned> order, waiting;
  std::vector<Ready> ready;
  // Units are numbered in a topological order, so ties keep that.
  auto makeReady = [&](unsigned unit) {
    double tie = noise ? draw() : 1e-9 * unit;
    double age = double(order.size());
    ready.push_back({unit, rule == DepthFirst     ? tie - age
                           : rule == BreadthFirst ? tie + age
                                                  : tie});
  };
  for (unsigned unit = 0; unit < units.size(); ++unit) {
    waiting.push_back(units.predecessors[unit].size());
    if (waiting.back() == 0)
      makeReady(unit);
  }
  while (!ready.empty()) {
    size_t chosen = 0;
    double least = std::numeric_limits<double>::infinity(), leastTie = least;
    for (size_t i = 0; i < ready.size(); ++i) {
      double first = ready[i].priority, second = 0;
      if (rule == SmallestCut) {
        second = first;
        first = cutGrowth(ready[i].unit);
        if (noise > 1)
          first *= 1 + 0.5 * draw();
      }
      if (first < least || (first == least && second < leastTie)) {
        chosen = i;
        least = first;
        leastTie = second;
      }
    }
    const unsigned unit = ready[chosen].unit;
    ready[chosen] = ready.back();
    ready.pop_back();
    order.push_back(unit);
    for (unsigned index : units.joinsOf[unit])
      ++inside[index];
    for (unsigned successor : units.successors[unit])
      if (--waiting[successor] == 0)
        makeReady(successor);
  }
  return order;
}

std::vector<unsigned> topologicalOrder(const Units &units, unsigned index,
                                       unsigned seed) {
  return Builder(units, index, seed).build();
}

std::vector<unsigned> rankedOrder(const Units &units, ArrayRef<double> rank,
                                  double blur, unsigned seed) {
  std::mt19937 random(seed);
  using Entry = std::pair<double, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<double> place;
  std::vector<unsigned> order, waiting;
  for (unsigned unit = 0; unit < units.size(); ++unit) {
    place.push_back(rank[unit] +
                    blur * double(random()) / double(random.max()));
    waiting.push_back(units.predecessors[unit].size());
    if (waiting[unit] == 0)
      ready.push({place[unit], unit});
  }
  while (!ready.empty()) {
    const unsigned unit = ready.top().second;
    ready.pop();
    order.push_back(unit);
    for (unsigned successor : units.successors[unit])
      if (--waiting[successor] == 0)
        ready.push({place[successor], successor});
  }
  return order;
}

} // namespace hethub::planner

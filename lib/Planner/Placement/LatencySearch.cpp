// Good placements for one sample: a dynamic program over the slices of orders
// for a start, then annealing on the exact finish.
#include "../TopologicalOrders.h"
#include "Latency.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

/// Slices of one order, each a call or left to the pool, one after the other:
/// the sum is never below the finish, which may overlap them.
class SlicePlan {
public:
  SlicePlan(const PlacementProblem &problem, const Units &units,
            const LatencyPlaces &places,
            ArrayRef<std::vector<unsigned>> nodesOf)
      : problem(problem), units(units), places(places), nodesOf(nodesOf) {
    for (unsigned place = 0; place < places.calls; ++place)
      if (place == 0 || places.classOf[place] != places.classOf[place - 1])
        callClasses.push_back({places.classOf[place], place, 1, 0});
      else
        ++callClasses.back().count;
    for (CallClass &call : callClasses) {
      call.stride = states;
      states *= call.count + 1;
    }
  }

  /// Place of each unit; empty when the calls do not suffice.
  std::vector<unsigned> best(ArrayRef<unsigned> order);

private:
  struct Step {
    double finish = infinity;
    unsigned begin = 0, place = 0; // of the last slice
    unsigned before = 0;           // state that it continues
  };
  struct CallClass {
    unsigned deviceClass, firstPlace, count, stride;
  };
  void extend(ArrayRef<unsigned> order, unsigned begin);

  const PlacementProblem &problem;
  const Units &units;
  const LatencyPlaces &places;
  ArrayRef<std::vector<unsigned>> nodesOf; // of a unit
  std::vector<CallClass> callClasses;
  unsigned states = 1;
  std::vector<std::vector<Step>> steps; // [units placed][calls used per class]
};

class LatencyAnnealing {
public:
  LatencyAnnealing(const PlacementProblem &problem, const Units &units,
                   const LatencyPlaces &places, unsigned seed)
      : units(units), places(places), model(problem, places), random(seed),
        placeOfNode(problem.nodes.size()), memory(places.size(), 0),
        held(places.size(), 0) {}

  /// Improves `placeOf` and returns its finish.
  double run(std::vector<unsigned> &placeOf, unsigned steps, double lowerBound,
             Deadline deadline);

private:
  double finish() {
    for (unsigned node = 0; node < placeOfNode.size(); ++node)
      placeOfNode[node] = placeOf[units.unitOfNode[node]];
    return model.finish(placeOfNode);
  }
  void moveUnit(unsigned unit, unsigned place) {
    memory[placeOf[unit]] -= units.memoryBytes[unit];
    --held[placeOf[unit]];
    placeOf[unit] = place;
    memory[place] += units.memoryBytes[unit];
    ++held[place];
  }
  void propose(std::vector<unsigned> &moved, unsigned &target);
  bool fits(ArrayRef<unsigned> moved, unsigned target) const;
  double draw() { return double(random()) / double(random.max()); }

  const Units &units;
  const LatencyPlaces &places;
  LatencyModel model;
  std::mt19937 random;
  std::vector<unsigned> placeOf, placeOfNode;
  std::vector<double> memory; // of a place
  std::vector<unsigned> held; // units of a place
};

} // namespace

void SlicePlan::extend(ArrayRef<unsigned> order, unsigned begin) {
  std::vector<double> done(problem.nodes.size(), 0); // of pooled nodes
  std::vector<unsigned> inside(units.joins.size(), 0);
  std::vector<double> seconds(units.classes.size(), 0);
  uint32_t classes = ~uint32_t(0);
  double cut = 0, memory = 0, pooled = 0;
  std::vector<bool> member(units.size(), false);
  for (unsigned end = begin; end < order.size(); ++end) {
    const unsigned unit = order[end];
    member[unit] = true;
    classes &= units.supported[unit];
    memory += units.memoryBytes[unit];
    for (unsigned t = 0; t < seconds.size(); ++t)
      seconds[t] += units.seconds[t][unit];
    for (unsigned index : units.joinsOf[unit]) {
      if (inside[index]++ == 0)
        cut += units.joins[index].seconds;
      if (inside[index] == units.joins[index].units.size())
        cut -= units.joins[index].seconds;
    }
    for (const CallClass &call : callClasses) {
      const ClassRule &rule = units.classes[call.deviceClass];
      if (!(classes >> call.deviceClass & 1) || memory > rule.memoryBytes)
        continue;
      const double duration =
          seconds[call.deviceClass] + rule.transferScale * cut;
      for (unsigned state = 0; state < steps[begin].size(); ++state) {
        const unsigned used = state / call.stride % (call.count + 1);
        if (used == call.count)
          continue;
        Step &step = steps[end + 1][state + call.stride];
        const double finish = steps[begin][state].finish + duration;
        if (finish < step.finish)
          step = {finish, begin, call.firstPlace + used, state};
      }
    }
    // A pooled slice lasts as long as its longest path.
    if (places.calls == places.size() || pooled == infinity)
      continue;
    const unsigned pool = places.calls, t = places.classOf[pool];
    for (unsigned node : nodesOf[unit])
      done[node] = std::max(done[node], 0.0);
    if (!(classes >> t & 1)) {
      pooled = infinity;
      continue;
    }
    for (unsigned node : nodesOf[unit]) {
      done[node] += problem.nodes[node].seconds[t];
      pooled = std::max(pooled, done[node]);
      for (unsigned consumer : problem.nodes[node].consumers)
        done[consumer] = std::max(done[consumer], done[node]);
    }
    for (unsigned state = 0; state < steps[begin].size(); ++state) {
      Step &step = steps[end + 1][state];
      double finish = steps[begin][state].finish + pooled;
      if (finish < step.finish)
        step = {finish, begin, pool, state};
    }
  }
}

std::vector<unsigned> SlicePlan::best(ArrayRef<unsigned> order) {
  steps.assign(order.size() + 1, std::vector<Step>(states));
  steps[0][0].finish = 0;
  for (unsigned begin = 0; begin < order.size(); ++begin)
    extend(order, begin);
  unsigned at = order.size();
  auto last = std::min_element(
      steps[at].begin(), steps[at].end(),
      [](const Step &a, const Step &b) { return a.finish < b.finish; });
  if (last->finish == infinity)
    return {};
  unsigned state = last - steps[at].begin();
  std::vector<unsigned> placeOf(order.size());
  while (at > 0) {
    const Step &step = steps[at][state];
    for (unsigned i = step.begin; i < at; ++i)
      placeOf[order[i]] = step.place;
    at = step.begin;
    state = step.before;
  }
  return placeOf;
}

bool LatencyAnnealing::fits(ArrayRef<unsigned> moved, unsigned target) const {
  const ClassRule &rule = units.classes[places.classOf[target]];
  double needed = memory[target];
  for (unsigned unit : moved) {
    if (!(units.supported[unit] >> places.classOf[target] & 1))
      return false;
    needed += units.memoryBytes[unit];
  }
  return places.isPool(target) || needed <= rule.memoryBytes;
}

/// A unit, or it and what follows (precedes) it in its place, to the place of a
/// neighbour, the pool or an empty call.
void LatencyAnnealing::propose(std::vector<unsigned> &moved, unsigned &target) {
  const unsigned unit = random() % units.size();
  const bool forwards = random() % 2;
  const auto &arcs = forwards ? units.successors : units.predecessors;
  moved = {unit};
  const unsigned limit = random() % 3 == 0 ? 1 : 1 + random() % 24;
  std::vector<bool> seen(units.size(), false);
  seen[unit] = true;
  for (size_t next = 0; next < moved.size() && moved.size() < limit; ++next)
    for (unsigned other : arcs[moved[next]])
      if (placeOf[other] == placeOf[unit] && !seen[other] &&
          moved.size() < limit) {
        seen[other] = true;
        moved.push_back(other);
      }
  const double kind = draw();
  if (kind < 0.15) {
    target = random() % places.size();
    return;
  }
  if (kind < 0.3 && places.calls < places.size()) {
    target = places.calls + random() % (places.size() - places.calls);
    return;
  }
  // A neighbour of what moves, elsewhere.
  target = placeOf[unit];
  const unsigned from = moved[random() % moved.size()];
  for (const auto *list : {&arcs[moved.back()], &units.predecessors[from],
                           &units.successors[from]})
    for (unsigned other : *list)
      if (placeOf[other] != placeOf[unit]) {
        target = placeOf[other];
        if (random() % 2)
          return;
      }
}

double LatencyAnnealing::run(std::vector<unsigned> &start, unsigned steps,
                             double lowerBound, Deadline deadline) {
  placeOf.assign(start.size(), 0);
  held[0] = start.size();
  for (unsigned unit = 0; unit < start.size(); ++unit)
    memory[0] += units.memoryBytes[unit];
  for (unsigned unit = 0; unit < start.size(); ++unit)
    moveUnit(unit, start[unit]);
  double current = finish(), best = current;
  const double hot = 0.02 * current, cold = 1e-5 * current;
  std::vector<unsigned> moved;
  for (unsigned step = 0; step < steps && best > lowerBound; ++step) {
    if (step % 64 == 0 && std::chrono::steady_clock::now() > deadline)
      break;
    unsigned target = 0;
    propose(moved, target);
    const unsigned from = placeOf[moved.front()];
    if (target == from || !fits(moved, target))
      continue;
    for (unsigned unit : moved)
      moveUnit(unit, target);
    const double next = finish();
    const double temperature = hot * std::pow(cold / hot, double(step) / steps);
    if (next <= current || draw() < std::exp((current - next) / temperature)) {
      current = next;
      if (current < best) {
        best = current;
        start = placeOf;
      }
      continue;
    }
    for (unsigned unit : moved)
      moveUnit(unit, from);
  }
  return best;
}

std::vector<unsigned>
searchLatency(const PlacementProblem &problem, const Units &units,
              const LatencyPlaces &places, std::vector<unsigned> start,
              double lowerBound, unsigned seed, Deadline deadline) {
  auto inTime = [&] { return std::chrono::steady_clock::now() < deadline; };
  // Nodes of a unit in a topological order: those of a pooled slice are done in
  // that order.
  std::vector<std::vector<unsigned>> nodesOf(units.size());
  for (unsigned node : topologicalOrder(problem))
    nodesOf[units.unitOfNode[node]].push_back(node);

  LatencyModel model(problem, places);
  std::vector<unsigned> placeOfNode(problem.nodes.size());
  auto finish = [&](ArrayRef<unsigned> placeOf) {
    for (unsigned node = 0; node < placeOfNode.size(); ++node)
      placeOfNode[node] = placeOf[units.unitOfNode[node]];
    return model.finish(placeOfNode);
  };
  std::vector<std::pair<double, std::vector<unsigned>>> candidates;
  if (!start.empty())
    candidates.push_back({finish(start), start});
  constexpr unsigned orders = 18, starts = 3;
  for (unsigned index = 0; index < orders && inTime(); ++index) {
    std::vector<unsigned> placeOf =
        SlicePlan(problem, units, places, nodesOf)
            .best(topologicalOrder(units, index, seed));
    if (!placeOf.empty())
      candidates.push_back({finish(placeOf), std::move(placeOf)});
  }
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  candidates.resize(std::min<size_t>(candidates.size(), starts));

  size_t edges = problem.nodes.size();
  for (const PlacementNode &node : problem.nodes)
    edges += node.consumers.size();
  // A step costs about as much as there are edges; some seconds in all.
  const unsigned steps =
      std::min(std::clamp<size_t>(300000000 / edges, 2000, 300000),
               size_t(3000) * units.size());
  for (auto &[value, placeOf] : candidates)
    if (value > lowerBound && inTime())
      value = LatencyAnnealing(problem, units, places, seed)
                  .run(placeOf, steps, lowerBound, deadline);
  auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  return best == candidates.end() || best->first == infinity
             ? std::vector<unsigned>()
             : std::move(best->second);
}

} // namespace hethub::planner

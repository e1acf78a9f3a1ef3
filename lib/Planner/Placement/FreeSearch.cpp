// Branch and bound, and simulated annealing, over assignments of units.
#include "FreeSearch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

/// Depth first over the units, the heaviest first. A partial assignment's loads
/// only grow: seconds are not negative, and a join that is cut stays cut.
class Branching {
public:
  Branching(const Units &units, double bound, uint64_t workLimit,
            Deadline deadline)
      : units(units), table(units), workLimit(workLimit), deadline(deadline) {
    result.load = bound;
    order.resize(units.size());
    std::iota(order.begin(), order.end(), 0);
    auto weight = [&](unsigned unit) {
      double largest = 0;
      for (unsigned t = 0; t < units.classes.size(); ++t)
        if (units.supported[unit] >> t & 1)
          largest = std::max(largest, units.seconds[t][unit]);
      return largest;
    };
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      return std::pair(weight(a), units.memoryBytes[a]) >
             std::pair(weight(b), units.memoryBytes[b]);
    });
  }

  FreeResult run() {
    result.completed = place(0);
    return std::move(result);
  }

private:
  bool place(unsigned depth) {
    if (depth == order.size()) {
      result.load = table.largest();
      result.deviceOf = table.deviceOf;
      return true;
    }
    if (workLimit-- == 0 ||
        (workLimit % 4096 == 0 && std::chrono::steady_clock::now() > deadline))
      return false;
    const unsigned unit = order[depth];
    std::vector<std::pair<double, unsigned>> choices;
    for (unsigned device = 0; device < table.size(); ++device) {
      // Empty devices of a class are alike: only the first is tried.
      const bool twin = device > 0 &&
                        table.classOf[device] == table.classOf[device - 1] &&
                        table.unitCount[device - 1] == 0;
      if (twin || !table.fits(unit, device))
        continue;
      table.move(unit, device);
      double largest = table.largest();
      if (largest < result.load)
        choices.push_back({largest, device});
      table.move(unit, DeviceTable::none);
    }
    std::sort(choices.begin(), choices.end());
    bool complete = true;
    for (auto [largest, device] : choices) {
      if (!(largest < result.load))
        break;
      table.move(unit, device);
      complete = place(depth + 1);
      table.move(unit, DeviceTable::none);
      if (!complete)
        break;
    }
    return complete;
  }

  const Units &units;
  DeviceTable table;
  uint64_t workLimit;
  Deadline deadline;
  FreeResult result;
  std::vector<unsigned> order;
};

/// The energy is a high power of the loads: its least values have a small
/// largest load, and it still sees progress elsewhere.
class Annealing {
public:
  Annealing(const Units &units, std::vector<unsigned> start, unsigned seed)
      : units(units), table(units), random(seed) {
    best.deviceOf = std::move(start);
  }

  FreeResult run(unsigned steps, Deadline deadline);

private:
  bool placeGreedily();
  double energy(unsigned device) const {
    if (table.unitCount[device] == 0)
      return 0;
    // Loads below zero (memory to spare) are all equally good.
    return std::pow(std::max(0.0, table.load[device]) / scale, 10);
  }
  unsigned proposeDevice(unsigned unit);
  void note() {
    if (double largest = table.largest(); largest < best.load) {
      best.load = largest;
      best.deviceOf = table.deviceOf;
    }
  }
  double draw() { return double(random()) / double(random.max()); }
  void tryMove(double temperature);
  void trySwap(double temperature);
  bool accepts(double before, double after, double temperature) {
    return after <= before || draw() < std::exp((before - after) / temperature);
  }

  const Units &units;
  DeviceTable table;
  FreeResult best;
  double scale = 1;
  std::mt19937 random;
};

} // namespace

FreeResult branchAndBound(const Units &units, double bound, uint64_t workLimit,
                          Deadline deadline) {
  return Branching(units, bound, workLimit, deadline).run();
}

/// Heaviest first, each where the largest load stays least.
bool Annealing::placeGreedily() {
  std::vector<unsigned> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::pair(units.memoryBytes[a], units.seconds[0][a]) >
           std::pair(units.memoryBytes[b], units.seconds[0][b]);
  });
  for (unsigned unit : order) {
    double least = infinity;
    unsigned chosen = DeviceTable::none;
    for (unsigned device = 0; device < table.size(); ++device) {
      if (!table.fits(unit, device))
        continue;
      table.move(unit, device);
      if (table.load[device] < least) {
        least = table.load[device];
        chosen = device;
      }
      table.move(unit, DeviceTable::none);
    }
    if (chosen == DeviceTable::none)
      return false;
    table.move(unit, chosen);
  }
  return true;
}

unsigned Annealing::proposeDevice(unsigned unit) {
  const std::vector<unsigned> &joins = units.joinsOf[unit];
  if (joins.empty() || draw() < 0.3)
    return random() % table.size();
  const std::vector<unsigned> &ends =
      units.joins[joins[random() % joins.size()]].units;
  return table.deviceOf[ends[random() % ends.size()]];
}

void Annealing::tryMove(double temperature) {
  const unsigned unit = random() % units.size();
  const unsigned from = table.deviceOf[unit], to = proposeDevice(unit);
  if (to == from || !table.fits(unit, to))
    return;
  const double before = energy(from) + energy(to);
  table.move(unit, to);
  if (accepts(before, energy(from) + energy(to), temperature))
    note();
  else
    table.move(unit, from);
}

void Annealing::trySwap(double temperature) {
  const unsigned a = random() % units.size(), b = random() % units.size();
  const unsigned home = table.deviceOf[a], other = table.deviceOf[b];
  if (home == other)
    return;
  const double before = energy(home) + energy(other);
  table.move(a, DeviceTable::none);
  const bool fits = table.fits(b, home);
  if (fits)
    table.move(b, home);
  if (fits && table.fits(a, other)) {
    table.move(a, other);
    if (accepts(before, energy(home) + energy(other), temperature)) {
      note();
      return;
    }
  }
  if (fits)
    table.move(b, other);
  table.move(a, home);
}

FreeResult Annealing::run(unsigned steps, Deadline deadline) {
  if (best.deviceOf.empty()) {
    if (!placeGreedily())
      return {};
  } else {
    for (unsigned unit = 0; unit < units.size(); ++unit)
      table.move(unit, best.deviceOf[unit]);
  }
  best.load = infinity;
  note();
  scale = std::max(std::abs(best.load), 1e-300);
  const double hot = 0.5, cold = 1e-4;
  for (unsigned step = 0; step < steps; ++step) {
    if (step % 1024 == 0 && std::chrono::steady_clock::now() > deadline)
      break;
    double temperature = hot * std::pow(cold / hot, double(step) / steps);
    if (random() % 4 == 0)
      trySwap(temperature);
    else
      tryMove(temperature);
  }
  return std::move(best);
}

FreeResult anneal(const Units &units, std::vector<unsigned> start,
                  unsigned seed, unsigned steps, Deadline deadline) {
  return Annealing(units, std::move(start), seed).run(steps, deadline);
}

} // namespace hethub::planner

// The bound is concave in the prices, so line searches along random directions
// climb to its maximum; there are few prices.
#include "Multipliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

double Multipliers::price(const Units &units, unsigned unit) const {
  double least = infinity;
  for (unsigned t = 0; t < units.classes.size(); ++t)
    // Alone on a device of the class it must fit.
    if ((units.supported[unit] >> t & 1) &&
        units.memoryBytes[unit] <= units.classes[t].memoryBytes)
      least = std::min(least, time[t] * units.seconds[t][unit] +
                                  memory[t] * units.memoryBytes[unit]);
  return least;
}

namespace {

/// Coordinates: for each class with devices the share of time (they add up to
/// one), and for each limited one the seconds that its whole memory costs.
class Ascent {
public:
  explicit Ascent(const Units &units) : units(units) {
    for (unsigned t = 0; t < units.classes.size(); ++t) {
      if (units.classes[t].count == 0)
        continue;
      // A class without a limit in a memory problem: its time costs nothing.
      if (units.classes[t].offset > Units::unlimited)
        timeOf.push_back(t);
      if (units.classes[t].memoryBytes > 0 &&
          units.classes[t].memoryBytes < infinity)
        memoryOf.push_back(t);
    }
  }

  std::vector<double> start(bool withMemory) const {
    std::vector<double> point(timeOf.size() + memoryOf.size(), 0);
    for (unsigned i = 0; i < timeOf.size(); ++i)
      point[i] = 1;
    if (withMemory)
      for (unsigned i = timeOf.size(); i < point.size(); ++i)
        point[i] = 0.1 * value(point);
    return point;
  }

  Multipliers at(const std::vector<double> &point) const {
    Multipliers result;
    result.time.assign(units.classes.size(), 0);
    result.memory.assign(units.classes.size(), 0);
    double sum = 0;
    for (unsigned i = 0; i < timeOf.size(); ++i)
      sum += std::max(point[i], 0.0);
    for (unsigned i = 0; i < timeOf.size(); ++i)
      result.time[timeOf[i]] = std::max(point[i], 0.0) / std::max(sum, 1e-300) /
                               units.classes[timeOf[i]].count;
    for (unsigned i = 0; i < memoryOf.size(); ++i) {
      const ClassRule &rule = units.classes[memoryOf[i]];
      result.memory[memoryOf[i]] = std::max(point[timeOf.size() + i], 0.0) /
                                   (rule.count * rule.memoryBytes);
    }
    return result;
  }

  /// Largest load >= this.
  double value(const std::vector<double> &point) const {
    const Multipliers multipliers = at(point);
    double sum = 0;
    for (unsigned unit = 0; unit < units.size(); ++unit)
      sum += multipliers.price(units, unit);
    for (unsigned t = 0; t < units.classes.size(); ++t)
      sum -=
          units.classes[t].count * multipliers.budget(units.classes[t], t, 0);
    return sum;
  }

  /// Best point of the segment point + [-2, 2] x direction.
  void search(std::vector<double> &point, double &best,
              ArrayRef<double> direction) const {
    auto moved = [&](double step) {
      std::vector<double> next = point;
      for (unsigned i = 0; i < next.size(); ++i)
        next[i] = std::max(0.0, next[i] + step * direction[i]);
      return next;
    };
    constexpr double golden = 0.6180339887498949;
    double low = -2, high = 2;
    double left = high - golden * (high - low),
           right = low + golden * (high - low);
    double atLeft = value(moved(left)), atRight = value(moved(right));
    for (unsigned turn = 0; turn < 40; ++turn) {
      if (atLeft < atRight) {
        low = left;
        left = right;
        atLeft = atRight;
        right = low + golden * (high - low);
        atRight = value(moved(right));
      } else {
        high = right;
        right = left;
        atRight = atLeft;
        left = high - golden * (high - low);
        atLeft = value(moved(left));
      }
    }
    std::vector<double> next = moved((low + high) / 2);
    if (double reached = value(next); reached > best) {
      best = reached;
      point = next;
    }
  }

  void climb(std::vector<double> &point, bool withMemory) const {
    const unsigned coordinates = withMemory ? point.size() : timeOf.size();
    std::mt19937_64 random(1);
    double best = value(point);
    const double scale = std::max(std::abs(best), 1e-9);
    std::vector<double> direction(point.size(), 0);
    // Two shares of time that add up to one are a single unknown.
    if (coordinates == 2 && !withMemory) {
      direction[0] = 0.5;
      direction[1] = -0.5;
      point[0] = point[1] = 1;
      search(point, best, direction);
      return;
    }
    if (coordinates < 2)
      return;
    // Each evaluation reads every unit: fewer rounds on large problems.
    const unsigned rounds =
        std::clamp<size_t>(1000000 / (units.size() + 1) / 40, 8, 120);
    for (unsigned round = 0; round < rounds; ++round) {
      for (unsigned i = 0; i < coordinates; ++i) {
        double factor = double(random() % 2001) / 1000 - 1;
        bool chosen = round % 2 == 0 || random() % coordinates == i;
        direction[i] = chosen ? (i < timeOf.size() ? 1 : scale) * factor : 0;
      }
      search(point, best, direction);
    }
  }

private:
  const Units &units;
  std::vector<unsigned> timeOf, memoryOf;
};

} // namespace

/// Can any device be full?
static bool memoryBinds(const Units &units) {
  const double total =
      std::accumulate(units.memoryBytes.begin(), units.memoryBytes.end(), 0.0);
  return std::any_of(units.classes.begin(), units.classes.end(),
                     [&](const ClassRule &rule) {
                       return rule.count > 0 && rule.memoryBytes < total;
                     });
}

std::vector<Multipliers> findMultipliers(const Units &units) {
  if (std::count(units.supported.begin(), units.supported.end(), 0))
    return {};
  Ascent ascent(units);
  std::vector<std::pair<double, Multipliers>> found;
  for (bool withMemory : {false, true}) {
    if (withMemory && !memoryBinds(units))
      continue;
    std::vector<double> point = ascent.start(withMemory);
    ascent.climb(point, withMemory);
    found.push_back({ascent.value(point), ascent.at(point)});
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<Multipliers> result;
  for (auto &[value, multipliers] : found)
    result.push_back(std::move(multipliers));
  // Memory alone: does the rest fit the devices that are left?
  if (found.size() > 1) {
    Multipliers bytes;
    bytes.time.assign(units.classes.size(), 0);
    for (const ClassRule &rule : units.classes)
      bytes.memory.push_back(rule.memoryBytes < infinity ? 1 : 0);
    result.push_back(std::move(bytes));
  }
  return result;
}

double loadBound(const Units &units, ArrayRef<Multipliers> choices) {
  double bound = infinity;
  for (const ClassRule &rule : units.classes)
    bound = std::min(bound, rule.offset);
  for (unsigned unit = 0; unit < units.size(); ++unit) {
    double least = infinity;
    for (unsigned t = 0; t < units.classes.size(); ++t)
      if ((units.supported[unit] >> t & 1) &&
          units.memoryBytes[unit] <= units.classes[t].memoryBytes)
        least =
            std::min(least, units.classes[t].offset + units.seconds[t][unit]);
    bound = std::max(bound, least);
  }
  for (const Multipliers &multipliers : choices) {
    double sum = 0, time = 0;
    for (unsigned unit = 0; unit < units.size(); ++unit)
      sum += multipliers.price(units, unit);
    for (unsigned t = 0; t < units.classes.size(); ++t) {
      sum -=
          units.classes[t].count * multipliers.budget(units.classes[t], t, 0);
      time += units.classes[t].count * multipliers.time[t];
    }
    if (time > 0)
      bound = std::max(bound, sum / time);
  }
  return bound;
}

} // namespace hethub::planner

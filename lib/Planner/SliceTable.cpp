// Values are filled level by level: suffixes of one stage, of two, ... A stage
// [begin, end) in front of a suffix costs work(end) - work(begin) + messages,
// so that the best end is a range minimum of value(end) + work(end) over each
// segment.
#include "SliceTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

DeviceSets::DeviceSets(ArrayRef<unsigned> counts, unsigned maxTotal)
    : counts(counts.begin(), counts.end()), limit(maxTotal) {
  unsigned size = 1;
  for (unsigned count : counts) {
    unsigned radix = std::min(count, maxTotal) + 1;
    strides.push_back(size);
    radices.push_back(radix);
    size *= radix;
  }
  totals.assign(size, 0);
  for (unsigned set = 0; set < size; ++set)
    for (unsigned type = 0; type < counts.size(); ++type)
      totals[set] += count(set, type);
}

bool DeviceSets::canAdd(unsigned set, unsigned type) const {
  return totals[set] < limit && count(set, type) + 1 < radices[type];
}

bool DeviceSets::contains(unsigned set, unsigned subset) const {
  for (unsigned type = 0; type < radices.size(); ++type)
    if (count(subset, type) > count(set, type))
      return false;
  return true;
}

namespace {

/// Range minima of an array that is finite on [first, last] only.
class RangeMinimum {
public:
  void build(std::vector<double> values, unsigned first, unsigned last) {
    this->first = first;
    this->last = last;
    levels.clear();
    levels.push_back(std::move(values));
    for (unsigned width = 1; 2 * width <= last - first + 1; width *= 2) {
      const std::vector<double> &previous = levels.back();
      std::vector<double> next(last - first + 2 - 2 * width);
      for (size_t index = 0; index < next.size(); ++index)
        next[index] = std::min(previous[index], previous[index + width]);
      levels.push_back(std::move(next));
    }
  }
  /// Minimum over [from, to].
  double query(unsigned from, unsigned to) const {
    from = std::max(from, first);
    to = std::min(to, last);
    if (from > to)
      return infinity;
    unsigned level = Log2_32(to - from + 1);
    return std::min(levels[level][from - first],
                    levels[level][to + 1 - (1u << level) - first]);
  }

private:
  unsigned first = 1, last = 0;
  std::vector<std::vector<double>> levels;
};

} // namespace

SliceTable::SliceTable(const SliceCosts &costs, const DeviceSets &sets,
                       unsigned maxStages, unsigned exactStages,
                       double cutPenalty)
    : costs(costs), sets(sets), maxStages(maxStages), exactStages(exactStages),
      penalty(cutPenalty) {}

ArrayRef<unsigned> SliceTable::reach(unsigned type, unsigned inFlight) const {
  auto [found, isNew] = reaches.try_emplace({type, inFlight});
  std::vector<unsigned> &ends = found->second;
  if (!isNew)
    return ends;
  unsigned n = costs.nodeCount;
  ends.assign(n + 1, 0);
  unsigned end = 0;
  for (unsigned begin = 0; begin < n; ++begin) {
    end = std::max(end, begin);
    unsigned most = costs.firstUnsupported[type][begin];
    while (end < most && costs.load(type, begin, end + 1) <= bound &&
           costs.memory(begin, end + 1, inFlight) <= costs.memoryLimits[type])
      ++end;
    ends[begin] = end;
  }
  ends[n] = n;
  return ends;
}

unsigned SliceTable::nextInFlight(unsigned inFlight, double received) const {
  if (!costs.tracksInFlight)
    return 1;
  double next =
      inFlight + 1 + (bound > 0 ? std::ceil(2 * received / bound) : 0);
  return unsigned(std::min<double>(next, costs.options.microbatches));
}

SliceTable::Layer &SliceTable::layer(unsigned set, unsigned inFlight) {
  for (auto &known : layersOf[set])
    if (known->inFlight == inFlight)
      return *known;
  auto created = std::make_unique<Layer>();
  created->set = set;
  created->inFlight = inFlight;
  created->value.assign(size_t(costs.typeCount) * costs.typeCount *
                            (costs.nodeCount + 1),
                        infinity);
  layersOf[set].push_back(std::move(created));
  return *layersOf[set].back();
}

double SliceTable::fill(double newBound) {
  const unsigned n = costs.nodeCount;
  bound = newBound;
  leastSum = infinity;
  reaches.clear();
  remainders.clear();
  layersOf.clear();
  layersOf.resize(sets.size());

  // How far a prefix could get bounds where the suffixes that matter begin.
  // Sets grow with their number.
  cover.assign(sets.size(), 0);
  for (unsigned set = 0; set < sets.size(); ++set)
    for (unsigned type = 0; type < costs.typeCount; ++type)
      if (sets.count(set, type) > 0) {
        unsigned rest = cover[sets.remove(set, type)];
        cover[set] = std::max(cover[set], rest == n ? n : reach(type, 1)[rest]);
      }
  if (cover[sets.all()] < n)
    return infinity;

  expand(nullptr);
  // A set's layers are complete when all smaller numbers are done: adding a
  // device makes the number larger.
  for (unsigned set = 1; set < sets.size(); ++set)
    for (size_t index = 0; index < layersOf[set].size(); ++index)
      if (sets.total(set) < maxStages)
        expand(layersOf[set][index].get());
  return leastSum;
}

void SliceTable::expand(const Layer *behind) {
  const unsigned n = costs.nodeCount, types = costs.typeCount;
  const unsigned set = behind ? behind->set : 0,
                 inFlight = behind ? behind->inFlight : 1;
  std::vector<RangeMinimum> minima(types);
  RangeMinimum minimum;
  for (unsigned type = 0; type < types; ++type) {
    if (!sets.canAdd(set, type))
      continue;
    // value(end) + work(end) for each type of the stage behind, and the least
    // of them.
    unsigned first = n, last = n;
    std::vector<double> least;
    if (behind) {
      first = n + 1;
      last = 0;
      for (unsigned next = 0; next < types; ++next) {
        const double *value =
            &behind->value[size_t(type * types + next) * (n + 1)];
        for (unsigned end = 1; end < n; ++end)
          if (value[end] < infinity) {
            first = std::min(first, end);
            last = std::max(last, end);
          }
      }
      if (first > last)
        continue;
      least.assign(last - first + 1, infinity);
      for (unsigned next = 0; next < types; ++next) {
        const double *value =
            &behind->value[size_t(type * types + next) * (n + 1)];
        std::vector<double> sums(last - first + 1);
        for (unsigned end = first; end <= last; ++end) {
          sums[end - first] = value[end] + costs.work[type][end];
          least[end - first] = std::min(least[end - first], sums[end - first]);
        }
        if (costs.anyCorrection)
          minima[next].build(std::move(sums), first, last);
      }
    } else {
      least.assign(1, costs.work[type][n]);
    }
    minimum.build(std::move(least), first, last);

    const unsigned newSet = sets.add(set, type);
    const bool complete = exactStages == 0 || sets.total(newSet) == exactStages;
    ArrayRef<unsigned> ends = reach(type, costs.tracksInFlight ? inFlight : 1);
    // Which devices are left for the prefix: those not in newSet, within the
    // limit of stages.
    unsigned rest = 0;
    for (unsigned other = 0; other < types; ++other)
      rest += (sets.count(sets.all(), other) - sets.count(newSet, other)) *
              (sets.add(0, other)); // strides: sets are sums of them
    unsigned furthest = std::min(n - 1, cover[rest]);
    if (!sets.total(rest) || sets.total(newSet) == maxStages)
      furthest = 0;
    Layer *target = nullptr; // most messages lead to one layer
    for (unsigned begin = std::min(furthest, last - 1) + 1; begin-- > 0;) {
      if (ends[begin] < first)
        break; // so do all that begin before
      if (begin != 0 && !costs.cutAllowed[begin])
        continue;
      ArrayRef<Segment> segments = costs.segmentsOf(begin);
      for (size_t index = 0; index < segments.size(); ++index) {
        const Segment &segment = segments[index];
        unsigned to =
            index + 1 < segments.size() ? segments[index + 1].begin - 1 : n;
        to = std::min(to, ends[begin]);
        if (segment.begin > to)
          break;
        steps += types;
        double value;
        if (behind && segment.relaxed) {
          value = infinity;
          for (unsigned next = 0; next < types; ++next)
            value =
                std::min(value, minima[next].query(segment.begin, to) +
                                    costs.messageFactor *
                                        costs.correction(segment, type, next));
        } else {
          value = minimum.query(segment.begin, to);
        }
        if (value == infinity)
          continue;
        value -= costs.work[type][begin];
        if (begin == 0) {
          if (complete && value < leastSum) {
            leastSum = value;
            bestSet = newSet;
            bestInFlight = inFlight;
            bestType = type;
          }
          continue;
        }
        value += cutPenalty(begin);
        for (unsigned before = 0; before < types; ++before) {
          if (sets.count(rest, before) == 0)
            continue;
          double total = value + costs.messageFactor *
                                     costs.received(segment, before, type);
          unsigned next = nextInFlight(
              inFlight, costs.surelyReceived(segment, before, type));
          if (!target || target->inFlight != next)
            target = &layer(newSet, next);
          double &slot =
              target->value[size_t(before * types + type) * (n + 1) + begin];
          slot = std::min(slot, total);
        }
      }
    }
  }
}

/// Finds a stage that gives `value` and goes on behind it. The same sums in the
/// same order, so equality is exact.
bool SliceTable::retrace(unsigned set, unsigned inFlight, unsigned before,
                         unsigned first, unsigned begin, double value,
                         Slices &slices) const {
  const unsigned n = costs.nodeCount, types = costs.typeCount;
  slices.types.push_back(first);
  const unsigned rest = sets.remove(set, first);
  auto finish = [&](double sum, const Segment &segment) {
    double total = sum - costs.work[first][begin];
    if (begin == 0)
      return total;
    total += cutPenalty(begin);
    return total + costs.messageFactor * costs.received(segment, before, first);
  };
  auto givesInFlight = [&](unsigned own, const Segment &segment) {
    return begin == 0
               ? own == inFlight
               : nextInFlight(own, costs.surelyReceived(segment, before,
                                                        first)) == inFlight;
  };
  ArrayRef<Segment> segments = costs.segmentsOf(begin);
  if (rest == 0) {
    if (reach(first, 1)[begin] == n && givesInFlight(1, segments.back()) &&
        finish(costs.work[first][n], segments.back()) == value) {
      slices.ends.push_back(n);
      return true;
    }
    slices.types.pop_back();
    return false;
  }
  for (const auto &behind : layersOf[rest]) {
    unsigned furthest =
        reach(first, costs.tracksInFlight ? behind->inFlight : 1)[begin];
    size_t index = 0;
    for (unsigned end = begin + 1; end <= std::min(furthest, n - 1); ++end) {
      while (index + 1 < segments.size() && segments[index + 1].begin <= end)
        ++index;
      const Segment &segment = segments[index];
      if (!givesInFlight(behind->inFlight, segment))
        continue;
      for (unsigned next = 0; next < types; ++next) {
        double tail =
            behind->value[size_t(first * types + next) * (n + 1) + end];
        double sum = tail + costs.work[first][end];
        if (segment.relaxed)
          sum += costs.messageFactor * costs.correction(segment, first, next);
        if (sum == infinity || finish(sum, segment) != value)
          continue;
        slices.ends.push_back(end);
        if (retrace(rest, behind->inFlight, first, next, end, tail, slices))
          return true;
        slices.ends.pop_back();
      }
    }
  }
  slices.types.pop_back();
  return false;
}

Slices SliceTable::best() const {
  Slices slices;
  // At begin 0 `inFlight` is that of the first stage itself.
  retrace(bestSet, bestInFlight, 0, bestType, 0, leastSum, slices);
  return slices;
}

double SliceTable::remaining(unsigned available, unsigned inFlight,
                             unsigned type, unsigned next, unsigned cut) const {
  const unsigned n = costs.nodeCount, types = costs.typeCount;
  auto [found, isNew] = remainders.try_emplace({available, inFlight});
  std::vector<double> &least = found->second;
  if (isNew) {
    least.assign(size_t(types) * types * (n + 1), infinity);
    steps += least.size() * sets.size() / 16;
    for (unsigned set = 1; set < sets.size(); ++set) {
      unsigned stages =
          sets.total(sets.all()) - sets.total(available) + sets.total(set);
      if (layersOf[set].empty() || !sets.contains(available, set) ||
          stages > maxStages || (exactStages != 0 && stages != exactStages))
        continue;
      for (const auto &layer : layersOf[set])
        if (layer->inFlight <= inFlight)
          for (size_t index = 0; index < least.size(); ++index)
            least[index] = std::min(least[index], layer->value[index]);
    }
  }
  return least[size_t(type * types + next) * (n + 1) + cut];
}

} // namespace hethub::planner

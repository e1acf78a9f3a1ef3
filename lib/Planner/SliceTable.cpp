// Values are filled level by level: suffixes of one stage, of two, ... A stage
// [begin, end) in front of a suffix costs work(end) - work(begin) + messages,
// so that the best end is a range minimum of value(end) + work(end) over each
// segment.
#include "SliceTable.h"

#include "RangeMinimum.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

DeviceSets::DeviceSets(ArrayRef<unsigned> counts, unsigned stageLimit)
    : sizes(1), stageStride(0), stageLimit(stageLimit) {
  for (unsigned count : counts) {
    strides.push_back(sizes);
    radices.push_back(count + 1);
    sizes *= count + 1;
  }
  if (stageLimit > 0) {
    stageStride = sizes;
    sizes *= stageLimit + 1;
  }
}

bool DeviceSets::contains(unsigned set, unsigned subset) const {
  for (unsigned type = 0; type < radices.size(); ++type)
    if (count(subset, type) > count(set, type))
      return false;
  return stages(subset) <= stages(set);
}

SliceTable::SliceTable(const SliceCosts &costs, const DeviceSets &sets,
                       unsigned exactStages, double cutPenalty)
    : costs(costs), sets(sets), exactStages(exactStages), penalty(cutPenalty),
      all(costs.choices()) {}

ArrayRef<unsigned> SliceTable::reach(unsigned index, unsigned onReplica) const {
  auto [found, isNew] = reaches.try_emplace({index, onReplica});
  std::vector<unsigned> &ends = found->second;
  if (!isNew)
    return ends;
  const Choice &choice = all[index];
  const unsigned n = costs.nodeCount;
  const double limit = costs.memoryLimits[choice.type];
  ends.assign(n + 1, 0);
  unsigned end = 0;
  for (unsigned begin = 0; begin < n; ++begin) {
    end = std::max(end, begin);
    const unsigned most = costs.firstUnsupported[choice.type][begin];
    auto fits = [&](unsigned end) {
      return costs.steady(choice, begin, end) <= bound &&
             costs.memory(choice.kind, begin, end, onReplica) <= limit;
    };
    // What a stage with recomputation keeps may grow when it begins later.
    while (costs.kinds[choice.kind].recompute && end > begin && !fits(end))
      --end;
    while (end < most && fits(end + 1))
      ++end;
    ends[begin] = end;
  }
  ends[n] = n;
  return ends;
}

unsigned SliceTable::hop(double received) const {
  const unsigned microbatches = costs.options.microbatches;
  if (!costs.tracksInFlight || !(bound > 0))
    return 0;
  double more = std::ceil(2 * received * (microbatches - 1.0) / bound);
  return unsigned(std::min<double>(more, microbatches));
}

unsigned SliceTable::nextAhead(const Choice &choice, unsigned ahead,
                               double received) const {
  if (!costs.tracksInFlight)
    return 0;
  unsigned inFlight = choice.replicas * costs.onReplica(choice, ahead);
  return std::min(inFlight + hop(received), costs.options.microbatches);
}

SliceTable::Layer &SliceTable::layer(unsigned set, unsigned ahead) {
  for (auto &known : layersOf[set])
    if (known->ahead == ahead)
      return *known;
  auto created = std::make_unique<Layer>();
  created->set = set;
  created->ahead = ahead;
  created->value.assign(size_t(costs.typeCount) * costs.typeCount *
                            (costs.nodeCount + 1),
                        infinity);
  layersOf[set].push_back(std::move(created));
  return *layersOf[set].back();
}

double SliceTable::fill(double newBound, uint64_t workLimit) {
  const unsigned n = costs.nodeCount;
  bound = newBound;
  leastSum = infinity;
  stopped = false;
  reaches.clear();
  remainders.clear();
  layersOf.clear();
  layersOf.resize(sets.size());

  // How far a prefix could get bounds where the suffixes that matter begin.
  // Sets grow with their number.
  cover.assign(sets.size(), 0);
  for (unsigned set = 0; set < sets.size(); ++set)
    for (unsigned index = 0; index < all.size(); ++index)
      if (sets.has(set, all[index])) {
        unsigned rest = cover[sets.remove(set, all[index])];
        cover[set] =
            std::max(cover[set], rest == n ? n : reach(index, 1)[rest]);
      }
  steps += uint64_t(sets.size()) * all.size();
  if (cover[sets.all()] < n)
    return infinity;

  expand(nullptr);
  // A set's layers are complete when all smaller numbers are done: adding a
  // device makes the number larger.
  for (unsigned set = 1; set < sets.size(); ++set)
    for (size_t index = 0; index < layersOf[set].size(); ++index) {
      if (steps >= workLimit) {
        stopped = true;
        return infinity;
      }
      expand(layersOf[set][index].get());
    }
  return leastSum;
}

void SliceTable::expand(const Layer *behind) {
  const unsigned n = costs.nodeCount, types = costs.typeCount;
  const unsigned set = behind ? behind->set : 0,
                 ahead = behind ? behind->ahead : 0;
  std::vector<RangeMinimum> minima(types);
  RangeMinimum minimum;
  unsigned built = ~0u, first = n, last = n; // `minimum` is that of this kind
  for (unsigned index = 0; index < all.size(); ++index) {
    const Choice &choice = all[index];
    const unsigned type = choice.type, kind = choice.kind;
    if (!sets.canAdd(set, choice))
      continue;
    if (built != kind) {
      built = kind;
      // value(end) + work(end) for each type of the stage behind, and the least
      // of them.
      first = last = n;
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
        steps += uint64_t(types) * n / 4;
        if (first <= last)
          least.assign(last - first + 1, infinity);
        for (unsigned next = 0; next < types && first <= last; ++next) {
          const double *value =
              &behind->value[size_t(type * types + next) * (n + 1)];
          std::vector<double> sums(last - first + 1);
          for (unsigned end = first; end <= last; ++end) {
            sums[end - first] = value[end] + costs.work[kind][end];
            least[end - first] =
                std::min(least[end - first], sums[end - first]);
          }
          if (costs.anyCorrection)
            minima[next].build(std::move(sums), first, last);
        }
      } else {
        least.assign(1, costs.work[kind][n]);
      }
      if (first <= last)
        minimum.build(std::move(least), first, last);
    }
    if (first > last)
      continue;

    const unsigned newSet = sets.add(set, choice);
    const bool complete =
        exactStages == 0 || sets.stages(newSet) == exactStages;
    ArrayRef<unsigned> ends = reach(index, costs.onReplica(choice, ahead));
    // What the devices that are left could compute in front.
    const unsigned rest = sets.all() - newSet;
    const unsigned furthest = std::min(n - 1, cover[rest]);
    Layer *target = nullptr; // most messages lead to one layer
    for (unsigned begin = std::min(furthest, last - 1) + 1; begin-- > 0;) {
      if (ends[begin] < first) {
        if (costs.kinds[kind].recompute)
          continue;
        break; // so do all that begin before
      }
      if (begin != 0 && !costs.cutAllowed[begin])
        continue;
      ArrayRef<Segment> segments = costs.segmentsOf(begin);
      for (size_t place = 0; place < segments.size(); ++place) {
        const Segment &segment = segments[place];
        unsigned to =
            place + 1 < segments.size() ? segments[place + 1].begin - 1 : n;
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
        value -= costs.work[kind][begin];
        if (begin == 0) {
          if (complete && value < leastSum) {
            leastSum = value;
            bestSet = newSet;
            bestAhead = ahead;
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
          unsigned next = nextAhead(
              choice, ahead, costs.surelyReceived(segment, before, type));
          if (!target || target->ahead != next)
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
bool SliceTable::retrace(unsigned set, unsigned ahead, unsigned before,
                         unsigned first, unsigned begin, double value,
                         Slices &slices) const {
  for (unsigned index = 0; index < all.size(); ++index)
    if (all[index].type == first && sets.has(set, all[index]) &&
        retraceAs(all[index], index, sets.remove(set, all[index]), ahead,
                  before, begin, value, slices))
      return true;
  return false;
}

bool SliceTable::retraceAs(const Choice &choice, unsigned index, unsigned rest,
                           unsigned ahead, unsigned before, unsigned begin,
                           double value, Slices &slices) const {
  const unsigned n = costs.nodeCount, types = costs.typeCount,
                 type = choice.type;
  const std::vector<double> &work = costs.work[choice.kind];
  slices.choices.push_back(choice);
  auto finish = [&](double sum, const Segment &segment) {
    double total = sum - work[begin];
    if (begin == 0)
      return total;
    total += cutPenalty(begin);
    return total + costs.messageFactor * costs.received(segment, before, type);
  };
  auto givesAhead = [&](unsigned own, const Segment &segment) {
    return begin == 0
               ? own == ahead
               : nextAhead(choice, own,
                           costs.surelyReceived(segment, before, type)) ==
                     ahead;
  };
  ArrayRef<Segment> segments = costs.segmentsOf(begin);
  if (rest == 0) {
    if (reach(index, costs.onReplica(choice, 0))[begin] == n &&
        givesAhead(0, segments.back()) &&
        finish(work[n], segments.back()) == value) {
      slices.ends.push_back(n);
      return true;
    }
    slices.choices.pop_back();
    return false;
  }
  for (const auto &behind : layersOf[rest]) {
    unsigned furthest =
        reach(index, costs.onReplica(choice, behind->ahead))[begin];
    size_t place = 0;
    for (unsigned end = begin + 1; end <= std::min(furthest, n - 1); ++end) {
      while (place + 1 < segments.size() && segments[place + 1].begin <= end)
        ++place;
      const Segment &segment = segments[place];
      if (!givesAhead(behind->ahead, segment))
        continue;
      for (unsigned next = 0; next < types; ++next) {
        double tail =
            behind->value[size_t(type * types + next) * (n + 1) + end];
        double sum = tail + work[end];
        if (segment.relaxed)
          sum += costs.messageFactor * costs.correction(segment, type, next);
        if (sum == infinity || finish(sum, segment) != value)
          continue;
        slices.ends.push_back(end);
        if (retrace(rest, behind->ahead, type, next, end, tail, slices))
          return true;
        slices.ends.pop_back();
      }
    }
  }
  slices.choices.pop_back();
  return false;
}

Slices SliceTable::best() const {
  Slices slices;
  // At begin 0 `bestAhead` is what is in flight behind the first stage.
  retrace(bestSet, bestAhead, 0, bestType, 0, leastSum, slices);
  return slices;
}

double SliceTable::remaining(unsigned available, unsigned ahead, unsigned type,
                             unsigned next, unsigned cut) const {
  const unsigned n = costs.nodeCount, types = costs.typeCount;
  auto [found, isNew] = remainders.try_emplace({available, ahead});
  std::vector<double> &least = found->second;
  if (isNew) {
    least.assign(size_t(types) * types * (n + 1), infinity);
    steps += least.size() * sets.size() / 16;
    for (unsigned set = 1; set < sets.size(); ++set) {
      unsigned stages =
          sets.stages(sets.all()) - sets.stages(available) + sets.stages(set);
      if (layersOf[set].empty() || !sets.contains(available, set) ||
          (exactStages != 0 && stages != exactStages))
        continue;
      for (const auto &layer : layersOf[set])
        if (layer->ahead <= ahead)
          for (size_t index = 0; index < least.size(); ++index)
            least[index] = std::min(least[index], layer->value[index]);
    }
  }
  return least[size_t(type * types + next) * (n + 1) + cut];
}

} // namespace hethub::planner

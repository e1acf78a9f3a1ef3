// A dynamic program from the last stage backwards, for a few bounds on the
// steady seconds.
#include "CutSearch.h"

#include "RangeMinimum.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

class CutSearch {
public:
  CutSearch(const SliceCosts &costs, ArrayRef<Choice> choices,
            ArrayRef<unsigned> onReplica, uint64_t &steps)
      : costs(costs), choices(choices), onReplica(onReplica),
        stages(choices.size()), steps(steps) {}

  /// Whether the stages cover the graph under this bound: each as far as it
  /// goes.
  bool cover(double newBound);
  /// About the least bound between the two, where `high` is one.
  double leastBound(double low, double high);
  /// Cuts with the least sum under the bound of `cover`.
  std::optional<Slices> best();

private:
  bool fits(unsigned stage, unsigned begin, unsigned end) {
    ++steps;
    const Choice &choice = choices[stage];
    return end <= costs.firstUnsupported[choice.type][begin] &&
           costs.steady(choice, begin, end) <= bound &&
           costs.memory(choice.kind, begin, end, onReplica[stage]) <=
               costs.memoryLimits[choice.type];
  }

  const SliceCosts &costs;
  ArrayRef<Choice> choices;
  ArrayRef<unsigned> onReplica;
  const unsigned stages;
  uint64_t &steps;
  double bound = 0;
  std::vector<unsigned> furthest; ///< ends, by stage
};

} // namespace

bool CutSearch::cover(double newBound) {
  bound = newBound;
  furthest.assign(stages, 0);
  unsigned begin = 0;
  for (unsigned stage = 0; stage < stages; ++stage) {
    unsigned low = begin, high = costs.nodeCount; // fits up to low
    while (low < high) {
      unsigned middle = (low + high + 1) / 2;
      if (fits(stage, begin, middle))
        low = middle;
      else
        high = middle - 1;
    }
    while (low > begin && low < costs.nodeCount && !costs.cutAllowed[low])
      --low;
    if (low == begin && low < costs.nodeCount)
      return false;
    furthest[stage] = begin = low;
    if (low == costs.nodeCount)
      std::fill(furthest.begin() + stage, furthest.end(), low);
    if (low == costs.nodeCount)
      return true;
  }
  return false;
}

double CutSearch::leastBound(double low, double high) {
  while (high - low > 1e-4 * high) {
    double middle = (low + high) / 2;
    (cover(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<Slices> CutSearch::best() {
  const unsigned n = costs.nodeCount;
  // values[i][b]: least sum of stages i and after that begin at b.
  std::vector<std::vector<double>> values(stages + 1);
  std::vector<std::vector<unsigned>> ends(stages);
  values[stages].assign(n + 1, infinity);
  values[stages][n] = 0;
  unsigned first = n, last = n; // where values of the next stage are finite
  for (unsigned stage = stages; stage-- > 0;) {
    const Choice &choice = choices[stage];
    const std::vector<double> &work = costs.work[choice.kind];
    std::vector<double> sums;
    for (unsigned end = first; end <= last; ++end)
      sums.push_back(values[stage + 1][end] + work[end]);
    RangeMinimum minimum;
    minimum.build(std::move(sums), first, last);
    values[stage].assign(n + 1, infinity);
    ends[stage].assign(n + 1, 0);
    const unsigned from = stage == 0 ? 0 : furthest[stage - 1];
    unsigned newFirst = n, newLast = 0;
    unsigned reach = last;
    for (unsigned begin = std::min(from, last - 1) + 1; begin-- > 0;) {
      if (stage == 0 ? begin > 0 : begin == 0 || !costs.cutAllowed[begin])
        continue;
      while (reach > begin && !fits(stage, begin, reach))
        --reach;
      if (reach < first)
        break;
      ArrayRef<Segment> segments = costs.segmentsOf(begin);
      double least = infinity;
      for (size_t place = 0; place < segments.size(); ++place) {
        unsigned to =
            place + 1 < segments.size() ? segments[place + 1].begin - 1 : n;
        to = std::min(to, reach);
        if (segments[place].begin > to)
          break;
        steps += 2;
        double value = minimum.query(segments[place].begin, to);
        if (stage > 0)
          value += costs.messageFactor * costs.received(segments[place],
                                                        choices[stage - 1].type,
                                                        choice.type);
        if (value < least) {
          least = value;
          // Found again only for the path that is taken.
          ends[stage][begin] = unsigned(place);
        }
      }
      if (least == infinity)
        continue;
      values[stage][begin] = least - work[begin];
      newFirst = std::min(newFirst, begin);
      newLast = std::max(newLast, begin);
    }
    if (newFirst > newLast)
      return std::nullopt;
    first = newFirst;
    last = newLast;
  }

  Slices slices;
  unsigned begin = 0;
  for (unsigned stage = 0; stage < stages; ++stage) {
    const std::vector<double> &work = costs.work[choices[stage].kind];
    ArrayRef<Segment> segments = costs.segmentsOf(begin);
    unsigned place = ends[stage][begin];
    unsigned to =
        place + 1 < segments.size() ? segments[place + 1].begin - 1 : n;
    unsigned chosen = 0;
    double least = infinity;
    for (unsigned end = segments[place].begin; end <= to; ++end)
      if (double value = values[stage + 1][end] + work[end];
          value < least && fits(stage, begin, end)) {
        least = value;
        chosen = end;
      }
    if (chosen == 0)
      return std::nullopt;
    slices.choices.push_back(choices[stage]);
    slices.ends.push_back(chosen);
    begin = chosen;
  }
  return slices;
}

std::optional<Slices> improveCuts(const SliceCosts &costs, const Slices &slices,
                                  uint64_t &steps) {
  std::vector<unsigned> onReplica, inFlight;
  double step = costs.stepSeconds(slices, onReplica);
  double steady = 0;
  unsigned begin = 0;
  for (size_t stage = 0; stage < slices.ends.size(); ++stage) {
    steady = std::max(
        steady, costs.steady(slices.choices[stage], begin, slices.ends[stage]));
    begin = slices.ends[stage];
  }
  CutSearch search(costs, slices.choices, onReplica, steps);
  double low = 0.9 * steady;
  double high = search.cover(low) ? low : search.leastBound(low, steady);
  std::optional<Slices> best;
  for (double factor : {1.0, 1.001, 1.004, 1.016})
    if (search.cover(high * factor))
      if (std::optional<Slices> other = search.best()) {
        double seconds = costs.stepSeconds(*other, inFlight);
        if (seconds < step) {
          step = seconds;
          best = std::move(other);
        }
      }
  return best;
}

std::vector<Slices> balancedCuts(const SliceCosts &costs,
                                 ArrayRef<Choice> choices,
                                 ArrayRef<unsigned> onReplica,
                                 uint64_t &steps) {
  CutSearch search(costs, choices, onReplica, steps);
  double all = 0;
  for (const Choice &choice : choices)
    all = std::max(all, costs.steady(choice, 0, costs.nodeCount));
  std::vector<Slices> found;
  if (!search.cover(all))
    return found;
  const double least = search.leastBound(0, all);
  for (double factor : {1.0, 1.004, 1.016, 1.064})
    if (search.cover(least * factor))
      if (std::optional<Slices> slices = search.best())
        found.push_back(std::move(*slices));
  return found;
}

} // namespace hethub::planner

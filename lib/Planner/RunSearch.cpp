// Stages are laid from the end of the graph to its begin, since what a stage
// keeps depends on the microbatches in flight behind it.
//
// Under a bound on the steady seconds of a stage it is best to lay each as far
// as it goes: what is left then is the shorter, and no harder in any part. So a
// run of one type is a table over the devices used, and the order of types one
// over the sets of types used.
#include "RunSearch.h"

#include "Bounds.h"
#include "CutSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

/// Stages at the end of the pipeline, last one first.
struct Suffix {
  unsigned begin;
  unsigned ahead = 0; ///< microbatches in flight behind a stage in front of it
  std::vector<Choice> choices;
  std::vector<unsigned> begins;
};

struct Candidate {
  double step; ///< closed form
  Slices slices;
};

/// Which kinds the stages of a plan may be: looking at all at once, the
/// narrowest and leanest win each step and the plan as a whole may lose.
struct Variant {
  unsigned width;                ///< 0: any
  std::optional<bool> recompute; ///< nullopt: any
};

/// A choice and how many units of devices it takes.
struct Option {
  Choice choice;
  unsigned units;
};

class RunSearch {
public:
  RunSearch(const SliceCosts &costs, unsigned wanted, uint64_t workLimit)
      : costs(costs), wanted(wanted), workLimit(workLimit) {
    findSupport();
  }

  std::vector<Slices> run();
  bool complete() const { return steps < workLimit; }
  uint64_t workDone() const { return steps; }

private:
  void findSupport();
  bool allows(const StageKind &kind) const;
  void chooseOptions(unsigned largestTable);
  bool cover(double bound);
  Suffix extend(const Suffix &behind, unsigned type);
  unsigned reachBack(const Choice &choice, unsigned end, unsigned ahead);
  unsigned hop(unsigned type, unsigned begin, unsigned end) const;
  bool keep(const Suffix &whole);
  bool keep(Slices slices);
  double leastWork() const;
  void scan(double least);
  double narrow(double low, double high, double tolerance);
  bool tryVariant(const Variant &next);

  const SliceCosts &costs;
  unsigned wanted;
  uint64_t workLimit, steps = 0;
  double bound = 0;
  Variant variant = {0, std::nullopt};
  std::vector<std::vector<unsigned>> supportedFrom; ///< by type, end
  std::vector<unsigned> nextCut; ///< first place at or after one to cut
  std::vector<std::vector<Option>> options; ///< by type
  std::vector<unsigned> units;              ///< by type
  std::vector<Candidate> best;
};

} // namespace

void RunSearch::findSupport() {
  const unsigned n = costs.nodeCount;
  supportedFrom.assign(costs.typeCount, std::vector<unsigned>(n + 1, 0));
  for (unsigned type = 0; type < costs.typeCount; ++type)
    for (unsigned end = 1; end <= n; ++end)
      supportedFrom[type][end] =
          costs.firstUnsupported[type][end - 1] == end - 1
              ? end
              : supportedFrom[type][end - 1];
  nextCut.assign(n + 1, n);
  for (unsigned place = n; place-- > 0;)
    nextCut[place] =
        place == 0 || costs.cutAllowed[place] ? place : nextCut[place + 1];
}

bool RunSearch::allows(const StageKind &kind) const {
  return (variant.width == 0 || kind.width == variant.width) &&
         (!variant.recompute || kind.recompute == *variant.recompute);
}

/// Devices are counted in units, so that the table of a run has at most
/// `largestTable` entries.
void RunSearch::chooseOptions(unsigned largestTable) {
  options.assign(costs.typeCount, {});
  units.assign(costs.typeCount, 0);
  const unsigned microbatches = costs.options.microbatches;
  for (unsigned type = 0; type < costs.typeCount; ++type) {
    const unsigned count = costs.deviceCounts[type];
    unsigned unit = 1;
    while (costs.options.replicas && count / unit > largestTable)
      ++unit;
    units[type] = count / unit;
    for (unsigned kind = 0; kind < costs.kinds.size(); ++kind) {
      const StageKind &of = costs.kinds[kind];
      if (of.type != type || !allows(of))
        continue;
      unsigned turns = 0;
      for (unsigned taken = 1; taken <= units[type]; ++taken) {
        unsigned replicas = taken * unit / of.width;
        if (replicas == 0)
          continue;
        replicas = std::min(replicas, costs.replicaLimit(type));
        unsigned now = (microbatches + replicas - 1) / replicas;
        // As many microbatches on the busiest replica as with fewer of them.
        if (now == turns)
          continue;
        turns = now;
        options[type].push_back(
            {{kind, replicas, type, replicas * of.width}, taken});
      }
    }
  }
}

/// Smallest begin of a slice up to `end` within bound and memory; `end` where
/// there is none.
unsigned RunSearch::reachBack(const Choice &choice, unsigned end,
                              unsigned ahead) {
  const double limit = costs.memoryLimits[choice.type];
  const unsigned onReplica =
      costs.onReplica(choice, costs.tracksInFlight ? ahead : 0);
  auto fits = [&](unsigned begin) {
    steps += 5;
    return costs.steady(choice, begin, end) <= bound &&
           costs.memory(choice.kind, begin, end, onReplica) <= limit;
  };
  unsigned low = supportedFrom[choice.type][end];
  if (low >= end || !fits(end - 1))
    return end;
  // Compute alone bounds it; mostly that is the answer.
  const std::vector<double> &work = costs.work[choice.kind];
  const unsigned turns =
      (costs.options.microbatches + choice.replicas - 1) / choice.replicas;
  if (turns > 1) {
    double most = bound / (turns - 1.0);
    low = unsigned(std::lower_bound(work.begin() + low, work.begin() + end,
                                    work[end] - most) -
                   work.begin());
  }
  unsigned high = end - 1; // fits
  low = std::min(low, high);
  if (!fits(low)) {
    while (high - low > 1) {
      unsigned middle = (low + high) / 2;
      (fits(middle) ? high : low) = middle;
    }
    low = high;
  }
  low = nextCut[low];
  // What a stage with recomputation keeps may grow when it begins later.
  for (unsigned tries = 0; low < end && !fits(low); ++tries)
    low = tries < 64 ? nextCut[low + 1] : end;
  return std::min(low, end);
}

/// More microbatches on their way into a slice.
unsigned RunSearch::hop(unsigned type, unsigned begin, unsigned end) const {
  if (!costs.tracksInFlight || begin == 0 || !(bound > 0))
    return 0;
  // The bound is reached by few plans exactly.
  double pace = 0.97 * bound / std::max(1.0, costs.options.microbatches - 1.0);
  double received = costs.receivedBy(type, type, begin, end);
  double more =
      received > 0 ? std::max(1.0, std::ceil(2 * received / pace)) : 0;
  return unsigned(std::min<double>(more, costs.options.microbatches));
}

/// All devices of one more type in front, as far as they go.
Suffix RunSearch::extend(const Suffix &behind, unsigned type) {
  struct Entry {
    unsigned begin, ahead = 0, from = 0, option = 0;
  };
  const unsigned most = units[type];
  std::vector<Entry> table(most + 1, Entry{~0u});
  table[0] = {behind.begin, behind.ahead};
  unsigned chosen = 0, end = most;
  for (unsigned used = 0; used < end; ++used) {
    const Entry current = table[used];
    if (current.begin == ~0u)
      continue;
    for (unsigned index = 0; index < options[type].size(); ++index) {
      const auto &[choice, taken] = options[type][index];
      if (used + taken > end)
        continue;
      Entry &target = table[used + taken];
      unsigned begin = reachBack(choice, current.begin, current.ahead);
      if (begin >= current.begin || begin > target.begin)
        continue;
      unsigned ahead =
          costs.tracksInFlight
              ? std::min(choice.replicas *
                                 costs.onReplica(choice, current.ahead) +
                             hop(type, begin, current.begin),
                         costs.options.microbatches)
              : 0;
      if (begin == target.begin && ahead >= target.ahead)
        continue;
      target = {begin, ahead, used, index};
      // More devices are of no use once all is covered.
      if (begin == 0)
        end = std::min(end, used + taken);
    }
  }
  for (unsigned used = 1; used <= end; ++used)
    if (table[used].begin < table[chosen].begin)
      chosen = used;
  Suffix result = behind;
  std::vector<unsigned> path;
  for (unsigned used = chosen; used > 0; used = table[used].from)
    path.push_back(used);
  for (unsigned used : llvm::reverse(path)) {
    result.choices.push_back(options[type][table[used].option].choice);
    result.begins.push_back(table[used].begin);
  }
  result.begin = table[chosen].begin;
  result.ahead = table[chosen].ahead;
  return result;
}

/// Whether some set of types covers the graph under the bound. Those that do
/// are kept.
bool RunSearch::cover(double newBound) {
  bound = newBound;
  bool any = false;
  std::vector<Suffix> furthest(size_t(1) << costs.typeCount,
                               Suffix{~0u, 0, {}, {}});
  furthest[0].begin = costs.nodeCount;
  for (unsigned set = 0; set < furthest.size(); ++set) {
    if (furthest[set].begin == ~0u)
      continue;
    if (furthest[set].begin == 0) {
      any |= keep(furthest[set]);
      continue;
    }
    for (unsigned type = 0; type < costs.typeCount; ++type) {
      if (set >> type & 1 || steps >= workLimit)
        continue;
      Suffix longer = extend(furthest[set], type);
      Suffix &target = furthest[set | 1u << type];
      if (longer.begin < target.begin)
        target = std::move(longer);
    }
  }
  return any;
}

bool RunSearch::keep(const Suffix &whole) {
  Slices slices;
  for (size_t index = whole.choices.size(); index-- > 0;) {
    slices.choices.push_back(whole.choices[index]);
    slices.ends.push_back(index == 0 ? costs.nodeCount
                                     : whole.begins[index - 1]);
  }
  return keep(std::move(slices));
}

/// False where it does not fit in memory.
bool RunSearch::keep(Slices slices) {
  std::vector<unsigned> onReplica;
  double step = costs.stepSeconds(slices, onReplica);
  steps += 10 * slices.ends.size();
  if (step == infinity)
    return false;
  auto place = llvm::find_if(
      best, [&](const Candidate &other) { return step < other.step; });
  for (const Candidate &other : best)
    if (other.slices.ends == slices.ends && other.step == step)
      return true;
  best.insert(place, {step, std::move(slices)});
  if (best.size() > 4 * wanted)
    best.pop_back();
  return true;
}

/// Of the kinds that are allowed.
double RunSearch::leastWork() const {
  double sum = 0;
  for (unsigned node = 0; node < costs.nodeCount; ++node) {
    double least = infinity;
    for (unsigned kind = 0; kind < costs.kinds.size(); ++kind)
      if (allows(costs.kinds[kind]))
        least = std::min(least, costs.fill(kind, node, node + 1));
    sum += least;
  }
  return sum;
}

/// Looser bounds may have a smaller sum: fewer slow devices.
void RunSearch::scan(double least) {
  const double sum = leastWork();
  double factor = 1.003;
  for (double next = least * factor;
       steps < workLimit && sum + next < best.front().step; next *= factor) {
    cover(next);
    factor = 1 + 2 * (factor - 1);
  }
}

/// The least bound with which the devices cover the graph, between one that is
/// too small and one that is not.
double RunSearch::narrow(double low, double high, double tolerance) {
  while (steps < workLimit && high - low > tolerance * high) {
    // Bounds from far apart are narrowed by ratio.
    double middle = low > 0 && high > 4 * low ? 2 * low : (low + high) / 2;
    (cover(middle) ? high : low) = middle;
  }
  return high;
}

/// Whether it gave a better plan.
bool RunSearch::tryVariant(const Variant &next) {
  variant = next;
  chooseOptions(64);
  const double before = best.empty() ? infinity : best.front().step;
  const double low = steadyBound(costs);
  double high = before;
  if (before == infinity) {
    if (!cover(infinity))
      return false;
    high = best.front().step;
  }
  // A plan that is better is also steady for less.
  high -= leastWork();
  if (high < low || !cover(high))
    return best.empty() ? false : best.front().step < before;
  scan(narrow(low * (1 - 1e-9), high, 1e-3));
  return best.front().step < before;
}

std::vector<Slices> RunSearch::run() {
  std::vector<unsigned> widths;
  bool recompute = false;
  for (const StageKind &kind : costs.kinds) {
    if (!llvm::is_contained(widths, kind.width))
      widths.push_back(kind.width);
    recompute |= kind.recompute;
  }
  if (widths.size() > 1)
    widths.insert(widths.begin(), 0);
  // The widest choice first: others then need to beat it, which is quickly
  // seen.
  Variant winner = variant;
  for (unsigned width : widths)
    for (std::optional<bool> again :
         {std::optional<bool>(), std::optional<bool>(false),
          std::optional<bool>(true)}) {
      if (!recompute && again != std::optional<bool>(false))
        continue;
      if (steps < workLimit && tryVariant({width, again}))
        winner = variant;
    }
  if (best.empty())
    return {};

  // Finer tables for the best of them.
  variant = winner;
  const double sum = leastWork();
  for (unsigned largest : {256u, 1024u}) {
    unsigned before = *std::max_element(units.begin(), units.end());
    chooseOptions(largest);
    if (steps >= workLimit / 2 ||
        *std::max_element(units.begin(), units.end()) <= before)
      break;
    double high = best.front().step - sum;
    if (cover(high))
      scan(narrow(0.97 * high, high, 2e-4));
  }

  // The same stages with better cuts.
  std::vector<Candidate> covers = best;
  for (size_t index = 0; index < covers.size() && index < wanted; ++index)
    if (std::optional<Slices> better =
            improveCuts(costs, covers[index].slices, steps))
      keep(std::move(*better));

  std::vector<Slices> plans;
  for (Candidate &candidate : best)
    if (plans.size() < wanted)
      plans.push_back(std::move(candidate.slices));
  return plans;
}

std::vector<Slices> searchRuns(const SliceCosts &costs, unsigned wanted,
                               uint64_t workLimit, bool &complete,
                               uint64_t &steps) {
  // Even without time there is one attempt.
  constexpr uint64_t least = 5'000'000;
  RunSearch search(costs, wanted, std::max(workLimit, least));
  std::vector<Slices> plans = search.run();
  complete = search.complete();
  steps += search.workDone();
  return plans;
}

} // namespace hethub::planner

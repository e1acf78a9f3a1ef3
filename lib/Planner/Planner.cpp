// findPlan: the search over the steady seconds of the busiest stage.
//
// Step time = sum + largest steady seconds. For a bound on the latter the slice
// table gives the least sum; it falls as the bound grows. So the least sum at
// the upper end of an interval of bounds, with its lower end, bounds all plans
// of the interval from below. Intervals are split until none
// can hold a better plan than the best one found.
#include "hethub/Planner/Planner.h"

#include "Bounds.h"
#include "CutSearch.h"
#include "ExactSearch.h"
#include "ExplainMemory.h"
#include "FindPlan.h"
#include "Interleave.h"
#include "OrderSearch.h"
#include "RunSearch.h"
#include "hethub/Planner/SimulatePlan.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <queue>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

/// Steady seconds in (low, high]; plans with them have at least `sum`.
struct Interval {
  double low, high, sum;
  double estimate; // of the objective
  bool operator<(const Interval &other) const {
    return estimate > other.estimate;
  }
};

class Search {
public:
  Search(const SliceCosts &costs, const cluster::Cluster &cluster,
         const DeviceSets &sets, unsigned exactStages)
      : costs(costs), sets(sets), exactStages(exactStages),
        lowest(steadyBound(costs)),
        // Ties only: cuts that split a scope lose against equally good ones
        // that do not, more stages against fewer.
        table(costs, sets, exactStages, 1e-10 * (costs.leastWork() + lowest)),
        incumbent(costs, table, cluster) {}

  /// A plan that is known.
  void consider(const Slices &slices) { incumbent.consider(slices); }
  /// Finds the best plan, or with `any` one that fits. False: none was found.
  bool run(bool any = false);
  bool complete() const { return !cutShort; }
  uint64_t workDone() const { return table.workDone(); }
  const Slices &slices() const { return incumbent.slices; }
  /// No contiguous plan has a smaller objective.
  double provenBound() const { return proven; }

private:
  double largestAtMost(double value) const;
  double smallestAbove(double value) const;
  void split(const Interval &interval);
  void push(double low, double high, double sum);

  const SliceCosts &costs;
  const DeviceSets &sets;
  unsigned exactStages;
  double lowest;
  SliceTable table;
  Incumbent incumbent;
  double proven = infinity;
  bool cutShort = false;
  double floor = stepBound(costs);
  uint64_t workLimit = costs.options.workLimit;
  std::priority_queue<Interval> intervals;
};

} // namespace

/// Largest steady seconds of any slice that are at most `value`.
double Search::largestAtMost(double value) const {
  double largest = -infinity;
  for (const Choice &choice : table.choices()) {
    unsigned end = 0;
    for (unsigned begin = 0; begin < costs.nodeCount; ++begin) {
      end = std::max(end, begin);
      while (end < costs.nodeCount &&
             costs.steady(choice, begin, end + 1) <= value)
        ++end;
      if (end > begin)
        largest = std::max(largest, costs.steady(choice, begin, end));
    }
  }
  return largest;
}

double Search::smallestAbove(double value) const {
  double smallest = infinity;
  for (const Choice &choice : table.choices()) {
    unsigned end = 0;
    for (unsigned begin = 0; begin < costs.nodeCount; ++begin) {
      end = std::max(end, begin + 1);
      while (end < costs.nodeCount && costs.steady(choice, begin, end) <= value)
        ++end;
      double seconds = costs.steady(choice, begin, end);
      if (seconds > value)
        smallest = std::min(smallest, seconds);
    }
  }
  return smallest;
}

void Search::push(double low, double high, double sum) {
  double estimate = sum + std::max(low, 0.0);
  if (low < high && sum < infinity && estimate < incumbent.threshold())
    intervals.push({low, high, sum, estimate});
}

void Search::split(const Interval &interval) {
  // Above this nothing can be better than the incumbent.
  double high = largestAtMost(
      std::min(interval.high, incumbent.threshold() - interval.sum));
  double first = smallestAbove(interval.low);
  if (high < first)
    return;
  double bound;
  if (first == high)
    bound = high;
  else if (incumbent.objective == infinity)
    bound = std::max(
        first, largestAtMost(std::min(high, std::max(first, lowest) * 1.05 +
                                                (first - lowest) * 0.5)));
  else
    bound = std::max(first, largestAtMost((first + high) / 2));

  double sum = table.fill(bound, workLimit);
  if (table.interrupted()) {
    intervals.push(interval);
    return;
  }
  if (sum < infinity) {
    Slices slices = table.best();
    bool fits = incumbent.consider(slices);
    double steady = 0;
    for (size_t stage = 0; stage < slices.ends.size(); ++stage)
      steady = std::max(steady, costs.steady(slices.choices[stage],
                                             stage ? slices.ends[stage - 1] : 0,
                                             slices.ends[stage]));
    // What the table promised for this plan; if the truth is worse, the table
    // alone cannot close the interval.
    if (incumbent.objective <= floor * (1 + 1e-9))
      return;
    bool loose = !fits || incumbent.threshold() > sum + steady;
    double estimate = sum + first;
    if (estimate < incumbent.threshold() && loose &&
        bound - first <= 1e-3 * bound) {
      proven =
          std::min(proven, searchExactly(costs, sets, table, first, exactStages,
                                         workLimit, incumbent));
    } else if (first < bound) {
      // `first` itself may be the largest: intervals are open at their lower
      // end.
      double below = std::nextafter(first, -infinity);
      double middle = std::max(first, largestAtMost((first + bound) / 2));
      if (loose) {
        push(below, middle, sum);
        push(middle, bound, sum);
      } else {
        push(below, std::min(steady, std::nextafter(bound, -infinity)), sum);
      }
    }
  }
  push(bound, high, interval.sum);
}

bool Search::run(bool any) {
  push(std::nextafter(lowest * (1 - 1e-12), -infinity), infinity,
       costs.leastWork());
  while (!intervals.empty()) {
    Interval interval = intervals.top();
    intervals.pop();
    if (table.workDone() >= workLimit || table.interrupted()) {
      cutShort = true;
      proven =
          std::min(proven, interval.estimate); // the least of all that are left
      break;
    }
    // The plan found may meet a bound that holds for all.
    if (incumbent.objective <= floor * (1 + 1e-9) ||
        (any && incumbent.objective < infinity))
      break;
    if (interval.estimate < incumbent.threshold())
      split(interval);
  }
  proven = std::min(proven, incumbent.objective);
  return incumbent.objective < infinity;
}

static Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// Stages of a plan at most; 0: as many as there are devices or cuts.
static unsigned stageLimit(const SliceCosts &costs,
                           const cluster::Cluster &cluster) {
  const Options &options = costs.options;
  const unsigned cuts =
      std::count(costs.cutAllowed.begin() + 1, costs.cutAllowed.end() - 1, 1);
  if (options.exactStages == 0 &&
      options.maxStages < std::min(cluster.deviceCount(), cuts + 1))
    return options.maxStages;
  return options.exactStages;
}

/// Steps to fill the slice table once.
static double workOfTable(const SliceCosts &costs, unsigned stageLimit) {
  double sets = stageLimit + 1;
  for (unsigned count : costs.deviceCounts)
    sets *= count + 1;
  double states =
      sets * (costs.nodeCount + 1) * costs.typeCount * costs.typeCount;
  if (states > double(costs.options.stateLimit))
    return infinity;
  return sets * costs.nodeCount * costs.typeCount *
         double(costs.choices().size());
}

/// Step times of plans whose schedule tables decide which is the better one.
static constexpr double closeEnough = 1.01;

/// The plan whose schedule table is the shortest, among those whose closed form
/// is about as good as the first one's. `longest`: microbatches x stages of all
/// tables that may be run.
static Plan fastestTable(const SliceCosts &costs,
                         const cluster::Cluster &cluster,
                         ArrayRef<Slices> plans, uint64_t longest) {
  // Zero-bubble tables are the fastest of so many.
  const uint64_t tables =
      costs.options.schedule == simulator::ScheduleKind::ZeroBubble ? 16 : 1;
  uint64_t simulated = 0;
  std::optional<Plan> best;
  for (const Slices &slices : plans) {
    Plan plan = makePlan(costs, slices);
    costPlan(costs.graph, cluster, costs.options, plan);
    simulated += tables * plan.microbatches * plan.stages.size();
    if (best && (simulated > longest ||
                 plan.stepSeconds > closeEnough * best->stepSeconds))
      break;
    if (simulated <= longest)
      plan.simulatedSeconds =
          simulatePlan(costs.graph, cluster, plan).stepSeconds;
    if (!best || plan.simulatedSeconds < best->simulatedSeconds)
      best = std::move(plan);
  }
  return std::move(*best);
}

/// The plan, or a better one in another order; `used` steps are done.
static Plan improveOrder(const Graph &graph, const cluster::Cluster &cluster,
                         const Options &options, Plan plan, bool exact,
                         uint64_t used) {
  // Much longer than the given order took is not worth it.
  constexpr uint64_t least = 2'000'000, longest = 8;
  const uint64_t left = options.workLimit > used ? options.workLimit - used : 0;
  const uint64_t limit = std::min(left, std::max(least, longest * used));
  if (limit == 0 || plan.stepSeconds <= plan.lowerBoundSeconds * (1 + 1e-9))
    return plan;
  // What one order may take.
  Options ofOne = options;
  ofOne.workLimit = std::min(left, std::max(least, 2 * used));
  const bool cutsOnly = used > 2 * least;
  auto planOrder = [&](const SliceCosts &costs, const Slices &known,
                       uint64_t &steps) -> Slices {
    if (cutsOnly) {
      std::optional<Slices> better;
      if (!known.ends.empty())
        better = improveCuts(costs, known, steps);
      return better ? std::move(*better) : Slices();
    }
    if (!exact) {
      bool complete;
      std::vector<Slices> plans =
          searchRuns(costs, 1, ofOne.workLimit, complete, steps);
      return plans.empty() ? Slices() : std::move(plans.front());
    }
    DeviceSets sets(costs.deviceCounts, stageLimit(costs, cluster));
    Search search(costs, cluster, sets, options.exactStages);
    if (!known.ends.empty())
      search.consider(known);
    const bool found = search.run();
    steps += search.workDone();
    return found ? search.slices() : Slices();
  };
  std::optional<Plan> better =
      searchOrders(graph, cluster, ofOne, plan, limit, planOrder);
  if (!better)
    return plan;
  if (plan.simulatedSeconds > 0) {
    better->simulatedSeconds =
        simulatePlan(graph, cluster, *better).stepSeconds;
    if (closeEnough * better->stepSeconds > plan.stepSeconds &&
        better->simulatedSeconds > plan.simulatedSeconds)
      return plan;
  }
  return std::move(*better);
}

Expected<Plan> findPlan(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options) {
  return findPlan(graph, cluster, options, /*thorough=*/true);
}

Expected<Plan> findPlan(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options, bool thorough) {
  if (Error error = verifyGraph(graph, cluster.types.size()))
    return error;
  if (options.microbatches == 0)
    return fail("microbatches must be at least 1, got: 0");
  if (options.stagesPerDevice > 1)
    return findInterleaved(graph, cluster, options, thorough);
  SliceCosts costs(graph, cluster, options);
  unsigned devices = 0;
  for (unsigned type = 0; type < costs.typeCount; ++type)
    devices += cluster.types[type].count;
  unsigned cuts =
      std::count(costs.cutAllowed.begin() + 1, costs.cutAllowed.end() - 1, 1);
  if (options.exactStages > 0) {
    if (options.exactStages > graph.nodes.size())
      return fail("stages must be at most the number of operations (" +
                  Twine(graph.nodes.size()) +
                  "), got: " + Twine(options.exactStages));
    if (options.exactStages > devices)
      return fail("stages must be at most the number of devices (" +
                  Twine(devices) + "), got: " + Twine(options.exactStages));
    if (options.exactStages > cuts + 1)
      return fail("stages must be at most " + Twine(cuts + 1) +
                  ", since the model can be cut in no more places, got: " +
                  Twine(options.exactStages));
  }
  if (devices == 0)
    return fail("a cluster must have at least one device, got: none");

  const unsigned limit = stageLimit(costs, cluster);
  const double fillWork = workOfTable(costs, limit);
  const bool exact = fillWork <= 0.5 * double(options.workLimit);

  // Runs of types have as many stages as they need, not as many as are wanted.
  if (limit > 0 && !exact && options.replicas) {
    Options single = options;
    single.replicas = single.tensorParallel = false;
    Expected<Plan> plan = findPlan(graph, cluster, single, thorough);
    if (plan) {
      plan->lowerBoundSeconds = plan->orderBoundSeconds =
          std::min(stepBound(costs), plan->stepSeconds);
      plan->notes.push_back(
          "too many devices to look for replicas of a limited "
          "number of stages");
    }
    return plan;
  }

  // Small tables need no plan to begin with.
  std::vector<Slices> found;
  bool complete = true;
  uint64_t used = 0;
  if (limit == 0 && (!exact || fillWork > 1e6))
    found = searchRuns(costs, 8, options.workLimit / (exact ? 4 : 1), complete,
                       used);
  std::vector<std::string> notes;
  double proven = 0;
  if (exact) {
    DeviceSets sets(costs.deviceCounts, limit);
    Search search(costs, cluster, sets, options.exactStages);
    for (const Slices &slices : found)
      search.consider(slices);
    const bool any = search.run();
    used += search.workDone();
    if (any) {
      found.assign(1, search.slices());
      proven = search.provenBound();
    } else if (search.complete()) {
      if (!thorough)
        return fail("no plan fits in the devices' memory");
      return explainMemory(graph, cluster, options,
                           [&](const SliceCosts &roomier, uint64_t &steps,
                               bool &complete) -> Slices {
                             Search any(roomier, cluster, sets,
                                        options.exactStages);
                             const bool fits = any.run(/*any=*/true);
                             complete &= any.complete();
                             steps += any.workDone();
                             return fits ? any.slices() : Slices();
                           });
    }
    if (!search.complete())
      notes.push_back("the exact search was cut short: a better plan of this "
                      "order may exist");
  } else {
    notes.push_back("too many devices for the exact search: each device type "
                    "has one run of neighbouring stages");
    if (!complete)
      notes.push_back("the search was cut short by its limit");
  }
  // Without time there is one attempt, which says nothing of other limits.
  if (found.empty() && !exact && thorough && used < options.workLimit)
    return explainMemory(graph, cluster, options,
                         [&](const SliceCosts &roomier, uint64_t &steps,
                             bool &complete) -> Slices {
                           bool ended;
                           std::vector<Slices> plans =
                               searchRuns(roomier, 1, options.workLimit / 16,
                                          ended, steps);
                           complete = false; // of all plans
                           return plans.empty() ? Slices() : plans.front();
                         });
  if (found.empty())
    return failToFind();
  Plan plan = fastestTable(costs, cluster, found, thorough ? 300'000 : 0);
  plan.lowerBoundSeconds = std::min(stepBound(costs), plan.stepSeconds);
  const double lowerBound = plan.lowerBoundSeconds;
  if (options.anyOrder)
    plan = improveOrder(graph, cluster, options, std::move(plan), exact, used);
  plan.lowerBoundSeconds = std::min(lowerBound, plan.stepSeconds);
  plan.orderBoundSeconds =
      std::max(plan.lowerBoundSeconds, std::min(proven, plan.stepSeconds));
  if (!plan.optimalForOrder())
    plan.notes = std::move(notes);
  return plan;
}

double lowerBoundSeconds(const Graph &graph, const cluster::Cluster &cluster,
                         const Options &options) {
  return stepBound(SliceCosts(graph, cluster, options));
}

} // namespace hethub::planner

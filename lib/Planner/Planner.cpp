// findPlan: the search over the steady seconds of the busiest stage.
//
// Step time = sum + largest steady seconds. For a bound on the latter the slice
// table gives the least sum; it falls as the bound grows. So the least sum at
// the upper end of an interval of bounds, with its lower end, bounds all plans
// of the interval from below. Intervals are split until none
// can hold a better plan than the best one found.
#include "hethub/Planner/Planner.h"

#include "Bounds.h"
#include "ExactSearch.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

  /// Finds the best plan. False: none fits.
  bool run();
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

bool Search::run() {
  push(std::nextafter(lowest * (1 - 1e-12), -infinity), infinity,
       costs.leastWork());
  while (!intervals.empty()) {
    Interval interval = intervals.top();
    intervals.pop();
    if (table.workDone() >= workLimit) {
      proven =
          std::min(proven, interval.estimate); // the least of all that are left
      break;
    }
    // The plan found may meet a bound that holds for all.
    if (incumbent.objective <= floor * (1 + 1e-9))
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

static std::string describeBytes(double bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  double value = bytes;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  std::string text = std::to_string(int64_t(std::ceil(bytes))) + " bytes";
  if (unit > 0)
    text += formatv(" ({0:F1} {1})", value, units[unit]).str();
  return text;
}

/// Why nothing fits: the plan that needs the least addition to each device's
/// memory, and what its worst stage lacks.
static Error explainMemory(const Graph &graph, const cluster::Cluster &cluster,
                           const Options &options, const DeviceSets &sets) {
  auto attempt = [&](double addition, Plan &plan) {
    SliceCosts costs(graph, cluster, options);
    for (double &limit : costs.memoryLimits)
      limit += addition;
    SliceTable table(costs, sets, options.exactStages, 0);
    if (table.fill(infinity, UINT64_MAX) == infinity)
      return false;
    plan = makePlan(costs, table.best());
    return true;
  };
  Plan plan;
  double low = 0, high = 1;
  for (; !attempt(high, plan); high *= 2)
    if (high > 1e18)
      return fail("no plan exists: the order cannot be cut into " +
                  Twine(options.exactStages) +
                  " stages that the device types can run");
  for (unsigned round = 0;
       round < 30 && high - low > std::max(1.0, 1e-4 * high); ++round) {
    double middle = (low + high) / 2;
    (attempt(middle, plan) ? high : low) = middle;
  }
  attempt(high, plan);
  costPlan(graph, cluster, options, plan);
  unsigned worst = 0;
  double worstLack = -infinity;
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    const Stage &stage = plan.stages[index];
    double lack = stage.memoryLimit > 0
                      ? double(stage.memoryBytes) - double(stage.memoryLimit)
                      : -infinity;
    if (lack > worstLack) {
      worstLack = lack;
      worst = index;
    }
  }
  const Stage &stage = plan.stages[worst];
  return fail("the model must fit in the devices' memory, got: no plan does; "
              "in the best attempt (" +
              Twine(plan.stages.size()) + " stages) stage " + Twine(worst) +
              " ('" + graph.nodes[stage.nodes.front()].name + "' to '" +
              graph.nodes[stage.nodes.back()].name + "') on device type '" +
              cluster.types[stage.deviceType].name + "' needs " +
              describeBytes(double(stage.memoryBytes)) + " of " +
              describeBytes(double(stage.memoryLimit)) + " and lacks " +
              describeBytes(worstLack));
}

Expected<Plan> findPlan(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options) {
  if (Error error = verifyGraph(graph, cluster.types.size()))
    return error;
  if (options.microbatches == 0)
    return fail("microbatches must be at least 1, got: 0");
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

  unsigned limit = options.exactStages;
  if (limit == 0 && options.maxStages < std::min(devices, cuts + 1))
    limit = options.maxStages;
  DeviceSets sets(costs.deviceCounts, limit);

  Search search(costs, cluster, sets, options.exactStages);
  if (!search.run())
    return explainMemory(graph, cluster, options, sets);
  Plan plan = makePlan(costs, search.slices());
  costPlan(graph, cluster, options, plan);
  plan.lowerBoundSeconds = std::min(stepBound(costs), plan.stepSeconds);
  plan.orderBoundSeconds = std::max(
      plan.lowerBoundSeconds, std::min(search.provenBound(), plan.stepSeconds));
  if (!plan.optimalForOrder())
    plan.notes.push_back("the exact search was cut short: a better plan of "
                         "this order may exist");
  return plan;
}

double lowerBoundSeconds(const Graph &graph, const cluster::Cluster &cluster,
                         const Options &options) {
  return stepBound(SliceCosts(graph, cluster, options));
}

} // namespace hethub::planner

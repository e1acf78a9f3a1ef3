// findPlan: the search over the bottleneck.
//
// Step time = sum + (m - 1) x bottleneck. For a bound on the bottleneck the
// slice table gives the least sum; it falls as the bound grows. So the least
// sum at the upper end of an interval of bottlenecks, with its lower end,
// bounds all plans of the interval from below. Intervals are split until none
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

/// Bottlenecks in (low, high]; plans with them have at least `sum`.
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
         const DeviceSets &sets, unsigned maxStages, unsigned exactStages)
      : costs(costs), sets(sets), maxStages(maxStages),
        exactStages(exactStages), lowest(bottleneckBound(costs)),
        // Ties only: cuts that split a scope lose against equally good ones
        // that do not, more stages against fewer.
        table(costs, sets, maxStages, exactStages,
              1e-10 * (costs.leastWork() +
                       (costs.options.microbatches - 1.0) * lowest)),
        incumbent(costs, table, cluster) {}

  /// Finds the best plan. False: none fits.
  bool run();
  const Slices &slices() const { return incumbent.slices; }
  /// No contiguous plan has a smaller objective.
  double provenBound() const { return proven; }

private:
  double largestLoadAtMost(double value) const;
  double smallestLoadAbove(double value) const;
  void split(const Interval &interval);
  void push(double low, double high, double sum);

  const SliceCosts &costs;
  const DeviceSets &sets;
  unsigned maxStages, exactStages;
  double lowest;
  SliceTable table;
  Incumbent incumbent;
  double proven = infinity;
  double floor = stepBound(costs);
  uint64_t workLimit = costs.options.workLimit;
  double repeats = costs.options.microbatches - 1.0;
  std::priority_queue<Interval> intervals;
};

} // namespace

double Search::largestLoadAtMost(double value) const {
  double largest = -infinity;
  for (unsigned type = 0; type < costs.typeCount; ++type) {
    const std::vector<double> &work = costs.work[type];
    unsigned end = 0;
    for (unsigned begin = 0; begin < costs.nodeCount; ++begin) {
      end = std::max(end, begin);
      while (end < costs.nodeCount && work[end + 1] - work[begin] <= value)
        ++end;
      if (end > begin)
        largest = std::max(largest, work[end] - work[begin]);
    }
  }
  return largest;
}

double Search::smallestLoadAbove(double value) const {
  double smallest = infinity;
  for (unsigned type = 0; type < costs.typeCount; ++type) {
    const std::vector<double> &work = costs.work[type];
    unsigned end = 0;
    for (unsigned begin = 0; begin < costs.nodeCount; ++begin) {
      end = std::max(end, begin + 1);
      while (end < costs.nodeCount && work[end] - work[begin] <= value)
        ++end;
      if (work[end] - work[begin] > value)
        smallest = std::min(smallest, work[end] - work[begin]);
    }
  }
  return smallest;
}

void Search::push(double low, double high, double sum) {
  double estimate = sum + repeats * std::max(low, 0.0);
  if (low < high && sum < infinity && estimate < incumbent.threshold())
    intervals.push({low, high, sum, estimate});
}

void Search::split(const Interval &interval) {
  // Above this bottleneck nothing can be better than the incumbent.
  double high = interval.high;
  if (repeats > 0)
    high = std::min(high, (incumbent.threshold() - interval.sum) / repeats);
  high = largestLoadAtMost(high);
  double first = smallestLoadAbove(interval.low);
  if (high < first)
    return;
  double bound;
  if (repeats == 0 || first == high)
    bound = high;
  else if (incumbent.objective == infinity)
    bound = std::max(
        first, largestLoadAtMost(std::min(high, std::max(first, lowest) * 1.05 +
                                                    (first - lowest) * 0.5)));
  else
    bound = std::max(first, largestLoadAtMost((first + high) / 2));

  double sum = table.fill(bound);
  if (sum < infinity) {
    Slices slices = table.best();
    bool fits = incumbent.consider(slices);
    double bottleneck = 0;
    for (size_t stage = 0; stage < slices.ends.size(); ++stage)
      bottleneck =
          std::max(bottleneck, costs.load(slices.types[stage],
                                          stage ? slices.ends[stage - 1] : 0,
                                          slices.ends[stage]));
    // What the table promised for this plan; if the truth is worse, the table
    // alone cannot close the interval.
    if (incumbent.objective <= floor * (1 + 1e-9))
      return;
    bool loose = !fits || incumbent.threshold() > sum + repeats * bottleneck;
    double estimate = sum + repeats * first;
    if (estimate < incumbent.threshold() && loose &&
        (bound - first <= 1e-3 * bound || repeats == 0)) {
      proven = std::min(proven, searchExactly(costs, sets, table, bound, first,
                                              maxStages, exactStages, workLimit,
                                              incumbent));
    } else if (first < bound) {
      // `first` itself may be a bottleneck: intervals are open at their lower
      // end.
      double below = std::nextafter(first, -infinity);
      double middle = std::max(first, largestLoadAtMost((first + bound) / 2));
      if (loose) {
        push(below, middle, sum);
        push(middle, bound, sum);
      } else {
        push(below, std::min(bottleneck, std::nextafter(bound, -infinity)),
             sum);
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
    if (table.workDone() >= workLimit && incumbent.objective < infinity) {
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
                           const Options &options, const DeviceSets &sets,
                           unsigned maxStages) {
  auto attempt = [&](double addition, Plan &plan) {
    SliceCosts costs(graph, cluster, options);
    for (double &limit : costs.memoryLimits)
      limit += addition;
    SliceTable table(costs, sets, maxStages, options.exactStages, 0);
    double everything = 0;
    for (unsigned type = 0; type < costs.typeCount; ++type)
      everything = std::max(everything, costs.work[type][costs.nodeCount]);
    if (table.fill(everything) == infinity)
      return false;
    plan = makePlan(table.best());
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

/// Stages that may be looked at without exceeding the state limit.
static unsigned affordableStages(const SliceCosts &costs, unsigned maxStages) {
  auto states = [&](unsigned stages) {
    double product =
        double(costs.nodeCount + 1) * costs.typeCount * costs.typeCount;
    for (unsigned count : costs.deviceCounts)
      product *= std::min(count, stages) + 1;
    return product;
  };
  while (maxStages > 1 && states(maxStages) > double(costs.options.stateLimit))
    --maxStages;
  return maxStages;
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

  unsigned wanted = std::min(devices, cuts + 1);
  if (options.maxStages > 0)
    wanted = std::min(wanted, options.maxStages);
  if (options.exactStages > 0)
    wanted = options.exactStages;
  unsigned maxStages =
      options.exactStages > 0 ? wanted : affordableStages(costs, wanted);
  DeviceSets sets(costs.deviceCounts, maxStages);

  Search search(costs, cluster, sets, maxStages, options.exactStages);
  if (!search.run())
    return explainMemory(graph, cluster, options, sets, maxStages);
  Plan plan = makePlan(search.slices());
  costPlan(graph, cluster, options, plan);
  plan.lowerBoundSeconds = std::min(stepBound(costs), plan.stepSeconds);
  if (maxStages < wanted) {
    plan.notes.push_back("at most " + std::to_string(maxStages) + " of " +
                         std::to_string(wanted) +
                         " possible stages were searched");
    plan.orderBoundSeconds = plan.lowerBoundSeconds;
  } else {
    plan.orderBoundSeconds =
        std::max(plan.lowerBoundSeconds,
                 std::min(search.provenBound(), plan.stepSeconds));
    if (!plan.optimalForOrder())
      plan.notes.push_back("the exact search was cut short: a better plan of "
                           "this order may exist");
  }
  return plan;
}

} // namespace hethub::planner

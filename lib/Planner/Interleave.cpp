// Cuts a model for devices that have several stages each. Devices and their
// order are those of a plan with one stage a device; the cuts are those that
// balance the devices' sums.
#include "Interleave.h"

#include "CutSearch.h"
#include "ExactSearch.h"
#include "FindPlan.h"
#include "hethub/Planner/SimulatePlan.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

static Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

namespace {

/// Moves cuts one by one, as long as that makes the step shorter.
class CutMoves {
public:
  CutMoves(const SliceCosts &costs, Slices &slices, unsigned devices)
      : costs(costs), slices(slices), devices(devices) {}

  void run(uint64_t workLimit, uint64_t &steps);

private:
  double objective() const;
  bool improve(unsigned border, double &best, uint64_t &steps);

  const SliceCosts &costs;
  Slices &slices;
  unsigned devices;
};

} // namespace

/// About the step: the way through the first stage of each device, and then the
/// busiest one. A norm stands in place of the maximum, so that a move which
/// only takes from one of the busiest devices counts as well. A device that
/// begins late waits less later: the way is the same for all.
double CutMoves::objective() const {
  constexpr double exponent = 32;
  std::vector<double> seconds(devices, 0);
  double all = 0, fill = 0, longest = 0, messages = 0;
  unsigned begin = 0, previous = 0;
  for (unsigned stage = 0; stage < slices.ends.size(); ++stage) {
    const Choice &choice = slices.choices[stage];
    const unsigned end = slices.ends[stage];
    if (stage > 0)
      messages += 2 * costs.receivedBy(previous, choice.type, begin, end);
    const double share = costs.fill(choice.kind, begin, end);
    seconds[stage % devices] += costs.steady(choice, begin, end) + share;
    all += share;
    if (stage + 1 < devices)
      fill += share;
    previous = choice.type;
    begin = end;
  }
  for (double each : seconds)
    longest = std::max(longest, each);
  if (!(longest > 0))
    return messages;
  double sum = 0;
  for (double each : seconds)
    sum += std::pow(each / longest, exponent);
  return std::max(all, fill + longest * std::pow(sum, 1 / exponent)) + messages;
}

bool CutMoves::improve(unsigned border, double &best, uint64_t &steps) {
  // Far ones have been looked at by the search that came before.
  constexpr unsigned furthest = 48;
  unsigned &cut = slices.ends[border];
  const unsigned from = border == 0 ? 0 : slices.ends[border - 1],
                 to = slices.ends[border + 1], old = cut;
  const Choice &left = slices.choices[border],
               &right = slices.choices[border + 1];
  unsigned chosen = old;
  for (unsigned end = std::max(from + 1, old - std::min(old, furthest));
       end < std::min(to, old + furthest); ++end) {
    if (end == old || !costs.cutAllowed[end] ||
        end > costs.firstUnsupported[left.type][from] ||
        to > costs.firstUnsupported[right.type][end] ||
        costs.memory(left.kind, from, end, 1) > costs.memoryLimits[left.type] ||
        costs.memory(right.kind, end, to, 1) > costs.memoryLimits[right.type])
      continue;
    cut = end;
    steps += slices.ends.size();
    if (double seconds = objective(); seconds < best * (1 - 1e-9)) {
      best = seconds;
      chosen = end;
    }
  }
  cut = chosen;
  return chosen != old;
}

void CutMoves::run(uint64_t workLimit, uint64_t &steps) {
  const uint64_t limit = steps + workLimit;
  double best = objective();
  for (bool moved = true; moved && steps < limit;) {
    moved = false;
    for (unsigned border = 0; border + 1 < slices.ends.size(); ++border)
      moved |= improve(border, best, steps);
  }
}

/// The nodes of a plan's stages one behind the other: a topological order.
static std::vector<unsigned> orderOf(const Plan &plan) {
  std::vector<unsigned> order;
  for (const Stage &stage : plan.stages)
    order.insert(order.end(), stage.nodes.begin(), stage.nodes.end());
  return order;
}

/// By the tables, where both have been run.
static bool isFaster(const Plan &plan, const Plan &other) {
  return plan.simulatedSeconds > 0 && other.simulatedSeconds > 0
             ? plan.simulatedSeconds < other.simulatedSeconds
             : plan.stepSeconds < other.stepSeconds;
}

/// The devices of a plan, each with several stages. No stages: nothing fits,
/// or there are fewer places to cut than that takes.
static Plan interleave(const Graph &graph, const cluster::Cluster &cluster,
                       const Options &options, const Plan &apart,
                       bool recompute) {
  const unsigned devices = apart.stages.size(),
                 stages = devices * options.stagesPerDevice;
  const std::vector<unsigned> order = orderOf(apart);
  const Graph ordered = reorder(graph, order);
  SliceCosts costs(ordered, cluster, options);
  std::vector<Choice> choices;
  for (unsigned stage = 0; stage < stages; ++stage) {
    const Stage &on = apart.stages[stage % devices];
    const auto kind = llvm::find_if(costs.kinds, [&](const StageKind &kind) {
      return kind.type == on.deviceType && kind.width == 1 &&
             kind.recompute == (recompute || on.recompute);
    });
    choices.push_back(
        {unsigned(kind - costs.kinds.begin()), 1, on.deviceType, 1});
  }

  // With memory first left to the microbatches in flight, then divided evenly
  // among a device's stages.
  const std::vector<double> limits = costs.memoryLimits;
  Plan best;
  auto consider = [&](const Slices &slices) {
    Plan plan = makePlan(costs, slices);
    for (unsigned index = 0; index < plan.stages.size(); ++index) {
      Stage &stage = plan.stages[index];
      stage.firstRank = int(index % devices);
      for (unsigned &node : stage.nodes)
        node = order[node];
    }
    costPlan(graph, cluster, options, plan);
    const auto ranks = stagesOfRanks(plan);
    for (const std::vector<unsigned> &rank : ranks)
      if (double(memoryOfRank(plan, rank)) >
          limits[plan.stages[rank.front()].deviceType])
        return;
    if (uint64_t(plan.microbatches) * stages <= 300'000)
      plan.simulatedSeconds = simulatePlan(graph, cluster, plan).stepSeconds;
    if (best.stages.empty() || isFaster(plan, best))
      best = std::move(plan);
  };
  uint64_t steps = 0;
  for (unsigned inFlight = 1; best.stages.empty() && inFlight <= 2 * devices;
       inFlight *= 2) {
    for (unsigned type = 0; type < limits.size(); ++type)
      costs.memoryLimits[type] =
          inFlight == 1 ? infinity : limits[type] / options.stagesPerDevice;
    for (Slices &slices : balancedCuts(
             costs, choices, std::vector<unsigned>(stages, inFlight), steps)) {
      // Stages that last alike may follow each other better than those of
      // devices that are busy alike.
      consider(slices);
      CutMoves(costs, slices, devices).run(options.workLimit / 8, steps);
      consider(slices);
    }
  }
  return best;
}

Expected<Plan> findInterleaved(const Graph &graph,
                               const cluster::Cluster &cluster,
                               const Options &options, bool thorough) {
  const unsigned each = options.stagesPerDevice;
  if (!options.training)
    return fail("several stages a device need a training step: in inference "
                "they gain nothing");
  if (options.tensorParallel)
    return fail("stages that share devices must not be tensor-parallel");
  if (options.exactStages % each != 0 || options.exactStages == each)
    return fail(
        "stages must be " + Twine(each) +
        " for each of at least 2 devices, got: " + Twine(options.exactStages));
  if (options.exactStages > graph.nodes.size())
    return fail("stages must be at most the number of operations (" +
                Twine(graph.nodes.size()) +
                "), got: " + Twine(options.exactStages));
  if (cluster.deviceCount() < 2)
    return fail("several stages a device need at least 2 devices, got: " +
                Twine(cluster.deviceCount()));
  Options one = options;
  one.stagesPerDevice = 1;
  one.replicas = false;
  one.exactStages = options.exactStages / each;
  Expected<Plan> apart = findPlan(graph, cluster, one, thorough);
  if (!apart)
    return apart.takeError();
  Plan best;
  one.workLimit = options.workLimit / 4;
  // With so many devices; whether that is the best plan so far.
  auto attempt = [&](unsigned devices) {
    if (apart->stages.size() != devices) {
      one.exactStages = devices;
      Expected<Plan> other = findPlan(graph, cluster, one, /*thorough=*/false);
      if (!other) {
        consumeError(other.takeError());
        return false;
      }
      apart = std::move(other);
    }
    Plan found = interleave(graph, cluster, options, *apart, false);
    if (found.stages.empty() && options.recompute)
      found = interleave(graph, cluster, options, *apart, true);
    if (found.stages.empty() ||
        (!best.stages.empty() && !isFaster(found, best)))
      return false;
    best = std::move(found);
    return true;
  };
  // The pipeline fills in a share's time: one more device may pay than with
  // one stage each. Where that takes too many cuts, fewer must do.
  const unsigned known = std::max<unsigned>(2, apart->stages.size());
  unsigned devices = known;
  while (attempt(devices) && options.exactStages == 0 &&
         devices < cluster.deviceCount())
    ++devices;
  for (devices = known - 1;
       best.stages.empty() && options.exactStages == 0 && devices > 1;
       --devices)
    attempt(devices);
  if (best.stages.empty())
    return fail("no plan with " + Twine(each) +
                " stages a device was found that fits in the devices' memory "
                "and has enough places to cut the model");
  best.lowerBoundSeconds = best.orderBoundSeconds =
      std::min(best.stepSeconds, interleavedBound(graph, cluster, options));
  best.notes.push_back("devices in the order of a plan with one stage each, "
                       "cuts by local search: a better plan may exist");
  return best;
}

} // namespace hethub::planner

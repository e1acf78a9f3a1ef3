// A* over partial plans. The estimate never exceeds the truth, so the first
// complete plan taken from the queue is the best.
#include "ExactSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

Plan makePlan(const Slices &slices) {
  Plan plan;
  unsigned begin = 0;
  for (size_t index = 0; index < slices.ends.size(); ++index) {
    Stage stage;
    stage.deviceType = slices.types[index];
    for (unsigned node = begin; node < slices.ends[index]; ++node)
      stage.nodes.push_back(node);
    begin = slices.ends[index];
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

bool Incumbent::consider(const Slices &candidate) {
  Plan plan = makePlan(candidate);
  costPlan(costs.graph, cluster, costs.options, plan);
  double value = plan.stepSeconds;
  for (const Stage &stage : plan.stages)
    if (double(stage.memoryBytes) > costs.memoryLimits[stage.deviceType])
      return false;
  for (unsigned end : ArrayRef(candidate.ends).drop_back())
    value += table.cutPenalty(end);
  if (value < objective) {
    objective = value;
    slices = candidate;
  }
  return true;
}

namespace {

/// The first stages of a plan.
struct Partial {
  double sum = 0;        ///< work, messages and penalties so far
  double bottleneck = 0; ///< largest load so far
  unsigned end = 0;
  unsigned type = 0; ///< of the last stage
  unsigned used = 0; ///< set of devices
  unsigned
      inFlight; ///< most microbatches that the last stage may have in flight
  int parent = -1;
};

struct Entry {
  double estimate;
  unsigned end; // further first among equals
  int partial;
  bool operator<(const Entry &other) const {
    return estimate != other.estimate ? estimate > other.estimate
                                      : end < other.end;
  }
};

} // namespace

static double search(const SliceCosts &costs, const DeviceSets &sets,
                     const SliceTable &table, double bound, double low,
                     unsigned maxStages, unsigned exactStages,
                     uint64_t workLimit, uint64_t &work, Incumbent &incumbent) {
  const unsigned n = costs.nodeCount, types = costs.typeCount;
  const unsigned most = costs.tracksInFlight ? costs.options.microbatches : 1;
  const double repeats = double(costs.options.microbatches) - 1;
  std::vector<Partial> partials(1);
  partials[0].inFlight = most;
  std::priority_queue<Entry> queue;
  queue.push({0, 0, 0});
  const uint64_t before = table.workDone();
  std::vector<unsigned> typeAt;
  std::map<std::vector<unsigned>, std::vector<std::pair<double, double>>>
      expanded;                                      // sums and bottlenecks
  std::vector<std::pair<unsigned, unsigned>> stages; // end, type
  std::vector<LiveTensor> live;

  while (!queue.empty()) {
    Entry entry = queue.top();
    if (entry.estimate >= incumbent.threshold())
      return incumbent.objective;
    if (work + table.workDone() - before > workLimit)
      return entry.estimate;
    queue.pop();
    const Partial current = partials[entry.partial];
    const unsigned begin = current.end;

    stages.clear();
    for (int index = entry.partial; index > 0; index = partials[index].parent)
      stages.emplace_back(partials[index].end, partials[index].type);
    std::reverse(stages.begin(), stages.end());
    live.assign(costs.liveAt(begin).begin(), costs.liveAt(begin).end());
    std::sort(
        live.begin(), live.end(), [](const LiveTensor &a, const LiveTensor &b) {
          return std::tie(a.nextUse, a.tensor) < std::tie(b.nextUse, b.tensor);
        });
    typeAt.clear();
    for (const LiveTensor &tensor : live)
      typeAt.push_back(std::upper_bound(stages.begin(), stages.end(),
                                        std::make_pair(tensor.producer, ~0u))
                           ->second);

    // Of two beginnings that differ only in what is paid, one that paid more
    // can be dropped. (Not where microbatches in flight decide what fits: a
    // smaller bottleneck means more of them.)
    if (!costs.tracksInFlight) {
      std::vector<unsigned> key{begin, current.used, current.type};
      key.insert(key.end(), typeAt.begin(), typeAt.end());
      auto &paid = expanded[key];
      double bottleneck = std::max(current.bottleneck, low);
      if (llvm::any_of(paid, [&](auto &other) {
            return other.first <= current.sum && other.second <= bottleneck;
          }))
        continue;
      paid.emplace_back(current.sum, bottleneck);
    }

    const unsigned stageCount = sets.total(current.used) + 1;
    ArrayRef<Segment> segments = costs.segmentsOf(begin);
    for (unsigned type = 0; type < types; ++type) {
      if (sets.count(current.used, type) == sets.count(sets.all(), type) ||
          stageCount > maxStages)
        continue;
      const unsigned used = sets.add(current.used, type);
      const unsigned available = sets.all() - used;
      const unsigned furthest = table.reach(type, 1)[begin];
      double received = 0;
      size_t next = 0, segment = 0;
      work += uint64_t(furthest - begin) * types * types;
      for (unsigned end = begin + 1; end <= furthest; ++end) {
        for (; next < live.size() && live[next].nextUse < end; ++next)
          received += costs.price(live[next].tensor, typeAt[next], type);
        while (segment + 1 < segments.size() &&
               segments[segment + 1].begin <= end)
          ++segment;
        if (end < n ? !costs.cutAllowed[end] || stageCount == maxStages
                    : exactStages && stageCount != exactStages)
          continue;
        unsigned inFlight = most;
        if (costs.tracksInFlight) {
          if (begin > 0 && current.inFlight < most) {
            double rest = double(current.inFlight) - 1 -
                          (bound > 0 ? std::ceil(2 * received / bound) : 0);
            if (rest < 1)
              continue;
            inFlight = unsigned(rest);
          }
          inFlight = std::min(inFlight, costs.maxInFlight(type, begin, end));
          if (inFlight == 0)
            break; // nor does a longer slice fit
        }
        double load = costs.load(type, begin, end);
        Partial extended;
        extended.sum = current.sum + load + costs.messageFactor * received +
                       table.cutPenalty(begin);
        extended.bottleneck = std::max(current.bottleneck, load);
        extended.end = end;
        extended.type = type;
        extended.used = used;
        extended.inFlight = inFlight;
        extended.parent = entry.partial;
        double rest = end == n ? 0 : infinity;
        if (end < n)
          for (unsigned following = 0; following < types; ++following)
            rest = std::min(
                rest,
                table.remaining(available, inFlight, type, following, end) +
                    costs.messageFactor *
                        costs.correction(segments[segment], type, following));
        double estimate =
            extended.sum + rest + repeats * std::max(extended.bottleneck, low);
        if (!(estimate < incumbent.threshold()))
          continue;
        if (end == n) {
          Slices slices;
          for (auto [stageEnd, stageType] : stages) {
            slices.ends.push_back(stageEnd);
            slices.types.push_back(stageType);
          }
          slices.ends.push_back(n);
          slices.types.push_back(type);
          incumbent.consider(slices);
          continue;
        }
        partials.push_back(extended);
        queue.push({estimate, end, int(partials.size()) - 1});
      }
    }
  }
  return incumbent.objective;
}

double searchExactly(const SliceCosts &costs, const DeviceSets &sets,
                     const SliceTable &table, double bound, double low,
                     unsigned maxStages, unsigned exactStages,
                     uint64_t &workLimit, Incumbent &incumbent) {
  uint64_t work = 0;
  double proven = search(costs, sets, table, bound, low, maxStages, exactStages,
                         workLimit, work, incumbent);
  workLimit -= std::min(workLimit, work);
  return proven;
}

} // namespace hethub::planner

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

Plan makePlan(const SliceCosts &costs, const Slices &slices) {
  Plan plan;
  unsigned begin = 0;
  for (size_t index = 0; index < slices.ends.size(); ++index) {
    Stage stage;
    const Choice &choice = slices.choices[index];
    stage.deviceType = choice.type;
    stage.replicas = choice.replicas;
    stage.tensorParallel = costs.kinds[choice.kind].width;
    stage.recompute = costs.kinds[choice.kind].recompute;
    for (unsigned node = begin; node < slices.ends[index]; ++node)
      stage.nodes.push_back(node);
    begin = slices.ends[index];
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

bool Incumbent::consider(const Slices &candidate) {
  Plan plan = makePlan(costs, candidate);
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
  double sum = 0;    ///< work, messages and penalties so far
  double steady = 0; ///< largest so far
  unsigned end = 0;
  unsigned choice = 0; ///< of the last stage
  unsigned used = 0;   ///< set of devices
  unsigned ahead; ///< most microbatches in flight that may be behind the last
                  ///< stage
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
                     const SliceTable &table, double low, unsigned exactStages,
                     uint64_t workLimit, uint64_t &work, Incumbent &incumbent) {
  const unsigned n = costs.nodeCount, types = costs.typeCount;
  const unsigned most = costs.options.microbatches;
  const ArrayRef<Choice> choices = table.choices();
  std::vector<Partial> partials(1);
  partials[0].ahead = most;
  std::priority_queue<Entry> queue;
  queue.push({0, 0, 0});
  const uint64_t before = table.workDone();
  std::vector<unsigned> typeAt;
  std::map<std::vector<unsigned>, std::vector<std::pair<double, double>>>
      expanded;                                      // sums and steady seconds
  std::vector<std::pair<unsigned, unsigned>> stages; // end, choice
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
      stages.emplace_back(partials[index].end, partials[index].choice);
    std::reverse(stages.begin(), stages.end());
    live.assign(costs.liveAt(begin).begin(), costs.liveAt(begin).end());
    std::sort(
        live.begin(), live.end(), [](const LiveTensor &a, const LiveTensor &b) {
          return std::tie(a.nextUse, a.tensor) < std::tie(b.nextUse, b.tensor);
        });
    typeAt.clear();
    for (const LiveTensor &tensor : live)
      typeAt.push_back(
          choices[std::upper_bound(stages.begin(), stages.end(),
                                   std::make_pair(tensor.producer, ~0u))
                      ->second]
              .type);

    // Of two beginnings that differ only in what is paid, one that paid more
    // can be dropped. (Not where microbatches in flight decide what fits: a
    // faster pace means more of them.)
    if (!costs.tracksInFlight) {
      std::vector<unsigned> key{begin, current.used,
                                begin ? choices[current.choice].type : 0};
      key.insert(key.end(), typeAt.begin(), typeAt.end());
      auto &paid = expanded[key];
      double steady = std::max(current.steady, low);
      if (llvm::any_of(paid, [&](auto &other) {
            return other.first <= current.sum && other.second <= steady;
          }))
        continue;
      paid.emplace_back(current.sum, steady);
    }

    ArrayRef<Segment> segments = costs.segmentsOf(begin);
    for (unsigned index = 0; index < choices.size(); ++index) {
      const Choice &choice = choices[index];
      if (!sets.canAdd(current.used, choice))
        continue;
      const unsigned type = choice.type;
      const unsigned used = sets.add(current.used, choice);
      const unsigned available = sets.all() - used;
      const unsigned furthest =
          table.reach(index, costs.onReplica(choice, 0))[begin];
      double received = 0;
      size_t next = 0, segment = 0;
      work += uint64_t(furthest - begin) * types * types;
      for (unsigned end = begin + 1; end <= furthest; ++end) {
        for (; next < live.size() && live[next].nextUse < end; ++next)
          received += costs.price(live[next].tensor, typeAt[next], type);
        while (segment + 1 < segments.size() &&
               segments[segment + 1].begin <= end)
          ++segment;
        if (end < n ? !costs.cutAllowed[end]
                    : exactStages && sets.stages(used) != exactStages)
          continue;
        unsigned ahead = most;
        if (costs.tracksInFlight) {
          if (begin > 0 && current.ahead < most) {
            int64_t turns = (int64_t(current.ahead) - table.hop(received)) /
                                int64_t(choice.replicas) -
                            1;
            if (turns < 0)
              continue;
            ahead = unsigned(turns) * choice.replicas;
          }
          unsigned fits = costs.maxInFlight(choice.kind, begin, end);
          if (fits == 0)
            break; // nor does a longer slice fit
          if (uint64_t(fits) * choice.replicas < most)
            ahead = std::min(ahead, (fits - 1) * choice.replicas);
        }
        Partial extended;
        extended.sum = current.sum + costs.fill(choice.kind, begin, end) +
                       costs.messageFactor * received + table.cutPenalty(begin);
        extended.steady =
            std::max(current.steady, costs.steady(choice, begin, end));
        extended.end = end;
        extended.choice = index;
        extended.used = used;
        extended.ahead = ahead;
        extended.parent = entry.partial;
        double rest = end == n ? 0 : infinity;
        if (end < n)
          for (unsigned following = 0; following < types; ++following)
            rest = std::min(
                rest,
                table.remaining(available, ahead, type, following, end) +
                    costs.messageFactor *
                        costs.correction(segments[segment], type, following));
        double estimate = extended.sum + rest + std::max(extended.steady, low);
        if (!(estimate < incumbent.threshold()))
          continue;
        if (end == n) {
          Slices slices;
          for (auto [stageEnd, stageChoice] : stages) {
            slices.ends.push_back(stageEnd);
            slices.choices.push_back(choices[stageChoice]);
          }
          slices.ends.push_back(n);
          slices.choices.push_back(choice);
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
                     const SliceTable &table, double low, unsigned exactStages,
                     uint64_t &workLimit, Incumbent &incumbent) {
  uint64_t work = 0;
  double proven =
      search(costs, sets, table, low, exactStages, workLimit, work, incumbent);
  workLimit -= std::min(workLimit, work);
  return proven;
}

} // namespace hethub::planner

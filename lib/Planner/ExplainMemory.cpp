// The least memory that would do, found by halving.
#include "ExplainMemory.h"

#include "ExactSearch.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::planner {

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

Error failToFind() {
  return fail("no plan was found within the limit of the search; a plan that "
              "fits in the devices' memory may exist");
}

/// Why no plan exists even with any memory.
static Error explainNoCut(const SliceCosts &costs) {
  unsigned begin = 0;
  for (unsigned end = 1; end <= costs.nodeCount; ++end) {
    if (end < costs.nodeCount && !costs.cutAllowed[end])
      continue;
    bool runs = false;
    for (unsigned type = 0; type < costs.typeCount; ++type)
      runs |= costs.deviceCounts[type] > 0 &&
              costs.firstUnsupported[type][begin] >= end;
    if (!runs)
      return fail("operations that cannot be cut apart must have a device type "
                  "that runs them all, got none for '" +
                  costs.graph.nodes[begin].name + "' to '" +
                  costs.graph.nodes[end - 1].name + "'");
    begin = end;
  }
  const unsigned stages = costs.options.exactStages;
  return fail("no plan exists: the order cannot be cut into " +
              (stages ? std::to_string(stages) + " " : std::string()) +
              "stages that the devices can run");
}

/// Bytes by which a plan's stages exceed their devices, at most, and which one
/// does.
static std::pair<int64_t, unsigned> largestLack(const Plan &plan) {
  std::pair<int64_t, unsigned> largest = {0, 0};
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    const Stage &stage = plan.stages[index];
    if (stage.memoryLimit > 0 &&
        stage.memoryBytes - stage.memoryLimit > largest.first)
      largest = {stage.memoryBytes - stage.memoryLimit, index};
  }
  return largest;
}

Error explainMemory(const Graph &graph, const cluster::Cluster &cluster,
                    const Options &options, AnyPlan anyPlan) {
  SliceCosts costs(graph, cluster, options);
  const std::vector<double> limits = costs.memoryLimits;
  uint64_t work = 0;
  bool complete = true;
  // A plan that fits with so much more memory; no stages: none does.
  auto attempt = [&](double addition) {
    for (unsigned type = 0; type < limits.size(); ++type)
      costs.memoryLimits[type] = limits[type] + addition;
    Plan plan;
    const Slices slices = anyPlan(costs, work, complete);
    if (!slices.ends.empty()) {
      plan = makePlan(costs, slices);
      costPlan(graph, cluster, options, plan);
    }
    return plan;
  };
  Plan best = attempt(1e18);
  if (best.stages.empty())
    return complete ? explainNoCut(costs) : failToFind();
  int64_t enough = largestLack(best).first, tooLittle = 0;
  // A search that is not complete may miss a plan that just fits.
  auto isFound = [&](int64_t addition) {
    Plan plan = attempt(double(addition));
    const bool found = !plan.stages.empty();
    if (found)
      best = std::move(plan);
    return found;
  };
  while (!complete && work < options.workLimit && !isFound(enough)) {
    tooLittle = enough;
    enough *= 2;
  }
  while (work < options.workLimit && enough - tooLittle > 1) {
    const int64_t middle = tooLittle + (enough - tooLittle) / 2;
    Plan plan = attempt(double(middle));
    if (plan.stages.empty()) {
      tooLittle = middle;
      continue;
    }
    best = std::move(plan);
    const int64_t lack = largestLack(best).first;
    enough = complete || isFound(lack) ? lack : middle;
  }
  const unsigned worst = largestLack(best).second;
  const Stage &stage = best.stages[worst];
  return fail("the model must fit in the devices' memory, got: no plan does; "
              "in the best attempt (" +
              Twine(best.stages.size()) + " stages) stage " + Twine(worst) +
              " ('" + graph.nodes[stage.nodes.front()].name + "' to '" +
              graph.nodes[stage.nodes.back()].name + "') on device type '" +
              cluster.types[stage.deviceType].name + "' needs " +
              describeBytes(double(stage.memoryBytes)) + " of " +
              describeBytes(double(stage.memoryLimit)) + " and lacks " +
              describeBytes(double(enough)) +
              (complete && enough - tooLittle <= 1 ? "" : "; less may do"));
}

} // namespace hethub::planner

// Checks of problems and plans.
#include "hethub/Planner/Piper.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

template <typename... Values>
static Error fail(const char *format, Values &&...values) {
  return createStringError(
      inconvertibleErrorCode(),
      formatv(format, std::forward<Values>(values)...).str());
}

static bool isAmount(double value) {
  return std::isfinite(value) && value >= 0;
}

/// A layer on a cycle, if there is one.
static std::optional<unsigned> findCycle(const Problem &problem) {
  std::vector<unsigned> waiting(problem.layers.size(), 0);
  std::vector<std::vector<unsigned>> targets(problem.layers.size());
  for (const Edge &edge : problem.edges) {
    ++waiting[edge.target];
    targets[edge.source].push_back(edge.target);
  }
  std::vector<unsigned> ready;
  for (unsigned layer = 0; layer < waiting.size(); ++layer)
    if (waiting[layer] == 0)
      ready.push_back(layer);
  for (size_t next = 0; next < ready.size(); ++next)
    for (unsigned target : targets[ready[next]])
      if (--waiting[target] == 0)
        ready.push_back(target);
  if (ready.size() == waiting.size())
    return std::nullopt;
  // Every layer that waits has a source that waits: backwards, one comes twice.
  std::vector<unsigned> back(waiting.size());
  for (const Edge &edge : problem.edges)
    if (waiting[edge.source] && waiting[edge.target])
      back[edge.target] = edge.source;
  unsigned layer =
      llvm::find_if(waiting, [](unsigned count) { return count != 0; }) -
      waiting.begin();
  for (size_t step = 0; step < waiting.size(); ++step)
    layer = back[layer];
  return layer;
}

Error verifyProblem(const Problem &problem) {
  if (problem.layers.empty())
    return fail("there must be at least 1 node, got: 0");
  if (problem.devices < 1)
    return fail("devices must be at least 1, got: 0");
  if (problem.microbatches < 1)
    return fail("microbatches must be at least 1, got: 0");
  if (!(std::isfinite(problem.bandwidth) && problem.bandwidth > 0))
    return fail("bandwidth must be a number above 0, got: {0}",
                problem.bandwidth);
  if (!(std::isfinite(problem.memoryBytes) && problem.memoryBytes > 0))
    return fail("memory must be a number above 0, got: {0}",
                problem.memoryBytes);
  for (const Edge &edge : problem.edges) {
    if (edge.source >= problem.layers.size() ||
        edge.target >= problem.layers.size())
      return fail("an edge must join two nodes");
    if (!isAmount(edge.bytes))
      return fail("edge from {0} to {1}: communicationCost must be a number "
                  "of at least 0, got: {2}",
                  problem.layers[edge.source].id,
                  problem.layers[edge.target].id, edge.bytes);
  }
  for (const Layer &layer : problem.layers) {
    if (layer.variants.empty())
      return fail("node {0}: there must be at least 1 tensor degree, got: 0",
                  layer.id);
    for (const auto &[degree, variants] : layer.variants) {
      if (degree < 1)
        return fail("node {0}: tensor degrees must be at least 1, got: {1}",
                    layer.id, degree);
      if (variants.empty())
        return fail("node {0}: tensor degree {1}: there must be at least 1 "
                    "variant, got: 0",
                    layer.id, degree);
      for (const Variant &variant : variants) {
        const std::pair<const char *, double> amounts[] = {
            {"timePerSample", variant.seconds},
            {"parameterSize", variant.parameterBytes},
            {"memoryUsageA", variant.activationBytes},
            {"memoryUsageB", variant.fixedBytes}};
        for (auto [field, amount] : amounts)
          if (!isAmount(amount))
            return fail("node {0}: tensor degree {1}: '{2}': {3} must be a "
                        "number of at least 0, got: {4}",
                        layer.id, degree, variant.id, field, amount);
        for (auto [edge, bytes] : variant.gatherBytes)
          if (edge >= problem.edges.size() || !isAmount(bytes))
            return fail("node {0}: tensor degree {1}: '{2}': syncTimeFw and "
                        "syncTimeBw must be numbers of at least 0, got: {3}",
                        layer.id, degree, variant.id, bytes);
      }
    }
  }
  if (std::optional<unsigned> layer = findCycle(problem))
    return fail("node {0}: it must not depend on itself",
                problem.layers[*layer].id);
  return Error::success();
}

Error evaluate(const Problem &problem, std::vector<Stage> &stages) {
  const unsigned unplaced = stages.size();
  std::vector<unsigned> stageOf(problem.layers.size(), unplaced);
  uint64_t devices = 0, dataDegrees = 0;
  for (unsigned index = 0; index < stages.size(); ++index) {
    const Stage &stage = stages[index];
    if (stage.layers.empty())
      return fail("stage {0}: it must have at least 1 layer, got: 0", index);
    if (stage.dataDegree < 1 || problem.microbatches % stage.dataDegree != 0)
      return fail("stage {0}: the data degree must divide the {1} "
                  "microbatches, got: {2}",
                  index, problem.microbatches, stage.dataDegree);
    devices += uint64_t(stage.dataDegree) * stage.tensorDegree;
    dataDegrees += stage.dataDegree;
    for (unsigned layer : stage.layers) {
      if (stageOf[layer] != unplaced)
        return fail("node {0}: it must be in one stage, got: {1} and {2}",
                    problem.layers[layer].id, stageOf[layer], index);
      stageOf[layer] = index;
    }
  }
  for (unsigned layer = 0; layer < stageOf.size(); ++layer)
    if (stageOf[layer] == unplaced)
      return fail("node {0}: it must be in a stage", problem.layers[layer].id);
  for (const Edge &edge : problem.edges)
    if (stageOf[edge.source] > stageOf[edge.target])
      return fail("edge from {0} to {1}: it must not lead to an earlier stage, "
                  "got: {2} to {3}",
                  problem.layers[edge.source].id,
                  problem.layers[edge.target].id, stageOf[edge.source],
                  stageOf[edge.target]);
  if (devices > problem.devices)
    return fail("at most {0} devices must be used, got: {1}", problem.devices,
                devices);
  if (dataDegrees > problem.microbatches)
    return fail("the data degrees must add up to at most {0}, got: {1}",
                problem.microbatches, dataDegrees);

  uint64_t behind = 0;
  for (unsigned index = stages.size(); index-- > 0;) {
    Stage &stage = stages[index];
    const double d = stage.dataDegree;
    behind += stage.dataDegree;
    stage.inFlight = (behind + stage.dataDegree - 1) / stage.dataDegree;
    stage.memoryBytes = 0;
    double seconds = 0, bytes = 0, reduced = 0;
    std::map<unsigned, const Variant *> chosen;
    for (size_t position = 0; position < stage.layers.size(); ++position) {
      const Layer &layer = problem.layers[stage.layers[position]];
      auto variants = layer.variants.find(stage.tensorDegree);
      if (variants == layer.variants.end())
        return fail(
            "node {0}: it must have tensor degree {1}, as its stage {2}",
            layer.id, stage.tensorDegree, index);
      const Variant &variant = variants->second[stage.variants[position]];
      chosen[stage.layers[position]] = &variant;
      seconds += variant.seconds;
      reduced +=
          4 * (d - 1) * variant.parameterBytes / d / problem.microbatches;
      stage.memoryBytes +=
          variant.activationBytes * stage.inFlight + variant.fixedBytes;
    }
    for (unsigned number = 0; number < problem.edges.size(); ++number) {
      const Edge &edge = problem.edges[number];
      const bool leaves = stageOf[edge.source] == index;
      if (leaves == (stageOf[edge.target] == index))
        continue;
      const Variant &end = *chosen[leaves ? edge.source : edge.target];
      auto gather = end.gatherBytes.find(number);
      bytes += 2 * (edge.bytes +
                    (gather == end.gatherBytes.end() ? 0 : gather->second));
    }
    stage.load = seconds / d + (bytes / d + reduced) / problem.bandwidth;
    // The planner adds up in another order.
    if (stage.memoryBytes > problem.memoryBytes * (1 + 1e-12))
      return fail("stage {0}: it must fit in {1} bytes, got: {2}", index,
                  problem.memoryBytes, stage.memoryBytes);
  }
  return Error::success();
}

} // namespace hethub::planner::piper

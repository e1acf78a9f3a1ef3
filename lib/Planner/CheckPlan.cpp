// A stage map that a user wrote: everything wrong with it at once, or its
// costs.
#include "Interleave.h"
#include "StageCosts.h"
#include "hethub/Planner/Planner.h"
#include "hethub/Planner/SimulatePlan.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace llvm;

namespace hethub::planner {

namespace {

class Checker {
public:
  Checker(const Graph &graph, const cluster::Cluster &cluster)
      : graph(graph), cluster(cluster) {}

  Error errors = Error::success();

  void fail(const Twine &message) {
    errors = joinErrors(std::move(errors),
                        createStringError(inconvertibleErrorCode(), message));
  }

  void checkMemoryOfRanks(const Plan &plan) {
    for (const std::vector<unsigned> &stages : stagesOfRanks(plan)) {
      const Stage &first = plan.stages[stages.front()];
      const int64_t bytes = memoryOfRank(plan, stages);
      if (first.memoryLimit > 0 && bytes > first.memoryLimit)
        fail("the stages of rank " + Twine(first.firstRank) +
             " must fit in the " + Twine(first.memoryLimit) +
             " bytes of device type '" + cluster.types[first.deviceType].name +
             "', got: " + Twine(bytes) + " bytes, " +
             Twine(bytes - first.memoryLimit) + " too many");
    }
  }

  Plan read(ArrayRef<StageRequest> requests) {
    StringMap<unsigned> indices;
    for (unsigned index = 0; index < graph.nodes.size(); ++index)
      indices[graph.nodes[index].name] = index;
    stageOf.assign(graph.nodes.size(), -1);
    Plan plan;
    if (requests.empty())
      fail("a plan must have at least one stage, got: none");
    std::vector<uint64_t> used(cluster.types.size(), 0);
    checkRanks(requests);
    std::set<unsigned> ranks; // with stages so far
    for (unsigned number = 0; number < requests.size(); ++number) {
      const StageRequest &request = requests[number];
      const std::string where = "stage " + std::to_string(number);
      Stage stage;
      stage.replicas = request.replicas;
      stage.tensorParallel = request.tensorParallel;
      stage.recompute = request.recompute;
      if (std::optional<unsigned> type = cluster.find(request.deviceType)) {
        stage.deviceType = *type;
        if (request.firstRank)
          stage.firstRank = int(*request.firstRank);
        // A rank is one device, however many stages it has.
        if (!request.firstRank || ranks.insert(*request.firstRank).second)
          used[*type] += uint64_t(request.replicas) * request.tensorParallel;
        unsigned widest = devicesOfNode(cluster.types[*type]);
        if (request.tensorParallel > widest)
          fail(where + ": tensor_parallel must be at most the " +
               Twine(widest) + " devices of a node of type '" +
               request.deviceType + "', got: " + Twine(request.tensorParallel));
      } else {
        fail(where + ": the device type must be one of the cluster, got: '" +
             request.deviceType + "'");
      }
      if (request.replicas < 1)
        fail(where + ": replicas must be at least 1, got: 0");
      if (request.tensorParallel < 1)
        fail(where + ": tensor_parallel must be at least 1, got: 0");
      if (request.nodes.empty())
        fail(where + ": a stage must have at least one operation, got: none");
      for (const std::string &name : request.nodes) {
        auto found = indices.find(name);
        if (found == indices.end()) {
          fail(where + ": operations must be those of the model, got: '" +
               name + "'");
          continue;
        }
        int &stageOfNode = stageOf[found->second];
        if (stageOfNode >= 0) {
          fail(where + ": an operation must stand in one stage, got: '" + name +
               "', which stage " + Twine(stageOfNode) + " has");
          continue;
        }
        stageOfNode = number;
        stage.nodes.push_back(found->second);
      }
      plan.stages.push_back(std::move(stage));
    }
    for (unsigned type = 0; type < used.size(); ++type)
      if (used[type] > cluster.types[type].count)
        fail("stages must use at most the " + Twine(cluster.types[type].count) +
             " devices of type '" + cluster.types[type].name +
             "', got: " + Twine(used[type]));
    checkNodes();
    return plan;
  }

private:
  /// Stages that say which rank they are on.
  void checkRanks(ArrayRef<StageRequest> requests) {
    auto says = [](const StageRequest &request) {
      return request.firstRank.has_value();
    };
    if (llvm::none_of(requests, says))
      return;
    if (!llvm::all_of(requests, says))
      return fail("all stages of a plan must have a first_rank, or none, got: "
                  "some that do");
    std::vector<const StageRequest *> first; // stage of each rank
    for (unsigned number = 0; number < requests.size(); ++number) {
      const StageRequest &request = requests[number];
      const std::string where = "stage " + std::to_string(number);
      if (request.replicas > 1 || request.tensorParallel > 1)
        fail(where +
             ": a stage with a first_rank must be on one device, got: " +
             Twine(uint64_t(request.replicas) * request.tensorParallel));
      if (*request.firstRank > first.size()) {
        fail(
            where + ": first_rank must be at most " + Twine(first.size()) +
            ", so that no rank is left out, got: " + Twine(*request.firstRank));
        continue;
      }
      if (*request.firstRank == first.size())
        first.push_back(&request);
      const std::string &type = first[*request.firstRank]->deviceType;
      if (type != request.deviceType)
        fail(where + ": all stages of rank " + Twine(*request.firstRank) +
             " must have its device type '" + type + "', got: '" +
             request.deviceType + "'");
    }
  }

  void checkNodes() {
    for (unsigned index = 0; index < graph.nodes.size(); ++index)
      if (stageOf[index] < 0)
        fail("every operation must stand in a stage, got none for: '" +
             graph.nodes[index].name + "'");
    for (const Tensor &tensor : graph.tensors)
      for (unsigned consumer : tensor.consumers) {
        int from = stageOf[tensor.producer], to = stageOf[consumer];
        if (from < 0 || to < 0)
          continue;
        if (to < from)
          fail("values must flow to later stages, got: '" + tensor.name +
               "' from '" + graph.nodes[tensor.producer].name + "' in stage " +
               Twine(from) + " to '" + graph.nodes[consumer].name +
               "' in stage " + Twine(to));
        else if (to != from && !tensor.cuttable)
          fail("only tensors may cross stages, got: '" + tensor.name +
               "' from stage " + Twine(from) + " to stage " + Twine(to));
      }
    std::vector<std::pair<int, unsigned>> groups; // group, first node
    for (unsigned index = 0; index < graph.nodes.size(); ++index) {
      int group = graph.nodes[index].group;
      if (group < 0)
        continue;
      auto found = llvm::find_if(
          groups, [&](auto &entry) { return entry.first == group; });
      if (found == groups.end())
        groups.emplace_back(group, index);
      else if (stageOf[index] >= 0 && stageOf[found->second] >= 0 &&
               stageOf[index] != stageOf[found->second])
        fail("operations '" + graph.nodes[found->second].name + "' and '" +
             graph.nodes[index].name + "' must stand in one stage, got: " +
             Twine(stageOf[found->second]) + " and " + Twine(stageOf[index]));
    }
  }

  const Graph &graph;
  const cluster::Cluster &cluster;
  std::vector<int> stageOf;
};

} // namespace

/// Whether an operation is `place`, or in that scope or one inside it.
static bool isAt(const Node &node, StringRef place) {
  StringRef rest = node.scope;
  return node.name == place ||
         (rest.consume_front(place) &&
          (rest.empty() || rest.front() == '.' || rest.front() == '/'));
}

/// Lists the nodes of stages that say where they begin.
static Error listNodes(const Graph &graph,
                       MutableArrayRef<StageRequest> stages) {
  auto begins = [](const StageRequest &stage) {
    return stage.first.has_value();
  };
  if (llvm::none_of(stages, begins))
    return Error::success();
  auto fail = [](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), message);
  };
  if (!llvm::all_of(stages, begins))
    return fail("all stages of a plan must list their nodes, or none, got: "
                "some that do");
  std::vector<size_t> ends(1, 0); // the begin of the first, then ends
  for (size_t number = 1; number < stages.size(); ++number) {
    StringRef first = *stages[number].first;
    auto found = llvm::find_if(
        graph.nodes, [&](const Node &node) { return isAt(node, first); });
    if (found == graph.nodes.end())
      return fail("stage " + Twine(number) +
                  ": first must be an operation or a scope of the model, got: "
                  "'" +
                  first + "'");
    ends.push_back(found - graph.nodes.begin());
    if (ends[number] <= ends[number - 1])
      return fail("stage " + Twine(number) +
                  ": a stage must begin behind the begin of the one before it, "
                  "got: '" +
                  first + "'");
  }
  ends.push_back(graph.nodes.size());
  for (size_t number = 0; number < stages.size(); ++number)
    for (size_t node = ends[number]; node < ends[number + 1]; ++node)
      stages[number].nodes.push_back(graph.nodes[node].name);
  return Error::success();
}

Expected<Plan> checkPlan(const Graph &graph, const cluster::Cluster &cluster,
                         ArrayRef<StageRequest> given, const Options &options) {
  if (Error error = verifyGraph(graph, cluster.types.size()))
    return error;
  std::vector<StageRequest> stages(given);
  if (Error error = listNodes(graph, stages))
    return error;
  Checker checker(graph, cluster);
  Plan plan = checker.read(stages);
  for (unsigned number = 0; number < stages.size(); ++number)
    if (stages[number].recompute && !options.training)
      checker.fail("stage " + Twine(number) +
                   ": recompute must be false in a plan for inference, got: "
                   "true");
  if (checker.errors)
    return std::move(checker.errors);
  if (plan.isInterleaved() && !options.training) {
    checker.fail("first_rank must be left out in a plan for inference: stages "
                 "have ranks of their own there");
    return std::move(checker.errors);
  }
  costPlan(graph, cluster, options, plan);
  if (plan.isInterleaved())
    checker.checkMemoryOfRanks(plan);
  for (unsigned number = 0; number < plan.stages.size(); ++number) {
    const Stage &stage = plan.stages[number];
    const std::string &type = cluster.types[stage.deviceType].name;
    if (!std::isfinite(stage.load())) {
      for (unsigned node : stage.nodes) {
        const Node &operation = graph.nodes[node];
        if (!std::isfinite(operation.forwardSeconds[stage.deviceType]) ||
            (options.training && !operation.backwardSeconds.empty() &&
             !std::isfinite(operation.backwardSeconds[stage.deviceType])))
          checker.fail("stage " + Twine(number) +
                       ": operations must be able to run on device type '" +
                       type + "', got: '" + operation.name + "'");
      }
    }
    if (stage.memoryLimit > 0 && stage.memoryBytes > stage.memoryLimit &&
        !plan.isInterleaved())
      checker.fail("stage " + Twine(number) + " must fit in the " +
                   Twine(stage.memoryLimit) + " bytes of device type '" + type +
                   "', got: " + Twine(stage.memoryBytes) + " bytes, " +
                   Twine(stage.memoryBytes - stage.memoryLimit) + " too many");
  }
  if (checker.errors)
    return std::move(checker.errors);
  if (uint64_t(plan.microbatches) * plan.stages.size() <= 1'000'000)
    plan.simulatedSeconds = simulatePlan(graph, cluster, plan).stepSeconds;
  // The bound is one for plans like this one too.
  Options allowed = options;
  for (const Stage &stage : plan.stages) {
    allowed.replicas |= stage.replicas > 1;
    allowed.tensorParallel |= stage.tensorParallel > 1;
    allowed.recompute |= stage.recompute;
  }
  plan.lowerBoundSeconds = std::min(
      plan.stepSeconds, plan.isInterleaved()
                            ? interleavedBound(graph, cluster, allowed)
                            : lowerBoundSeconds(graph, cluster, allowed));
  plan.orderBoundSeconds = plan.lowerBoundSeconds;
  return plan;
}

} // namespace hethub::planner

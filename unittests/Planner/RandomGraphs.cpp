// Small random problems, and the best of all their plans.
#include "RandomGraphs.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace hethub;
using namespace hethub::planner;

namespace hethub::planner::test {

Problem randomProblem(unsigned seed, unsigned maxNodes) {
  Random random(seed);
  Problem problem;
  const unsigned types = 1 + random.below(3), n = 1 + random.below(maxNodes);
  static const char *names[] = {"old", "new", "host"};
  for (unsigned type = 0; type < types; ++type) {
    cluster::DeviceType device;
    device.name = names[type];
    device.kind = random.chance(0.5) ? "cpu" : "cuda";
    device.hostBandwidth = device.kind == "cpu" ? 0 : random.real(2, 20);
    device.count = 1 + random.below(3);
    device.nodes = random.chance(0.5) ? device.count : 1;
    device.memoryBandwidth = random.chance(0.5) ? 0 : random.real(5, 50);
    problem.cluster.types.push_back(device);
  }
  const double slowness = random.chance(0.2) ? 0 : random.real(0, 3);
  for (unsigned a = 0; a < types; ++a)
    for (unsigned b = a; b < types; ++b) {
      cluster::Link link;
      link.bandwidth = 1 / (slowness * random.real(0.1, 2) + 1e-9);
      link.latency = random.chance(0.5) ? 0 : slowness * random.real(0, 1);
      link.viaHost = random.chance(0.3);
      problem.cluster.setLink(a, b, link);
    }

  Graph &graph = problem.graph;
  const bool plainChain = random.chance(0.2), round = random.chance(0.3);
  std::vector<double> speed;
  for (unsigned type = 0; type < types; ++type)
    speed.push_back(random.real(0.3, 3));
  problem.options.training = random.chance(0.5);
  for (unsigned index = 0; index < n; ++index) {
    Node node;
    node.name = "node" + std::to_string(index);
    node.scope = "block" + std::to_string(index / 3);
    double size = round ? 1 + random.below(4) : random.real(0, 4);
    for (unsigned type = 0; type < types; ++type) {
      double seconds = size * (round ? 1 : speed[type] * random.real(0.8, 1.2));
      bool cannot = type > 0 && random.chance(0.03);
      node.forwardSeconds.push_back(
          cannot ? std::numeric_limits<double>::infinity() : seconds);
      node.backwardSeconds.push_back(2 * seconds);
    }
    node.parameterBytes = random.below(5);
    node.activationBytes = random.below(5);
    node.workspaceBytes = random.below(8);
    node.splits = random.chance(0.6);
    node.reduceBytes = random.chance(0.3) ? random.below(3) : 0;
    if (random.chance(0.05))
      node.group = random.below(2);
    if (random.chance(0.1))
      for (unsigned type = 0; type < types; ++type)
        node.cloneSeconds.push_back(
            random.chance(0.3) ? std::numeric_limits<double>::infinity()
                               : random.real(0, 1));
    graph.nodes.push_back(node);
  }
  for (unsigned producer = 0; producer + 1 < n; ++producer)
    for (unsigned copy = 0; copy < 1 + random.below(2); ++copy) {
      Tensor tensor;
      tensor.name = "value" + std::to_string(graph.tensors.size());
      tensor.producer = producer;
      tensor.bytes = random.below(4);
      if (plainChain || random.chance(0.5)) {
        tensor.consumers.push_back(producer + 1);
      } else {
        for (unsigned use = 0; use < 1 + random.below(3); ++use)
          tensor.consumers.push_back(producer + 1 +
                                     random.below(n - producer - 1));
      }
      tensor.cuttable = !random.chance(0.02);
      graph.tensors.push_back(tensor);
    }
  if (random.chance(0.3))
    graph.sharedParameters.push_back(
        {"tied", int64_t(random.below(8)), {random.below(n), random.below(n)}});

  Options &options = problem.options;
  options.microbatches = random.chance(0.2) ? 1 : 1 + random.below(12);
  options.replicas = random.chance(0.7);
  options.anyOrder = false;
  options.tensorParallel = random.chance(0.2);
  options.recompute = random.chance(0.4);
  options.parameterMemoryFactor = random.chance(0.5) ? 4 : 2.5;
  if (random.chance(0.2))
    options.maxStages = 1 + random.below(4);
  if (random.chance(0.6)) {
    double total = 0;
    for (const Node &node : graph.nodes)
      total += (options.training ? options.parameterMemoryFactor : 1) *
                   node.parameterBytes +
               node.activationBytes * 2;
    for (unsigned type = 0; type < types; ++type)
      options.memoryLimits.push_back(
          std::max<int64_t>(8, int64_t(total * random.real(0.2, 1.2))));
  }
  if (random.chance(0.3))
    options.schedule = random.chance(0.5) ? simulator::ScheduleKind::GPipe
                                          : simulator::ScheduleKind::ZeroBubble;
  for (Node &node : graph.nodes) {
    const double share = random.chance(0.5) ? random.real(0, 1) : 0;
    for (unsigned type = 0; type < types; ++type)
      node.weightSeconds.push_back(share * node.backwardSeconds[type]);
    node.frozenBytes = random.chance(0.1) ? node.parameterBytes : 0;
  }
  for (SharedParameter &parameter : graph.sharedParameters)
    parameter.frozen = random.chance(0.2);
  return problem;
}

namespace {

/// Sets of nodes, as bits.
using Set = uint32_t;

bool has(Set set, unsigned node) { return set >> node & 1; }

/// Whether the set may be all that stands before some cut.
bool mayCut(const Graph &graph, Set before) {
  for (const Tensor &tensor : graph.tensors)
    for (unsigned consumer : tensor.consumers)
      if (has(before, consumer)
              ? !has(before, tensor.producer)
              : !tensor.cuttable && has(before, tensor.producer))
        return false;
  for (unsigned a = 0; a < graph.nodes.size(); ++a)
    for (unsigned b = 0; b < graph.nodes.size(); ++b)
      if (has(before, a) && !has(before, b) && graph.nodes[a].group >= 0 &&
          graph.nodes[a].group == graph.nodes[b].group)
        return false;
  return true;
}

/// Ascending: the sets before all cuts, and all nodes. Those of the nodes' own
/// order are its prefixes.
std::vector<Set> cutsOf(const Problem &problem) {
  const unsigned n = problem.graph.nodes.size();
  const Set all = (Set(1) << n) - 1;
  std::vector<Set> cuts;
  for (Set set = 1; set <= all;
       set = problem.options.anyOrder ? set + 1 : 2 * set + 1)
    if (mayCut(problem.graph, set))
      cuts.push_back(set);
  return cuts;
}

/// Types, widths and recomputation that a stage may have.
std::vector<Stage> kindsOf(const Problem &problem) {
  std::vector<Stage> kinds;
  for (unsigned type = 0; type < problem.cluster.types.size(); ++type) {
    const cluster::DeviceType &device = problem.cluster.types[type];
    Stage stage;
    stage.deviceType = type;
    for (unsigned width = 1; width <= device.count / device.nodes; width *= 2) {
      if (width > 1 && !problem.options.tensorParallel)
        break;
      stage.tensorParallel = width;
      for (bool recompute : {false, true}) {
        if (recompute &&
            !(problem.options.recompute && problem.options.training))
          continue;
        stage.recompute = recompute;
        kinds.push_back(stage);
      }
    }
  }
  return kinds;
}

void tryAll(const Problem &problem, llvm::ArrayRef<Set> cuts,
            llvm::ArrayRef<Stage> kinds, Plan &partial, Set placed,
            std::vector<unsigned> &left,
            llvm::function_ref<bool(const Plan &)> admitted, Best &best) {
  if (placed == cuts.back()) {
    unsigned stages = partial.stages.size();
    if (problem.options.exactStages && stages != problem.options.exactStages)
      return;
    Plan plan = partial;
    costPlan(problem.graph, problem.cluster, problem.options, plan);
    for (const Stage &stage : plan.stages)
      if (!std::isfinite(stage.load()) ||
          (stage.memoryLimit > 0 && stage.memoryBytes > stage.memoryLimit))
        return;
    if (plan.stepSeconds < best.step && admitted(plan)) {
      best.step = plan.stepSeconds;
      best.plan = plan;
    }
    return;
  }
  if (problem.options.maxStages &&
      partial.stages.size() == problem.options.maxStages)
    return;
  for (Set cut : cuts) {
    if (cut == placed || (placed & ~cut))
      continue;
    for (const Stage &kind : kinds) {
      const unsigned type = kind.deviceType;
      Stage stage = kind;
      for (unsigned node = 0; node < problem.graph.nodes.size(); ++node)
        if (has(cut & ~placed, node))
          stage.nodes.push_back(node);
      const unsigned most =
          problem.options.replicas
              ? std::min(left[type], problem.options.microbatches)
              : 1;
      for (stage.replicas = 1;
           stage.replicas <= most && stage.devices() <= left[type];
           ++stage.replicas) {
        left[type] -= stage.devices();
        partial.stages.push_back(stage);
        tryAll(problem, cuts, kinds, partial, cut, left, admitted, best);
        partial.stages.pop_back();
        left[type] += stage.devices();
      }
    }
  }
}

} // namespace

Best bruteForce(const Problem &problem,
                llvm::function_ref<bool(const Plan &)> admitted) {
  Best best;
  Plan plan;
  std::vector<unsigned> left;
  for (const cluster::DeviceType &type : problem.cluster.types)
    left.push_back(type.count);
  tryAll(problem, cutsOf(problem), kindsOf(problem), plan, 0, left, admitted,
         best);
  return best;
}

} // namespace hethub::planner::test

//===- Partition.cpp - operations of @main into pipeline stages -----------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/Fingerprint.h"
#include "hethub/Dialect/HH/Transforms/ModelGraph.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/HH/Transforms/PlanRecord.h"
#include "hethub/Dialect/HH/Transforms/StageBuilder.h"
#include "hethub/Dialect/HH/Transforms/StageMarks.h"
#include "hethub/Planner/Explain.h"
#include "hethub/Planner/LiveBytes.h"
#include "hethub/Planner/PlanFile.h"
#include "hethub/Planner/Planner.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <numeric>

namespace hethub::hh {
#define GEN_PASS_DEF_PARTITION
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"
} // namespace hethub::hh

using namespace mlir;
using namespace hethub;

/// Says it in terms of the weight: "stage 0 lacks n bytes" would send a user
/// looking for a better cut.
static LogicalResult requireRoomForParameters(ModuleOp module,
                                              const cluster::Cluster &cluster) {
  const cluster::DeviceType *largest = nullptr;
  for (const cluster::DeviceType &type : cluster.types) {
    if (type.memoryBytes == 0)
      return success();
    if (!largest || type.memoryBytes > largest->memoryBytes)
      largest = &type;
  }
  llvm::StringSet<> read;
  module.walk([&](hh::GetParameterOp get) { read.insert(get.getParameter()); });
  for (auto parameter : module.getOps<hh::ParameterOp>()) {
    if (!read.contains(parameter.getSymName()))
      continue;
    int64_t bytes = hh::byteSize(parameter.getType());
    if (bytes > largest->memoryBytes)
      return parameter.emitError("a parameter must fit on one device: '")
             << parameter.getSymName() << "' has " << bytes
             << " bytes, the largest device (" << largest->name << ") has "
             << largest->memoryBytes << ": " << bytes - largest->memoryBytes
             << " bytes are missing";
  }
  return success();
}

static llvm::Expected<planner::Plan>
followPlanFile(StringRef path, const planner::Graph &graph,
               const cluster::Cluster &cluster,
               const planner::Options &options) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read plan file '" + path +
                                       "': " + buffer.getError().message());
  auto stages = planner::parseStageMap((*buffer)->getBuffer(), path);
  if (!stages)
    return stages.takeError();
  return planner::checkPlan(graph, cluster, *stages, options);
}

/// A model without operations (outputs are inputs or constants) still needs a
/// program: one stage with nothing in it.
static planner::Plan planOfNothing(unsigned microbatches) {
  planner::Plan plan;
  plan.microbatches = microbatches;
  plan.stages.emplace_back();
  return plan;
}

/// Values of one microbatch that are there at once.
static double aliveBytes(const planner::Graph &graph, ArrayRef<unsigned> nodes,
                         bool training) {
  if (!training)
    return double(planner::liveBytes(graph, nodes));
  int64_t kept = 0, workspace = 0;
  for (unsigned node : nodes) {
    kept += graph.nodes[node].activationBytes;
    workspace = std::max(workspace, graph.nodes[node].workspaceBytes);
  }
  return double(kept + workspace);
}

/// What a process of each stage holds beside weights and values. Of what the
/// profile's model needed beyond an idle process the allocator kept as much
/// again as was alive, and keeps that of what is alive in a stage; the rest is
/// code and scratch memory of kernels, which a part of the model needs too.
static void addLibraryBytes(const hh::ModelGraph &model,
                            const cluster::Cluster &cluster,
                            const planner::Plan &plan,
                            llvm::json::Value &figures) {
  llvm::json::Array &stages = *figures.getAsObject()->getArray("stages");
  std::vector<unsigned> everything(model.ops.size());
  std::iota(everything.begin(), everything.end(), 0);
  const double all = aliveBytes(model.graph, everything, plan.training);
  const bool sends = plan.stages.size() > 1 || plan.stages[0].replicas > 1;
  for (auto [stage, value] : llvm::zip(plan.stages, stages)) {
    const cluster::RuntimeFigures &runtime =
        cluster.types[stage.deviceType].runtime;
    const double base =
                     double(std::min(runtime.baseBytes, runtime.libraryBytes)),
                 kernels = double(runtime.libraryBytes) - base,
                 slack = all > 0 ? std::min(1.0, kernels / all) : 0,
                 alive = aliveBytes(model.graph, stage.nodes, plan.training),
                 connections =
                     sends && base > 0
                         ? std::max(0.0, double(runtime.rankBytes) - base)
                         : 0;
    (*value.getAsObject())["library_bytes"] =
        int64_t(base + connections + kernels - slack * (all - alive));
  }
}

static hh::StageDescription describe(const cluster::Cluster &cluster,
                                     const planner::Plan &plan,
                                     const planner::Stage &stage) {
  hh::StageDescription description;
  description.device = cluster.types[stage.deviceType].name;
  description.replicas = stage.replicas;
  description.forwardSeconds = stage.forwardSeconds;
  if (plan.training) {
    description.backwardSeconds = stage.backwardSeconds;
    description.weightSeconds = stage.weightSeconds;
    description.inFlight = stage.inFlight;
    description.recompute = stage.recompute;
    description.firstRank = stage.firstRank;
  }
  return description;
}

namespace {
struct Partition : hh::impl::PartitionBase<Partition> {
  using PartitionBase::PartitionBase;

  void runOnOperation() override {
    if (failed(partition()))
      signalPassFailure();
  }

private:
  LogicalResult partition();
  FailureOr<planner::Plan> makePlan(func::FuncOp function,
                                    const hh::ModelGraph &model,
                                    const cluster::Cluster &cluster,
                                    const planner::Options &options);
  LogicalResult addExplanation(func::FuncOp function, hh::CloneRules &rules,
                               const hh::ModelGraph &model,
                               const cluster::Cluster &cluster,
                               const planner::Options &options,
                               const planner::Plan &plan,
                               llvm::json::Value &figures);
  void addLoss(func::FuncOp function, llvm::json::Value &figures);
  LogicalResult writePlan(const llvm::json::Value &figures);
};
} // namespace

FailureOr<planner::Plan> Partition::makePlan(func::FuncOp function,
                                             const hh::ModelGraph &model,
                                             const cluster::Cluster &cluster,
                                             const planner::Options &options) {
  if (model.ops.empty() && planFile.empty() && stages <= 1)
    return planOfNothing(microbatches);
  llvm::Expected<planner::Plan> plan =
      hh::hasStageMarks(function)
          ? planner::checkPlan(model.graph, cluster,
                               hh::stagesOfMarks(function, model, cluster),
                               options)
      : planFile.empty()
          ? planner::findPlan(model.graph, cluster, options)
          : followPlanFile(planFile, model.graph, cluster, options);
  if (plan && stagesPerDevice > 1 && !plan->isInterleaved())
    return function.emitError("a plan of several stages a device must say the "
                              "first_rank of each, got none in ")
           << planFile;
  if (plan)
    return std::move(*plan);
  llvm::handleAllErrors(plan.takeError(), [&](const llvm::ErrorInfoBase &e) {
    function.emitError() << e.message();
  });
  return failure();
}

LogicalResult Partition::addExplanation(
    func::FuncOp function, hh::CloneRules &rules, const hh::ModelGraph &model,
    const cluster::Cluster &cluster, const planner::Options &options,
    const planner::Plan &plan, llvm::json::Value &figures) {
  if (!explain && !whatIf)
    return success();
  const bool own = !planFile.empty() || hh::hasStageMarks(function);
  planner::Explanation explanation =
      planner::explainPlan(model.graph, cluster, options, plan,
                           {/*alternatives=*/!own, /*whatIf=*/whatIf && !own});
  if (own) {
    // A search attaches clones to their readers, a user's map need not.
    FailureOr<hh::ModelGraph> searched =
        hh::buildModelGraph(function, cluster, rules, /*attachClones=*/true);
    if (failed(searched))
      return failure();
    planner::compareWithAutomatic(searched->graph, cluster, options, whatIf,
                                  explanation);
  }
  (*figures.getAsObject())["explanation"] =
      planner::explanationToJSON(model.graph, cluster, plan, explanation);
  return success();
}

void Partition::addLoss(func::FuncOp function, llvm::json::Value &figures) {
  if (!training)
    return;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, hh::lossAttrName))
      if (auto name = function.getResultAttrOfType<StringAttr>(i, "onnx.name"))
        (*figures.getAsObject())["loss"] = name.getValue();
}

LogicalResult Partition::writePlan(const llvm::json::Value &figures) {
  if (planOut.empty())
    return success();
  llvm::Error error =
      llvm::writeToOutput(planOut, [&](raw_ostream &stream) -> llvm::Error {
        stream << llvm::formatv("{0:2}\n", figures);
        return llvm::Error::success();
      });
  if (!error)
    return success();
  return getOperation().emitError("cannot write plan file '")
         << planOut.getValue() << "': " << llvm::toString(std::move(error));
}

LogicalResult Partition::partition() {
  ModuleOp module = getOperation();
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || !function.getBody().hasOneBlock())
    return module.emitError("module must have a function @main of one block");
  if (!function.getOps<hh::StageOp>().empty())
    return function.emitError("function must not be partitioned already");
  if (microbatches < 1)
    return function.emitError("microbatches must be at least 1, got: 0");
  cluster::Cluster cluster = hh::readCluster(module);
  if (llvm::Error error = cluster::readRuntimeFigures(cluster))
    return module.emitError() << llvm::toString(std::move(error));
  if (cluster.types.empty())
    return module.emitError("module must describe its devices "
                            "(hh-load-cluster), got: no hh.device_type");
  if (failed(requireRoomForParameters(module, cluster)))
    return failure();

  hh::CloneRules rules(function);
  FailureOr<hh::ModelGraph> model = hh::buildModelGraph(
      function, cluster, rules,
      /*attachClones=*/planFile.empty() && !hh::hasStageMarks(function));
  if (failed(model))
    return failure();
  planner::Options options;
  options.microbatches = microbatches;
  options.microbatchSize = microbatchSize;
  options.exactStages = stages;
  options.training = training;
  if (std::optional<simulator::ScheduleKind> kind =
          simulator::scheduleKindOf(schedule))
    options.schedule = *kind;
  else
    return function.emitError("schedule must be ")
           << simulator::scheduleKindNames() << ", got: " << schedule;
  options.stagesPerDevice = stagesPerDevice;
  options.replicas = replicas;
  options.tensorParallel = tensorParallel;
  options.recompute = recompute;
  options.workLimit = workLimit;
  FailureOr<planner::Plan> plan = makePlan(function, *model, cluster, options);
  if (failed(plan))
    return failure();

  std::vector<unsigned> stageOf(model->ops.size());
  for (auto [stage, description] : llvm::enumerate(plan->stages))
    for (unsigned node : description.nodes)
      stageOf[node] = stage;
  hh::StageBuilder builder(function, rules, model->ops, stageOf,
                           plan->stages.size());
  if (std::optional<unsigned> stage = builder.emptyStage();
      stage && !model->ops.empty())
    return function.emitError("each stage must compute something, got only "
                              "constant sequences in stage ")
           << *stage;
  if (builder.homes() != stageOf) {
    for (planner::Stage &stage : plan->stages)
      stage.nodes.clear();
    for (auto [node, stage] : llvm::enumerate(builder.homes()))
      plan->stages[stage].nodes.push_back(node);
    planner::costPlan(model->graph, cluster, options, *plan);
  }
  if (upperBound) {
    llvm::Expected<double> throughput =
        planner::upperBoundThroughput(model->graph, cluster, options);
    if (!throughput)
      return function.emitError() << llvm::toString(throughput.takeError());
    plan->upperBoundThroughput = *throughput;
  }
  std::vector<hh::StageDescription> descriptions;
  for (const planner::Stage &stage : plan->stages)
    descriptions.push_back(describe(cluster, *plan, stage));
  llvm::json::Value figures = planner::planToJSON(model->graph, cluster, *plan);
  addLibraryBytes(*model, cluster, *plan, figures);
  addLoss(function, figures);
  if (failed(addExplanation(function, rules, *model, cluster, options, *plan,
                            figures)) ||
      failed(writePlan(figures)))
    return failure();

  auto end = OpBuilder::atBlockEnd(module.getBody());
  hh::recordFingerprint(module);
  builder.build(descriptions);
  hh::PlanOp::create(
      end, module.getLoc(),
      cast<DictionaryAttr>(hh::toAttribute(&getContext(), figures)));
  return success();
}

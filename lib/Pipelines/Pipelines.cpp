//===- Pipelines.cpp - the named pipelines --------------------------------===//

#include "hethub/Pipelines/Pipelines.h"

#include "hethub/Conversion/ONNXToATen/Passes.h"
#include "hethub/Cost/Passes.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Differentiate/Passes.h"
#include "hethub/Emit/Program/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace hethub {

static void verifyPhase(OpPassManager &pm, StringRef phase) {
  hh::VerifyPhaseOptions options;
  options.phase = phase.str();
  pm.addPass(hh::createVerifyPhase(options));
}

/// Whether gradients of parameters have a program of their own: the one
/// schedule that has a place for it.
static bool splitsBackward(const CompileOptions &options) {
  return options.training && options.schedule == "zero-bubble";
}

/// Sizes of the dims that stay open, for costs: "batch=?8" is typically 8, and
/// 1 where nothing is said.
static std::vector<std::string>
typicalDims(const std::vector<std::string> &dims) {
  std::vector<std::string> sizes;
  for (StringRef dim : dims) {
    auto [name, size] = dim.rsplit('=');
    if (size.consume_front("?"))
      sizes.push_back((name + "=" + (size.empty() ? "1" : size)).str());
  }
  return sizes;
}

void buildNormalizePipeline(OpPassManager &pm, const CompileOptions &options) {
  // Sizes that the user fixed: everything after this relies on static shapes.
  if (!options.dims.empty()) {
    ox::SpecializeDimsOptions dims;
    dims.dims.assign(options.dims.begin(), options.dims.end());
    pm.addPass(ox::createSpecializeDims(dims));
  }
  // Folding removes what does nothing unless it trains.
  if (options.training) {
    ox::TrainingModeOptions mode;
    mode.operators.assign(options.trainingMode.begin(),
                          options.trainingMode.end());
    pm.addPass(ox::createTrainingMode(mode));
  }
  // Shape arithmetic is constant now; folding it leaves only what computes on
  // data.
  pm.addPass(ox::createInferShapes());
  pm.addPass(ox::createFoldConstants());
  // Equal sub-expressions of the exporter (masks, positions) hide patterns from
  // the next pass.
  pm.addPass(createCSEPass());
  pm.addPass(ox::createRaisePatterns());
  // Raising builds the tables of rotary embeddings and its constants anew for
  // each form.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  // Stages are made of operations.
  pm.addPass(ox::createKeepOperation());
  if (std::vector<std::string> typical = typicalDims(options.dims);
      !typical.empty()) {
    ox::RecordTypicalSizesOptions sizes;
    sizes.dims.assign(typical.begin(), typical.end());
    pm.addPass(ox::createRecordTypicalSizes(sizes));
  }
  // The loss is a part of the model from here on: planned, cut and lowered.
  if (options.training) {
    ox::AddLossOptions loss;
    loss.required = options.lossRequired;
    loss.loss = options.loss;
    loss.lossOutput = options.lossOutput;
    pm.addPass(ox::createAddLoss(loss));
  }
}

void buildPlanPipeline(OpPassManager &pm, const CompileOptions &options) {
  hh::LoadClusterOptions cluster;
  cluster.file = options.cluster;
  cluster.stages =
      options.cluster.empty() ? options.stages / options.stagesPerDevice : 0;
  pm.addPass(hh::createLoadCluster(cluster));
  // Costs need the device types; the planner needs the costs.
  cost::AnnotateCostOptions cost;
  cost.training = options.training;
  cost.splitBackward = splitsBackward(options);
  cost.frozen.assign(options.frozen.begin(), options.frozen.end());
  pm.addPass(cost::createAnnotateCost(cost));
  verifyPhase(pm, "cost");
  hh::PartitionOptions partition;
  partition.stages = options.stages;
  partition.microbatches = options.microbatches;
  partition.microbatchSize = options.microbatchSize;
  partition.training = options.training;
  partition.schedule = options.schedule;
  partition.stagesPerDevice = options.stagesPerDevice;
  partition.replicas = options.replicas;
  partition.tensorParallel = options.tensorParallel;
  partition.recompute = options.recompute;
  partition.workLimit = options.workLimit;
  partition.upperBound = true;
  partition.planFile = options.planFile;
  partition.explain = options.explain;
  partition.whatIf = options.whatIf;
  pm.addPass(hh::createPartition(partition));
  verifyPhase(pm, "partition");
}

static void addDifferentiation(OpPassManager &pm,
                               const CompileOptions &options) {
  differentiate::DifferentiateOptions gradients;
  gradients.microbatches = options.microbatches;
  gradients.splitWeight = splitsBackward(options);
  gradients.frozen.assign(options.frozen.begin(), options.frozen.end());
  pm.addPass(differentiate::createDifferentiate(gradients));
  // Each gradient's rule makes the views and sums that it needs by itself.
  pm.addPass(createCSEPass());
  verifyPhase(pm, "differentiate");
  // What is saved is known now; zero-bubble uses the memory that is left.
  pm.addPass(hh::createRecordMemory());
}

void buildLowerPipeline(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(hh::createInsertCommunication());
  // From here on nothing moves between stages: the last moment to prove that
  // nothing was lost.
  pm.addPass(hh::createVerifyPlan());
  verifyPhase(pm, "communication");
  pm.addPass(emit::createRecordOrigins());
  pm.addPass(createLowerToATen());
  // Dead constants and repeated views of the lowered calls.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  // Where a device type asks for it; gradients follow from what is here.
  if (options.training) {
    pm.addPass(createLowerPrecision());
    // Several products may read one value: rounded, and kept, once.
    pm.addPass(createCSEPass());
  }
  HoistStartUpOptions startUp;
  startUp.training = options.training;
  pm.addPass(createHoistStartUp(startUp));
  verifyPhase(pm, "lower");
  hh::MakeScheduleOptions schedule;
  if (options.training) {
    addDifferentiation(pm, options);
    schedule.training = true;
    schedule.microbatches = options.microbatches;
    schedule.schedule = options.schedule;
  }
  pm.addPass(hh::createMakeSchedule(schedule));
  verifyPhase(pm, "schedule");
}

namespace {
/// What hh-lower-stages takes in hh-opt.
struct LowerStagesOptions : PassPipelineOptions<LowerStagesOptions> {
  Option<bool> training{*this, "training",
                        llvm::cl::desc("programs of a training step"),
                        llvm::cl::init(false)};
  Option<unsigned> microbatches{*this, "microbatches",
                                llvm::cl::desc("training: of a step"),
                                llvm::cl::init(1)};
  Option<std::string> schedule{*this, "schedule",
                               llvm::cl::desc("training: order of a step"),
                               llvm::cl::init("1f1b")};
  ListOption<std::string> frozen{
      *this, "frozen", llvm::cl::desc("training: patterns of parameters")};
};
} // namespace

void registerPipelines() {
  PassPipelineRegistration<>(
      "hh-normalize", "static shapes, folded shape arithmetic, raised patterns",
      [](OpPassManager &pm) { buildNormalizePipeline(pm, {}); });
  PassPipelineRegistration<LowerStagesOptions>(
      "hh-lower-stages",
      "stages to lowered programs with their communication and schedule",
      [](OpPassManager &pm, const LowerStagesOptions &given) {
        CompileOptions options;
        options.training = given.training;
        options.microbatches = given.microbatches;
        options.schedule = given.schedule;
        options.frozen.assign(given.frozen.begin(), given.frozen.end());
        buildLowerPipeline(pm, options);
      });
}

} // namespace hethub

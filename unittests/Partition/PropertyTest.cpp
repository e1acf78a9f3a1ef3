// Whatever the model and however it is cut: nothing is lost, the schedule
// cannot block, and the programs compute what the model does.
#include "Loopback.h"
#include "RandomModel.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/Fingerprint.h"
#include "hethub/Dialect/HH/Transforms/ModelGraph.h"
#include "hethub/Dialect/HH/Transforms/StageBuilder.h"
#include "hethub/Planner/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileUtilities.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::test;

namespace {

constexpr int seeds = 2000;

/// From stages to schedule, with all checks in between.
void checkStages(ModuleOp module, const Outputs &expected, int microbatches,
                 bool stream) {
  std::string schedule =
      stream ? "hh-schedule"
             : "hh-schedule{microbatches=" + std::to_string(microbatches) + "}";
  ASSERT_EQ("", runPasses(module, "hh-verify-phase{phase=partition},"
                                  "hh-insert-communication,"
                                  "hh-verify-phase{phase=communication},"
                                  "hh-verify-plan," +
                                      schedule));
  EXPECT_EQ(expected, runPrograms(module, microbatches));
  // Receivers must not get strided views: only what is marked may be one.
  module.walk([](hh::SendOp send) {
    Operation *producer = send.getValue().getDefiningOp();
    EXPECT_TRUE(!producer || !hh::isViewLike(producer) || send.getPack());
  });
}

TEST(Partition, PlannedStagesComputeTheModel) {
  auto context = makeContext();
  size_t cut = 0, clones = 0, replans = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string text = randomModel(random);
    auto module = parse(*context, text);
    ASSERT_TRUE(module) << text;
    int microbatches = 1 + random() % 4;
    Outputs expected = runModel(*module, microbatches);
    std::string options = "microbatches=" + std::to_string(microbatches);
    std::string exact = " stages=" + std::to_string(1 + random() % 5);
    // Few operations, or sequences between them, may not allow that many.
    std::string refused =
        runPasses(*module, "hh-partition{" + options + exact + "}");
    if (!refused.empty()) {
      ++replans;
      ASSERT_EQ("", runPasses(*module, "hh-partition{" + options + "}"));
    }
    auto main = module->lookupSymbol<func::FuncOp>("main");
    cut += !llvm::hasSingleElement(main.getOps<hh::StageOp>());
    module->walk(
        [&](Operation *op) { clones += op->hasAttr(hh::cloneAttrName); });
    checkStages(*module, expected, microbatches, random() % 2);
    if (HasFatalFailure() || HasFailure()) {
      module->dump();
      FAIL() << text;
    }
  }
  // The test means something only if most models are cut and some values are
  // computed twice.
  EXPECT_GT(cut, seeds / 2u);
  EXPECT_GT(clones, seeds / 10u);
  EXPECT_LT(replans, seeds / 2u);
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // The predicted figures are computed in another order.
  for (Operation &op : *module.getBody())
    if (!isa<hh::PlanOp>(op))
      op.print(stream);
  return text;
}

TEST(Partition, WrittenPlanGivesTheSameStages) {
  auto context = makeContext();
  SmallString<128> file;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("plan", "json", file));
  llvm::FileRemover remover(file);
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string text = randomModel(random);
    auto planned = parse(*context, text), followed = parse(*context, text);
    ASSERT_EQ("", runPasses(*planned, "hh-partition{microbatches=8 plan-out=" +
                                          file.str().str() + "}"));
    ASSERT_EQ("", runPasses(*followed, "hh-partition{microbatches=8 plan=" +
                                           file.str().str() + "}"));
    ASSERT_EQ(print(*planned), print(*followed)) << text;
  }
}

/// A stage for each operation that is not before those it reads from. Values
/// that no channel carries keep their readers.
std::vector<unsigned> randomStages(const hh::ModelGraph &model,
                                   std::mt19937 &random, unsigned &count) {
  std::vector<unsigned> stages(model.ops.size(), 0);
  for (unsigned node = 0; node < stages.size(); ++node) {
    bool tied = false;
    for (const planner::Tensor &tensor : model.graph.tensors)
      if (llvm::is_contained(tensor.consumers, node)) {
        stages[node] = std::max(stages[node], stages[tensor.producer]);
        tied |= !tensor.cuttable;
      }
    if (!tied && random() % 3 == 0)
      stages[node] += random() % 3;
  }
  // A sequence and what makes it come from elsewhere than its reader's other
  // operands; then the plan is not legal and the test takes another.
  for (const planner::Tensor &tensor : model.graph.tensors)
    for (unsigned consumer : tensor.consumers)
      if (!tensor.cuttable && stages[consumer] != stages[tensor.producer])
        return {};
  // Numbers without gaps.
  std::set<unsigned> used(stages.begin(), stages.end());
  count = used.size();
  for (unsigned &stage : stages)
    stage = std::distance(used.begin(), used.find(stage));
  return stages;
}

TEST(Partition, AnyStageMapComputesTheModel) {
  auto context = makeContext();
  int tried = 0, pinned = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string text = randomModel(random);
    auto module = parse(*context, text);
    ASSERT_TRUE(module) << text;
    int microbatches = 1 + random() % 4;
    Outputs expected = runModel(*module, microbatches);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    hh::CloneRules rules(main);
    cluster::Cluster cluster = hh::readCluster(*module);
    cluster.types[0].count = 1000; // enough for any map
    hh::writeCluster(*module, cluster);
    auto model = hh::buildModelGraph(main, cluster, rules, false);
    ASSERT_TRUE(succeeded(model));
    unsigned count = 0;
    std::vector<unsigned> stages = randomStages(*model, random, count);
    if (stages.empty())
      continue;
    hh::StageBuilder builder(main, rules, model->ops, stages, count);
    if (builder.emptyStage())
      continue;
    ++tried;
    hh::recordFingerprint(*module);
    std::vector<hh::StageDescription> descriptions;
    for (unsigned stage = 0; stage < count; ++stage)
      descriptions.push_back({"d0", 1 + unsigned(random() % 2), 1e-3});
    builder.build(descriptions);
    checkStages(*module, expected, microbatches, false);
    module->walk([&](hh::SendOp send) { pinned += send.getPack(); });
    if (HasFatalFailure() || HasFailure()) {
      module->dump();
      FAIL() << text;
    }
  }
  EXPECT_GT(tried, seeds / 2);
  EXPECT_GT(pinned, seeds / 10);
}

} // namespace

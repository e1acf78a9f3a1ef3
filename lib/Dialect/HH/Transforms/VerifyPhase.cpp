//===- VerifyPhase.cpp - the contract between phases ----------------------===//
//
// One row a fact: the first phase after which it holds, the last one, and the
// check. docs/Phases.md says the same in words.
//===----------------------------------------------------------------------===//

#include "VerifyTraining.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Dialect/HH/Transforms/Fingerprint.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/HH/Transforms/ScheduleTable.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"
#include "hethub/Support/Names.h"
#include "hethub/Support/OpenDims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

namespace hethub::hh {
#define GEN_PASS_DEF_VERIFYPHASE
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"
} // namespace hethub::hh

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

namespace {

enum Phase {
  Import,
  Normalise,
  Cost,
  Partition,
  Communication,
  Lower,
  Differentiate,
  Schedule,
};
constexpr StringLiteral phaseNames[] = {
    "import",        "normalise", "cost",          "partition",
    "communication", "lower",     "differentiate", "schedule"};

/// "'layer0/MatMul' (onnx.MatMul)"
std::string describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  StringRef name = nodeName(op);
  return name.empty() ? text : "'" + name.str() + "' (" + text + ")";
}

func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main");
}

/// Operations of the model at the top of @main.
auto nodesOf(ModuleOp module) {
  return mainOf(module).getBody().front().without_terminator();
}

LogicalResult oneMain(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  auto main = mainOf(module);
  if (!main || !llvm::hasSingleElement(functions) ||
      !main.getBody().hasOneBlock())
    return module.emitError("the model must be one function @main of one "
                            "block, got: ")
           << llvm::range_size(functions) << " functions";
  return success();
}

/// Dialects of nodes: one for each group of ONNX domains.
constexpr StringLiteral modelDialects[] = {"onnx", "com_microsoft"};

LogicalResult onlyModelOperations(ModuleOp module) {
  for (Operation &op : nodesOf(module))
    if (!llvm::is_contained(modelDialects,
                            op.getName().getDialectNamespace()) &&
        !isa<GetParameterOp>(op))
      return op.emitError("@main must hold onnx operations and parameters "
                          "only, got: ")
             << describe(&op);
  return success();
}

LogicalResult fixedInputs(ModuleOp module) {
  if (mainOf(module)->hasAttr(openDimsAttrName))
    return requireFixedDims(mainOf(module));
  for (BlockArgument input : mainOf(module).getArguments())
    if (auto type = dyn_cast<RankedTensorType>(input.getType()))
      if (!type.hasStaticShape())
        return mainOf(module).emitError("inputs must have static shapes, got: ")
               << type << " '" << valueName(input) << "'";
  return success();
}

LogicalResult allCosts(ModuleOp module) {
  for (Operation &op : nodesOf(module)) {
    if (isConstantLike(&op))
      continue;
    auto cost = op.getAttrOfType<CostAttr>(costAttrName);
    if (!cost)
      return op.emitError("operations must have a cost, got none: ")
             << describe(&op);
    for (auto type : module.getOps<DeviceTypeOp>())
      if (!cost.getSeconds().contains(type.getSymName()))
        return op.emitError("costs must cover every device type, got none for ")
               << type.getSymName() << ": " << describe(&op);
  }
  return success();
}

LogicalResult onlyStages(ModuleOp module) {
  int64_t count = 0;
  for (Operation &op : nodesOf(module)) {
    auto stage = dyn_cast<StageOp>(op);
    if (!stage)
      return op.emitError("operations must be in stages, got: ")
             << describe(&op);
    if (static_cast<int64_t>(stage.getIndex()) != count)
      return stage.emitError("stages must be numbered from 0 in their order, ")
             << count << ", got: " << stage.getIndex();
    ++count;
  }
  if (count == 0)
    return mainOf(module).emitError("@main must have a stage");
  return success();
}

/// No idle ranks: each stage of a model that has operations computes one of
/// them.
LogicalResult noEmptyStage(ModuleOp module) {
  for (auto stage : mainOf(module).getOps<StageOp>()) {
    auto isWork = [](Operation &op) {
      return !isConstantLike(&op) && !op.hasAttr(cloneAttrName);
    };
    if (stage->getNextNode() ==
            mainOf(module).getBody().front().getTerminator() &&
        stage.getIndex() == 0)
      continue; // a model without operations has one stage all the same
    if (llvm::none_of(stage.getBody().front().without_terminator(), isWork))
      return stage.emitError("a stage must compute an operation of its own, "
                             "got none in stage ")
             << stage.getIndex();
  }
  return success();
}

LogicalResult sendableBorders(ModuleOp module) {
  for (auto stage : mainOf(module).getOps<StageOp>())
    for (Value input : stage.getInputs())
      if (isa<OpResult>(input) && !isSendable(input.getType()))
        return stage.emitError("a value that crosses stages must be a tensor "
                               "of numbers and of known rank, got: ")
               << input.getType() << " '" << valueName(input) << "'";
  return success();
}

/// The cluster has the devices that stages and programs take; all programs of a
/// stage run on the same ones.
LogicalResult enoughDevices(ModuleOp module) {
  llvm::StringMap<int64_t> used;
  llvm::DenseSet<Attribute> ranks; // of stages that share them
  module.walk([&](Operation *op) {
    if (!isa<StageOp, ProgramOp>(op) || op->hasAttr("part"))
      return;
    Attribute rank = op->getAttr(firstRankAttrName);
    if (!rank || ranks.insert(rank).second)
      used[op->getAttrOfType<FlatSymbolRefAttr>("device").getValue()] +=
          op->getAttrOfType<IntegerAttr>("replicas").getInt();
  });
  for (auto type : module.getOps<DeviceTypeOp>())
    if (used.lookup(type.getSymName()) > static_cast<int64_t>(type.getCount()))
      return type.emitError(
                 "stages must not take more devices than there are, ")
             << type.getCount() << " of " << type.getSymName()
             << ", got: " << used.lookup(type.getSymName());
  return success();
}

LogicalResult clonesArePure(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (!op->hasAttr(cloneAttrName) || isMemoryEffectFree(op))
      return WalkResult::advance();
    op->emitError("clones must be free of side effects, got: ") << describe(op);
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult onlyPrograms(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (!isa<func::FuncOp, StageOp>(op))
      return WalkResult::advance();
    op->emitError("stages must have become programs, got: ") << describe(op);
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult pairedChannels(ModuleOp module) {
  return failure(failed(readPipeline(module)) ||
                 failed(channelDirections(module)));
}

/// Each output of the model is made once; arguments and results say which of
/// the model's they are. Training programs have results of other kinds, and of
/// the outputs some (VerifyTraining.h).
LogicalResult modelPorts(ModuleOp module) {
  if (isTraining(module))
    return success();
  llvm::DenseMap<int64_t, ProgramOp> outputs;
  for (auto program : module.getOps<ProgramOp>()) {
    for (unsigned i = 0; i < program.getNumArguments(); ++i)
      if (!program.getArgAttrOfType<IntegerAttr>(i, "onnx.index"))
        return program.emitError("arguments must be inputs of the model with "
                                 "an onnx.index, got none for argument ")
               << i;
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      auto index =
          dyn_cast_or_null<IntegerAttr>(program.getResultAttr(i, "onnx.index"));
      if (!index)
        return program.emitError("results must be outputs of the model with "
                                 "an onnx.index, got none for result ")
               << i;
      auto [first, isNew] = outputs.try_emplace(index.getInt(), program);
      if (!isNew)
        return program.emitError("an output must be made once, got a second "
                                 "time: output ")
               << index.getInt();
    }
  }
  for (auto record : module.getOps<FingerprintOp>())
    for (int64_t i = 0; i < static_cast<int64_t>(record.getOutputs().size());
         ++i)
      if (!outputs.contains(i))
        return module.emitError("every output must be made, got none for "
                                "output ")
               << i;
  return success();
}

LogicalResult onlyLowered(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "aten" || dialect == "hh" || isa<ModuleOp>(op))
      return WalkResult::advance();
    op->emitError("programs must hold aten and hh operations only, got: ")
        << describe(op);
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult validSchedule(ModuleOp module) {
  std::optional<simulator::Schedule> schedule = readSchedule(module);
  if (!schedule)
    return module.emitError("module must hold a schedule (hh-schedule)");
  FailureOr<simulator::Pipeline> pipeline = readPipeline(module);
  if (failed(pipeline))
    return failure();
  if (llvm::Error error = simulator::validate(*schedule, *pipeline))
    return module.emitError() << llvm::toString(std::move(error));
  return success();
}

constexpr struct {
  Phase first, last;
  LogicalResult (*check)(ModuleOp);
} contract[] = {
    {Import, Partition, oneMain},
    {Import, Cost, onlyModelOperations},
    {Normalise, Partition, fixedInputs},
    {Cost, Cost, allCosts},
    {Partition, Partition, onlyStages},
    {Partition, Partition, noEmptyStage},
    {Partition, Partition, sendableBorders},
    {Partition, Schedule, enoughDevices},
    {Partition, Communication, clonesArePure},
    {Communication, Schedule, onlyPrograms},
    {Communication, Schedule, pairedChannels},
    {Communication, Schedule, modelPorts},
    {Partition, Communication, verifyPlan},
    {Lower, Schedule, onlyLowered},
    {Differentiate, Differentiate, differentiated},
    {Differentiate, Schedule, trainingPorts},
    {Differentiate, Schedule, savedSlots},
    {Differentiate, Schedule, parameterResults},
    {Schedule, Schedule, validSchedule},
};

struct VerifyPhase : hh::impl::VerifyPhaseBase<VerifyPhase> {
  using VerifyPhaseBase::VerifyPhaseBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const auto *name = llvm::find(phaseNames, StringRef(phase));
    if (name == std::end(phaseNames)) {
      getOperation().emitError("phase must be one of ")
          << llvm::join(ArrayRef(phaseNames), ", ") << "; got: '" << phase
          << "'";
      return signalPassFailure();
    }
    auto number = static_cast<Phase>(name - std::begin(phaseNames));
    for (const auto &fact : contract)
      if (fact.first <= number && number <= fact.last &&
          failed(fact.check(getOperation())))
        return signalPassFailure();
  }
};

} // namespace

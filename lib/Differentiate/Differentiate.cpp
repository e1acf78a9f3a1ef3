//===- Differentiate.cpp - forward, backward and weight programs ----------===//
//
// Stages are differentiated from the last one to the first, so that a stage
// knows which of its values later ones send a gradient back for. All of it
// happens on a copy of the module: one with an operator that has no rule stays
// as it was.
//===----------------------------------------------------------------------===//

#include "hethub/Differentiate/Passes.h"

#include "ReachedValues.h"
#include "SplitPrograms.h"
#include "StageGradients.h"
#include "TrainingOutputs.h"
#include "hethub/Dialect/ATen/IR/ATenDialect.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace hethub::differentiate {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "hethub/Differentiate/Passes.h.inc"

namespace {

using ParameterNames = llvm::SetVector<StringAttr>;

class Differentiation {
public:
  Differentiation(ModuleOp module, const DifferentiateOptions &options)
      : module(module), options(options) {}
  LogicalResult run();

private:
  LogicalResult readPrograms();
  void moveParametersOut();
  LogicalResult chooseTrained();
  LogicalResult reportRefusals();
  LogicalResult checkTrained();
  void numberGradientChannels();

  ModuleOp module;
  const DifferentiateOptions &options;
  SmallVector<hh::ProgramOp> programs; ///< forward, by stage
  ParameterNames trained;              ///< parameters that may get a gradient
  std::vector<StageGradients> stages;  ///< last stage first
  GradientChannels channels;
};

} // namespace

LogicalResult Differentiation::readPrograms() {
  auto found = hh::readStages(module);
  if (failed(found))
    return failure();
  for (hh::StageParts &stage : *found) {
    if (stage.backward || stage.weight)
      return stage.forward.emitError("programs must not be differentiated "
                                     "twice, got a backward program of stage ")
             << stage.forward.getStage();
    programs.push_back(stage.forward);
  }
  // A schedule of the forward programs alone says nothing of a training step.
  for (auto schedule :
       llvm::make_early_inc_range(module.getOps<hh::ScheduleOp>()))
    schedule.erase();
  return success();
}

/// Parameters that branches read become values that they read from outside,
/// like all others.
void Differentiation::moveParametersOut() {
  for (hh::ProgramOp program : programs) {
    Block &block = program.getBody().front();
    for (auto branch : block.getOps<hh::IfOp>())
      branch.walk([&](hh::GetParameterOp get) { get->moveBefore(branch); });
  }
}

/// All float parameters that programs read, but those whose name matches a
/// pattern.
LogicalResult Differentiation::chooseTrained() {
  ParameterNames frozen;
  for (const std::string &text : options.frozen) {
    auto pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return emitError(module.getLoc(),
                       "a pattern of frozen parameters must be a glob "
                       "pattern, got: '")
             << text << "': " << llvm::toString(pattern.takeError());
    bool matched = false;
    for (auto parameter : module.getOps<hh::ParameterOp>())
      if (pattern->match(parameter.getSymName())) {
        frozen.insert(parameter.getSymNameAttr());
        matched = true;
      }
    if (!matched)
      return emitError(module.getLoc(),
                       "a pattern of frozen parameters must match one, "
                       "got: '")
             << text << "'";
  }
  for (hh::ProgramOp program : programs)
    program.walk([&](hh::GetParameterOp get) {
      StringAttr name = get.getParameterAttr().getAttr();
      if (isFloatTensor(get.getType()) && !frozen.contains(name))
        trained.insert(name);
    });
  if (trained.empty())
    return emitError(module.getLoc(),
                     "a parameter must be left to train, got none: ")
           << (frozen.empty() ? "the model has none" : "all are frozen");
  return success();
}

LogicalResult Differentiation::reportRefusals() {
  size_t calls = 0, refused = 0;
  std::map<std::string, size_t> counts;
  for (const StageGradients &stage : llvm::reverse(stages)) {
    calls += stage.calls;
    refused += stage.refusals.size();
    for (const Refusal &refusal : llvm::reverse(stage.refusals)) {
      ++counts[refusal.operation];
      emitError(refusal.loc) << refusal.operation
                             << " cannot be differentiated: " << refusal.reason;
    }
  }
  if (refused == 0)
    return success();
  std::string summary =
      llvm::join(llvm::map_range(counts,
                                 [](const auto &count) {
                                   return count.first + " (" +
                                          std::to_string(count.second) + ")";
                                 }),
                 ", ");
  return emitError(module.getLoc())
         << refused << " of " << calls
         << " operations on the way of gradients cannot be differentiated: "
         << summary;
}

/// Parameters that no gradient reaches stay as they are: worth a word, unless
/// the forward pass gives them new values itself.
LogicalResult Differentiation::checkTrained() {
  llvm::DenseSet<StringAttr> reached;
  for (const StageGradients &stage : stages)
    for (auto &[name, gradient] : stage.ofParameters)
      reached.insert(name);
  if (reached.empty())
    return emitError(module.getLoc(),
                     "the loss must depend on a parameter that is "
                     "trained, got none that a gradient reaches");
  llvm::DenseSet<StringAttr> updated;
  for (hh::ProgramOp program : programs)
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      if (auto parameter = program.getResultAttrOfType<FlatSymbolRefAttr>(
              i, hh::updateAttrName)) {
        if (reached.contains(parameter.getAttr()))
          return program.emitError("a parameter that the forward pass gives "
                                   "new values must not have a gradient, got: ")
                 << parameter;
        updated.insert(parameter.getAttr());
      }
  SmallVector<StringAttr> untrained;
  for (StringAttr name : trained)
    if (!reached.contains(name) && !updated.contains(name))
      untrained.push_back(name);
  if (untrained.empty())
    return success();
  // Buffers of a model can be many: one line, not one for each.
  constexpr size_t shown = 8;
  InFlightDiagnostic warning = emitWarning(
      module.getLoc(), "parameters that no gradient reaches are not trained: ");
  llvm::interleaveComma(ArrayRef(untrained).take_front(shown), warning,
                        [&](StringAttr name) { warning << name.getValue(); });
  if (untrained.size() > shown)
    warning << " and " << untrained.size() - shown << " more";
  return success();
}

/// Numbers follow those of the values, in the same order.
void Differentiation::numberGradientChannels() {
  int64_t number = 0;
  for (hh::ProgramOp program : programs)
    number += llvm::range_size(program.getOps<hh::SendOp>());
  for (auto &[value, channel] : channels) {
    channel.send.setChannel(number);
    channel.recv.setChannel(number);
    ++number;
  }
}

LogicalResult Differentiation::run() {
  if (failed(readPrograms()) || failed(chooseTrained()) ||
      failed(keepTrainingOutputs(module, programs)))
    return failure();
  moveParametersOut();
  llvm::DenseSet<StringAttr> names(trained.begin(), trained.end());
  Gradients gradients;
  gradients.wanted = reachedValues(programs, names);
  stages.reserve(programs.size());
  for (hh::ProgramOp program : llvm::reverse(programs))
    stages.emplace_back(program, gradients)
        .run(1.0 / options.microbatches, channels);
  if (failed(reportRefusals()) || failed(checkTrained()))
    return failure();
  numberGradientChannels();
  for (StageGradients &stage : stages)
    splitPrograms(stage, options.splitWeight);
  return success();
}

namespace {

struct DifferentiatePass : impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (microbatches == 0) {
      emitError(module.getLoc(), "microbatches must be at least 1, got: 0");
      return signalPassFailure();
    }
    DifferentiateOptions options;
    options.microbatches = microbatches;
    options.splitWeight = splitWeight;
    options.frozen.assign(frozen.begin(), frozen.end());
    OwningOpRef<ModuleOp> copy(module.clone());
    if (failed(Differentiation(*copy, options).run()))
      return signalPassFailure();
    module.getBodyRegion().takeBody(copy->getBodyRegion());
  }
};

} // namespace
} // namespace hethub::differentiate

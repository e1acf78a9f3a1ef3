//===- RecordMemory.cpp - the plan's memory by what programs keep ---------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/HH/Transforms/PlanRecord.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"

#include "mlir/IR/Builders.h"

namespace hethub::hh {
#define GEN_PASS_DEF_RECORDMEMORY
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"
} // namespace hethub::hh

using namespace mlir;
using namespace hethub;
namespace json = llvm::json;

static int64_t bytesOf(TypeRange types,
                       llvm::function_ref<bool(unsigned)> isSaved) {
  int64_t bytes = 0;
  for (auto [index, type] : llvm::enumerate(types))
    if (isSaved(index))
      bytes += hh::byteSize(type);
  return bytes;
}

/// Bytes of a microbatch between its forward pass and its last function: what
/// the forward program saves, or what waits for the weight program if that is
/// more.
static int64_t keptBytes(const hh::StageParts &stage) {
  hh::ProgramOp forward = stage.forward, weight = stage.weight;
  int64_t kept = bytesOf(forward.getResultTypes(), [&](unsigned index) {
    return bool(forward.getResultAttr(index, hh::savedAttrName));
  });
  if (weight)
    kept = std::max(kept, bytesOf(weight.getArgumentTypes(), [](unsigned) {
                      return true; // it has no others
                    }));
  return kept;
}

namespace {
struct RecordMemory : hh::impl::RecordMemoryBase<RecordMemory> {
  void runOnOperation() override {
    FailureOr<std::vector<hh::StageParts>> stages =
        hh::readStages(getOperation());
    if (failed(stages))
      return signalPassFailure();
    auto plans = getOperation().getOps<hh::PlanOp>();
    if (plans.empty())
      return;
    hh::PlanOp plan = *plans.begin();
    json::Value figures = hh::toJSON(plan.getFigures());
    json::Array *planned = figures.getAsObject()->getArray("stages");
    if (!planned || planned->size() != stages->size())
      return;
    int64_t microbatches =
        figures.getAsObject()->getInteger("microbatches").value_or(1);
    for (auto [stage, entry] : llvm::zip(*stages, *planned))
      if (json::Object *of = entry.getAsObject())
        record(stage, *of, microbatches);
    plan.setFiguresAttr(
        cast<DictionaryAttr>(hh::toAttribute(&getContext(), figures)));
  }

private:
  static void record(const hh::StageParts &stage, json::Object &figures,
                     int64_t microbatches) {
    auto figure = [&](StringRef name) {
      return figures.getInteger(name).value_or(0);
    };
    hh::ProgramOp program = stage.forward;
    int64_t replicas = program.getReplicas(), kept = keptBytes(stage);
    int64_t inFlight = (figure("in_flight") + replicas - 1) / replicas;
    int64_t memory =
        figure("memory_bytes") + (kept - figure("activation_bytes")) * inFlight;
    figures["activation_bytes"] = kept;
    figures["memory_bytes"] = memory;

    int64_t limit = figure("memory_limit_bytes"), most = microbatches;
    if (limit > 0 && memory > limit)
      program.emitWarning("a stage should fit on its device: stage ")
          << program.getStage() << " needs " << memory << " bytes, '"
          << program.getDevice() << "' has " << limit;
    if (limit > 0 && kept > 0)
      most = std::min(most, figure("in_flight") +
                                std::max<int64_t>(0, limit - memory) / kept *
                                    replicas);
    program->setAttr(hh::inFlightLimitAttrName,
                     Builder(program.getContext()).getI64IntegerAttr(most));
  }
};
} // namespace

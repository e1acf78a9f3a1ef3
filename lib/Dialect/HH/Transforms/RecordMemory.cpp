//===- RecordMemory.cpp - the plan's memory by what programs keep ---------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/HH/Transforms/PlanRecord.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"

#include "mlir/IR/Builders.h"

#include <map>

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
    // Stages of one rank share its memory. All of them name theirs, or none.
    std::map<int64_t, SmallVector<PlannedStage>> ranks;
    for (auto [index, stage, entry] : llvm::enumerate(*stages, *planned)) {
      json::Object *of = entry.getAsObject();
      if (!of)
        continue;
      auto rank =
          stage.forward->getAttrOfType<IntegerAttr>(hh::firstRankAttrName);
      ranks[rank ? rank.getInt() : int64_t(index)].push_back(
          record(stage, *of));
    }
    for (auto &[rank, places] : ranks)
      limit(places, microbatches);
    plan.setFiguresAttr(
        cast<DictionaryAttr>(hh::toAttribute(&getContext(), figures)));
  }

private:
  struct PlannedStage {
    hh::ProgramOp program;
    int64_t kept, inFlight, memory, workspace, limit; ///< as the plan has them
  };

  /// Writes what the stage keeps into the plan.
  static PlannedStage record(const hh::StageParts &stage,
                             json::Object &figures) {
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
    return {program,
            kept,
            figure("in_flight"),
            memory,
            figure("workspace_bytes"),
            figure("memory_limit_bytes")};
  }

  /// How many microbatches of each stage of a rank fit in its memory.
  static void limit(ArrayRef<PlannedStage> places, int64_t microbatches) {
    // The workspace is that of the stage which computes.
    int64_t memory = 0, workspace = 0, limit = places.front().limit;
    for (const PlannedStage &place : places) {
      memory += place.memory - place.workspace;
      workspace = std::max(workspace, place.workspace);
    }
    memory += workspace;
    hh::ProgramOp first = places.front().program;
    if (limit > 0 && memory > limit) {
      auto warning =
          first.emitWarning("a stage should fit on its device: stage ")
          << first.getStage();
      for (const PlannedStage &place : places.drop_front())
        warning << " with " << hh::ProgramOp(place.program).getStage();
      warning << " needs " << memory << " bytes, '" << first.getDevice()
              << "' has " << limit;
    }
    int64_t share = std::max<int64_t>(0, limit - memory) /
                    static_cast<int64_t>(places.size());
    for (const PlannedStage &place : places) {
      hh::ProgramOp program = place.program;
      int64_t most = microbatches;
      if (limit > 0 && place.kept > 0)
        most =
            std::min(most, place.inFlight + share / place.kept *
                                                int64_t(program.getReplicas()));
      program->setAttr(hh::inFlightLimitAttrName,
                       Builder(program.getContext()).getI64IntegerAttr(most));
    }
  }
};
} // namespace

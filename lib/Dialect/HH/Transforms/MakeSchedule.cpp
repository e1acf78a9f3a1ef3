//===- MakeSchedule.cpp - the schedule table of the programs --------------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/HH/Transforms/ScheduleTable.h"

namespace hethub::hh {
#define GEN_PASS_DEF_MAKESCHEDULE
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"
} // namespace hethub::hh

using namespace mlir;
using namespace hethub;

namespace {
struct MakeSchedule : hh::impl::MakeScheduleBase<MakeSchedule> {
  using MakeScheduleBase::MakeScheduleBase;

  void runOnOperation() override {
    FailureOr<simulator::Pipeline> pipeline = hh::readPipeline(getOperation());
    if (failed(pipeline))
      return signalPassFailure();
    FailureOr<simulator::Schedule> schedule = makeTable(*pipeline);
    if (failed(schedule))
      return signalPassFailure();
    if (llvm::Error error = simulator::validate(*schedule, *pipeline)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    hh::writeSchedule(getOperation(), *schedule, *pipeline);
  }

private:
  FailureOr<simulator::Schedule>
  makeTable(const simulator::Pipeline &pipeline) {
    if (training)
      return makeTrainingTable(pipeline);
    return microbatches > 0
               ? simulator::inferenceSchedule(pipeline, microbatches)
               : simulator::inferenceStream(pipeline);
  }

  FailureOr<simulator::Schedule>
  makeTrainingTable(const simulator::Pipeline &pipeline) {
    std::optional<simulator::ScheduleKind> kind =
        simulator::scheduleKindOf(schedule);
    if (!kind)
      return getOperation().emitError("schedule must be ")
             << simulator::scheduleKindNames() << ", got: " << schedule;
    if (microbatches < 1)
      return getOperation().emitError("microbatches of a training step must be "
                                      "at least 1, got: 0");
    if (llvm::none_of(pipeline.stages,
                      [](const auto &stage) { return stage.hasBackward; }))
      return getOperation().emitError("a training step must have backward "
                                      "programs (hh-differentiate), got none");
    // A rank with several stages goes through all of them for one microbatch.
    size_t most = pipeline.stages.size();
    if (simulator::isInterleaved(pipeline)) {
      std::vector<int> ranks = simulator::firstRanks(pipeline);
      most = *llvm::max_element(ranks) + 1;
    }
    if (microbatches < most)
      getOperation().emitWarning("microbatches should be at least the number "
                                 "of stages, ")
          << most << ", got: " << microbatches.getValue()
          << "; stages wait for each other most of the time";
    return simulator::trainingSchedule(pipeline, int(microbatches), *kind);
  }
};
} // namespace

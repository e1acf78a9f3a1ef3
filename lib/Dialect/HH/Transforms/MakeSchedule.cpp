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
    simulator::Schedule schedule =
        microbatches > 0 ? simulator::inferenceSchedule(*pipeline, microbatches)
                         : simulator::inferenceStream(*pipeline);
    if (llvm::Error error = simulator::validate(schedule, *pipeline)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    hh::writeSchedule(getOperation(), schedule);
  }
};
} // namespace

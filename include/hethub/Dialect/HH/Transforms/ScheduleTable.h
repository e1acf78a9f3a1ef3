//===- ScheduleTable.h - programs as the simulator sees them ---*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_SCHEDULETABLE_H
#define HETHUB_DIALECT_HH_TRANSFORMS_SCHEDULETABLE_H

#include "hethub/Simulator/Schedule.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace hethub::hh {

/// The pipeline that the module's programs make: predicted seconds from
/// `hh.forward_seconds`, those of messages from the module's links. Emits an
/// error and fails where programs or channels are not numbered from 0 without
/// gaps, or a channel lacks an end.
mlir::FailureOr<simulator::Pipeline> readPipeline(mlir::ModuleOp module);

/// The table that hh-schedule left in the module.
std::optional<simulator::Schedule> readSchedule(mlir::ModuleOp module);

/// Leaves the table of the module's pipeline in it, in place of an older one.
void writeSchedule(mlir::ModuleOp module, const simulator::Schedule &schedule,
                   const simulator::Pipeline &pipeline);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_SCHEDULETABLE_H

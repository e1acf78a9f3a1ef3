// What the generators of training tables share.
#ifndef HETHUB_LIB_SIMULATOR_TRAININGTABLES_H
#define HETHUB_LIB_SIMULATOR_TRAININGTABLES_H

#include "StageRows.h"

namespace hethub::simulator {

/// A training table without rows.
Schedule startTraining(const Pipeline &pipeline, int microbatches);

/// A row of a stage's end of the step: AllReduce, where it sums gradients with
/// others, or OptimizerStep.
void endStep(const Pipeline &pipeline, int stage, int replica, Action action,
             std::vector<Row> &rows);

/// One forward, one backward on each replica, after those that run ahead.
Schedule inTurn(const Pipeline &pipeline, int microbatches, ScheduleKind kind,
                Parts parts);

/// The fastest of several tables with backwards in two parts.
Schedule zeroBubble(const Pipeline &pipeline, int microbatches);

/// The fastest of several tables of ranks that have several stages, with whole
/// backwards: GPipe or one forward, one backward.
Schedule interleaved(const Pipeline &pipeline, int microbatches,
                     ScheduleKind kind);

} // namespace hethub::simulator

#endif

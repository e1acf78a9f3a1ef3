// What the generators of training tables share.
#ifndef HETHUB_LIB_SIMULATOR_TRAININGTABLES_H
#define HETHUB_LIB_SIMULATOR_TRAININGTABLES_H

#include "StageRows.h"

namespace hethub::simulator {

/// A training table without rows.
Schedule startTraining(const Pipeline &pipeline, int microbatches);

/// The last rows of a rank: all-reduce, where it sums gradients with others,
/// and optimizer step.
void endStep(const Pipeline &pipeline, int stage, int replica,
             std::vector<Row> &rows);

/// One forward, one backward on each replica, after those that run ahead.
Schedule inTurn(const Pipeline &pipeline, int microbatches, ScheduleKind kind,
                Parts parts);

/// The fastest of several tables with backwards in two parts.
Schedule zeroBubble(const Pipeline &pipeline, int microbatches);

} // namespace hethub::simulator

#endif

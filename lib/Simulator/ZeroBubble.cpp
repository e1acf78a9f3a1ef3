// Backwards in two parts.
#include "TrainingTables.h"

namespace hethub::simulator {

Schedule zeroBubble(const Pipeline &pipeline, int microbatches) {
  return inTurn(pipeline, microbatches, ScheduleKind::OneForwardOneBackward,
                Parts::WeightLast);
}

} // namespace hethub::simulator

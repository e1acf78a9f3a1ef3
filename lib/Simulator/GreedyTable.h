// A training table that is made in simulated time.
#ifndef HETHUB_LIB_SIMULATOR_GREEDYTABLE_H
#define HETHUB_LIB_SIMULATOR_GREEDYTABLE_H

#include "StageRows.h"

namespace hethub::simulator {

/// Of what is ready, what a rank takes first.
enum class First { Backward, Forward, InTurn };

/// What a rank prefers when it may choose.
struct Preference {
  First first = First::InTurn;
  /// No weight part that a message which is under way would have to wait for.
  bool weightsOnlyFit = false;
  /// No more weight parts put off than fit in the time until gradients have
  /// reached the first stage.
  bool weightsForDrain = false;
  /// Interleaved stages: as many microbatches as there are ranks go through a
  /// rank's stages before the next ones do. Else what is nearest to its end is
  /// first.
  bool inGroups = false;
  /// No backward before the last forward of the rank; memory is no limit.
  bool forwardsThenBackwards = false;
};

/// Each rank takes, as soon as it is free, a forward or backward of one of its
/// stages that is there and, when none is or memory is full, a weight part.
/// `parts`: Whole or WeightApart.
///
/// Why no table waits for ever: of the microbatches whose backwards have not
/// all ended take the first. What its stages hold of earlier ones are weight
/// parts, which wait for nothing, so its forwards and backwards come next
/// everywhere.
Schedule greedyTable(const Pipeline &pipeline, int microbatches, Parts parts,
                     Preference preference);

} // namespace hethub::simulator

#endif

// Runs of stages that are made at run time (hh-run); emitted programs need only
// runStage of Stage.h.
#pragma once

#include "hethub/runtime/Options.h"
#include "hethub/runtime/Stage.h"

#include <functional>
#include <string>
#include <vector>

namespace hethub::runtime {

struct PreparedStage {
  StageSpec spec;
  Load load;
  std::string weightsPath; ///< manifest; empty: none
};

/// What one rank runs: its stage, or several in order where stages are
/// interleaved.
using RankProgram = std::vector<PreparedStage>;

/// One process as one rank of the plan. `prepare` gives what a rank runs;
/// what it throws is told to the other ranks. Returns the exit code.
int runProcess(const std::function<RankProgram(int rank)> &prepare,
               const RunOptions &options);

/// All stages in this process, a thread for each rank. `stages` in the order of
/// the plan. Writes outputs, trace and stats (a line a rank) into single files.
/// Throws Error that names rank, stage and reason.
void runTogether(const std::vector<PreparedStage> &stages,
                 const RunOptions &options);

} // namespace hethub::runtime

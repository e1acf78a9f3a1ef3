// What one rank of a training program does, once all ranks are connected.
#pragma once

#include "run/RunRank.h"

namespace hethub::runtime {

/// Checks, loads, agrees and trains. `trace` may be null.
RunStats trainRank(const RankProgram &program, int rank,
                   const RunOptions &options, const Connection &connection,
                   Trace *trace);

} // namespace hethub::runtime

// What one rank of a training program does, once all ranks are connected.
#pragma once

#include "run/RunRank.h"

namespace hethub::runtime {

/// Checks, loads, agrees and trains. `trace` may be null.
RunStats trainRank(const StageSpec &spec, const Load &load, int rank,
                   const RunOptions &options, const std::string &weightsPath,
                   const Connection &connection, Trace *trace);

} // namespace hethub::runtime

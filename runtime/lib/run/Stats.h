// The line of JSON that --stats asks for.
#pragma once

#include "hethub/runtime/Executor.h"

namespace hethub::runtime {

/// Highest resident memory of this process so far.
int64_t maxResidentBytes();

std::string statsLine(const StageSpec &spec, int rank,
                      const RunOptions &options, const RunStats &stats);

} // namespace hethub::runtime

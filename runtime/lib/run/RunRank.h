// What one rank does between the moment when all ranks are connected and its
// end: the same for processes and threads.
#pragma once

#include "comm/DeviceBackends.h"
#include "comm/Store.h"
#include "hethub/runtime/Executor.h"
#include "hethub/runtime/Run.h"
#include "run/Outputs.h"

namespace hethub::runtime {

/// How a rank reaches the others. All null for a run of one rank.
struct Connection {
  Comm *host = nullptr;
  c10d::Store *store = nullptr;
  std::function<void(const std::string &place)> barrier;
};

/// Checks, loads, agrees and runs, or trains. `trace` may be null.
RunStats runRank(const RankProgram &program, int rank,
                 const RunOptions &options, const Connection &connection,
                 Outputs &outputs, Trace *trace);

/// The tables of what a rank runs.
RankStages stagesOf(const RankProgram &program);

/// Where the rank computes; throws Error where this machine has no such device.
at::Device deviceOfRank(const StageSpec &spec, int rank);

/// Through the store of a connection that has one.
Exchange exchangeOf(const Connection &connection);

/// "rank 1 (stage 1 on old)", "rank 2 (stage 1 on old, replica 1)", "rank 1
/// (stages 1, 3 on old)"
std::string rankName(const StageSpec &spec, int rank);

} // namespace hethub::runtime

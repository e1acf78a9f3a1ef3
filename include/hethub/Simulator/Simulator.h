// Runs a schedule table in simulated time.
#ifndef HETHUB_SIMULATOR_SIMULATOR_H
#define HETHUB_SIMULATOR_SIMULATOR_H

#include "hethub/Simulator/Schedule.h"
#include "llvm/Support/JSON.h"

namespace hethub::simulator {

/// When one row took place.
struct Event {
  Row row;
  double beginSeconds = 0;
  double endSeconds = 0;
};

struct StageTimes {
  double busySeconds = 0; ///< Compute of all replicas, optimizer step included.
  double fillSeconds =
      0; ///< From the step's begin to the first compute of the stage.
  double drainSeconds =
      0; ///< From the last compute of the stage to the step's end.
  double idleSeconds = 0;    ///< In between, all replicas together; other
                             ///< stages of its ranks may compute then.
  double imbalance = 0;      ///< 1 - busy time of a replica / that of the stage
                             ///< whose replicas are busiest.
  double receiveSeconds = 0; ///< Of all messages into the stage, from the
                             ///< begin of each to its arrival.
  double allReduceSeconds = 0; ///< From the last replica that is ready.
  int mostInFlight = 0;        ///< Microbatches of one replica at once.
  int64_t peakBytes = 0;       ///< Memory of its fullest replica.
};

struct Result {
  double stepSeconds = 0;
  std::vector<StageTimes> stages;
  std::vector<Event> events; ///< In order of begin, then of rank.
};

/// The step time of a valid table: computes of a rank follow each other in row
/// order; a send starts when its rank has issued it, the value is there and the
/// link is free, without holding up compute; receives are posted ahead. An
/// all-reduce starts when all replicas have reached it and runs beside compute;
/// the optimizer step waits for it. An invalid table is an error.
llvm::Expected<Result> simulate(const Schedule &schedule,
                                const Pipeline &pipeline);

/// The same for a table that one of the generators made, which needs no check:
/// for searches that simulate many. `events` stay empty.
Result simulateGenerated(const Schedule &schedule, const Pipeline &pipeline);

/// Chrome trace JSON (Perfetto): pid = rank, tid 0 compute, 1 send, 2 recv,
/// 3 all-reduce, a flow arrow for each message; times in microseconds.
llvm::json::Value chromeTrace(const Result &result, const Pipeline &pipeline);

} // namespace hethub::simulator

#endif

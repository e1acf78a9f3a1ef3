// findPlacement: which search answers what.
#include "Contiguous.h"

using namespace llvm;

namespace hethub::planner {

static Deadline deadlineOf(double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  // More than a clock can count is no limit.
  if (!(seconds < 1e9))
    return Deadline::max();
  return now + std::chrono::duration_cast<Clock::duration>(
                   std::chrono::duration<double>(seconds));
}

Expected<Placement> findPlacement(const PlacementProblem &problem,
                                  const PlacementOptions &options) {
  if (Error error = verifyPlacementProblem(problem))
    return error;
  const Deadline deadline = deadlineOf(options.timeLimitSeconds);
  return placeContiguous(problem, options, deadline);
}

} // namespace hethub::planner

// findPlacement: which search answers what.
#include "Contiguous.h"
#include "Free.h"

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
  Placement contiguous = placeContiguous(problem, options, deadline);
  if (options.mode == PlacementMode::Contiguous)
    return contiguous;
  return placeFreely(problem, contiguous, options, deadline);
}

} // namespace hethub::planner

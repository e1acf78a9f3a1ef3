// findPlacement: which search answers what.
#include "Contiguous.h"
#include "Free.h"
#include "Latency.h"

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

static Error verifyForLatency(const PlacementProblem &problem) {
  auto fail = [](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), message);
  };
  for (const PlacementNode &node : problem.nodes)
    if (node.backward)
      return fail("latency needs forward nodes only, got: backward node " +
                  node.name);
  for (const DeviceClass &deviceClass : problem.classes)
    if (deviceClass.pooled &&
        (deviceClass.transferScale > 0 ||
         deviceClass.memoryBytes < std::numeric_limits<double>::infinity()))
      return fail("latency needs pools that pay no transfers and have no "
                  "memory limit, got: " +
                  deviceClass.name);
  return Error::success();
}

Expected<Placement> findPlacement(const PlacementProblem &problem,
                                  const PlacementOptions &options) {
  if (Error error = verifyPlacementProblem(problem))
    return error;
  if (options.objective == PlacementObjective::Latency)
    if (Error error = verifyForLatency(problem))
      return error;
  const Deadline deadline = deadlineOf(options.timeLimitSeconds);
  if (options.objective == PlacementObjective::Latency)
    return placeForLatency(problem, options, deadline);
  Placement contiguous = placeContiguous(problem, options, deadline);
  if (options.mode == PlacementMode::Contiguous)
    return contiguous;
  return placeFreely(problem, contiguous, options, deadline);
}

} // namespace hethub::planner

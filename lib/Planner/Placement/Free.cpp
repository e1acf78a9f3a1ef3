// Starts at the best contiguous placement. Small problems are solved by branch
// and bound, which proves the result; on others annealing improves it, and the
// bound is that of the prices.
#include "Free.h"
#include "Contiguous.h"
#include "FreeSearch.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

class FreePlacer {
public:
  FreePlacer(const PlacementProblem &problem, const PlacementOptions &options,
             Deadline deadline)
      : problem(problem), options(options), deadline(deadline),
        units(contract(problem, PlacementMode::Free, /*mergeMemory=*/false)) {}

  Placement run(const Placement &contiguous);

private:
  /// The least largest load of `what`, from `start` if not empty.
  FreeResult solve(const Units &what, std::vector<unsigned> start,
                   double lowerBound) const;
  void placeByMemory();
  std::vector<unsigned> unitsOf(ArrayRef<Device> devices) const;
  void accept(const FreeResult &result);

  const PlacementProblem &problem;
  const PlacementOptions &options;
  Deadline deadline;
  const Units units;
  std::vector<unsigned> start; // device of a unit
  Placement placement;
};

} // namespace

/// Numbers the devices as DeviceTable does.
std::vector<unsigned> FreePlacer::unitsOf(ArrayRef<Device> devices) const {
  std::vector<unsigned> result(units.size(), 0), firstOfClass;
  unsigned first = 0;
  for (const ClassRule &rule : units.classes) {
    firstOfClass.push_back(first);
    first += rule.count;
  }
  for (unsigned unit = 0; unit < units.size(); ++unit) {
    const Device &device = devices[units.anchorOfUnit[unit]];
    result[unit] = firstOfClass[device.deviceClass] + device.index;
  }
  return result;
}

void FreePlacer::accept(const FreeResult &result) {
  std::vector<Device> byNumber, devices;
  for (unsigned t = 0; t < units.classes.size(); ++t)
    for (unsigned index = 0; index < units.classes[t].count; ++index)
      byNumber.push_back({t, index});
  for (unsigned unit : units.unitOfNode)
    // Without order the ends of step 4 can be anywhere.
    devices.push_back(
        byNumber[result.deviceOf[unit < units.size() ? unit : 0]]);
  Placement better = placement;
  setDevices(problem, std::move(devices), better);
  if (better.objective < placement.objective)
    placement = std::move(better);
}

FreeResult FreePlacer::solve(const Units &what, std::vector<unsigned> start,
                             double lowerBound) const {
  constexpr uint64_t branches = 200000;
  constexpr unsigned stepsOfUnit = 20000, fewestSteps = 200000,
                     mostSteps = 3000000, starts = 2;
  FreeResult best;
  // The table keeps a count for each tensor on each device.
  unsigned devices = 0;
  for (const ClassRule &rule : what.classes)
    devices += rule.count;
  if (size_t(devices) * what.joins.size() > size_t(1) << 28)
    return best;
  if (!start.empty()) {
    DeviceTable table(what);
    for (unsigned unit = 0; unit < what.size(); ++unit)
      table.move(unit, start[unit]);
    best.deviceOf = start;
    best.load = table.largest();
  }
  FreeResult exact = branchAndBound(what, best.load, branches, deadline);
  if (!exact.deviceOf.empty())
    best = exact;
  best.completed = exact.completed;
  if (best.completed)
    return best;
  const unsigned steps = std::clamp<size_t>(size_t(what.size()) * stepsOfUnit,
                                            fewestSteps, mostSteps);
  for (unsigned round = 0; round < starts && best.load > lowerBound; ++round) {
    FreeResult found =
        anneal(what, round % 2 ? std::vector<unsigned>() : start,
               options.seed * 2 + round, steps / starts, deadline);
    if (found.load < best.load)
      best = std::move(found);
  }
  return best;
}

/// No placement is known: looks for one by memory alone.
void FreePlacer::placeByMemory() {
  const Units bytes = memoryProblem(units);
  const double bound = loadBound(bytes, findMultipliers(bytes));
  const double total =
      std::accumulate(units.memoryBytes.begin(), units.memoryBytes.end(), 0.0);
  FreeResult result = solve(bytes, {}, std::max(bound, 0.0));
  if (!result.deviceOf.empty() && result.load <= 0) {
    start = result.deviceOf;
    return;
  }
  if (result.deviceOf.empty())
    return;
  placement.missingBytes = std::ceil(result.load);
  placement.memoryProven = result.completed;
  if (!result.completed && bound <= 1e-9 * total) {
    placement.reason = "no placement was found, though there may be one";
    return;
  }
  placement.status = Placement::Status::Infeasible;
  placement.reason = formatv(
      "infeasible: memory must grow by {0}{1:f0} bytes on each device that has "
      "a limit",
      result.completed ? "at least " : "", placement.missingBytes);
}

Placement FreePlacer::run(const Placement &contiguous) {
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    if (unsigned unit = units.unitOfNode[node];
        unit < units.size() && units.supported[unit] == 0) {
      placement.status = Placement::Status::Infeasible;
      placement.reason = "infeasible: no device can run node " +
                         problem.nodes[node].name +
                         " with the nodes that must share its device";
      return placement;
    }
  const double bound = loadBound(units, findMultipliers(units));
  if (contiguous.status == Placement::Status::Found) {
    placement.lowerBound = bound;
    setDevices(problem, contiguous.devices, placement);
    start = unitsOf(contiguous.devices);
  } else {
    placeByMemory();
    if (placement.status == Placement::Status::Infeasible)
      return placement;
  }
  FreeResult result = solve(units, start, bound);
  if (!result.deviceOf.empty())
    accept(result);
  if (placement.status != Placement::Status::Found) {
    placement.lowerBound = bound;
    if (placement.reason.empty())
      placement.reason = "no placement was found, though there may be one";
    return placement;
  }
  placement.lowerBound = result.completed
                             ? placement.objective
                             : std::min(bound, placement.objective);
  if (placement.lowerBound < placement.objective)
    placement.notes.push_back("not proven optimal: free placements are "
                              "searched by annealing");
  return placement;
}

Placement placeFreely(const PlacementProblem &problem,
                      const Placement &contiguous,
                      const PlacementOptions &options, Deadline deadline) {
  return FreePlacer(problem, options, deadline).run(contiguous);
}

} // namespace hethub::planner

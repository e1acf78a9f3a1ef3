// Feasibility, search and bound of the latency problem.
#include "Latency.h"
#include "Contiguous.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

/// A placement for one sample is a contiguous one in which the pool may have a
/// stage between any two calls, since nodes in a pool wait for each other only.
static PlacementProblem withPoolStages(PlacementProblem problem,
                                       unsigned calls) {
  for (DeviceClass &deviceClass : problem.classes)
    if (deviceClass.pooled && deviceClass.count > 0)
      deviceClass.count = calls + 1;
  return problem;
}

/// A pool that can run every node.
static std::optional<unsigned> poolForAll(const PlacementProblem &problem,
                                          const LatencyPlaces &places) {
  for (unsigned place = places.calls; place < places.size(); ++place)
    if (std::all_of(problem.nodes.begin(), problem.nodes.end(),
                    [&](const PlacementNode &node) {
                      return node.seconds[places.classOf[place]] <
                             std::numeric_limits<double>::infinity();
                    }))
      return place;
  return std::nullopt;
}

Placement placeForLatency(const PlacementProblem &problem,
                          const PlacementOptions &options, Deadline deadline) {
  const LatencyPlaces places(problem);
  const Units units =
      contract(problem, PlacementMode::Contiguous, /*mergeMemory=*/false,
               /*mergeCostless=*/false);
  std::vector<unsigned> start(units.size());
  Placement placement;
  if (std::optional<unsigned> pool = poolForAll(problem, places)) {
    std::fill(start.begin(), start.end(), *pool);
  } else {
    placement = placeContiguous(withPoolStages(problem, places.calls), options,
                                deadline);
    if (placement.status != Placement::Status::Found)
      return placement;
    for (unsigned node = 0; node < problem.nodes.size(); ++node) {
      Device device = placement.devices[node];
      if (problem.classes[device.deviceClass].pooled)
        device.index = 0;
      start[units.unitOfNode[node]] =
          std::find(places.deviceOf.begin(), places.deviceOf.end(), device) -
          places.deviceOf.begin();
    }
  }

  const double bound = latencyBound(problem);
  std::vector<unsigned> found = searchLatency(
      problem, units, places, std::move(start), bound, options.seed, deadline);
  std::vector<unsigned> placeOfNode;
  placement = Placement();
  for (unsigned unit : units.unitOfNode) {
    placeOfNode.push_back(found[unit]);
    placement.devices.push_back(places.deviceOf[found[unit]]);
  }
  placement.status = Placement::Status::Found;
  placement.objective = LatencyModel(problem, places).finish(placeOfNode);
  // Sums in another order differ in the last digits; more would be a mistake,
  // which must not be hidden.
  placement.lowerBound = bound <= placement.objective * (1 + 1e-12)
                             ? std::min(bound, placement.objective)
                             : bound;
  if (placement.lowerBound < placement.objective)
    placement.notes.push_back("not proven optimal: the finish of one sample is "
                              "searched by annealing");
  return placement;
}

} // namespace hethub::planner

// The latency problem: one sample through calls of devices and pools of CPUs.
// A call starts when all that it reads from outside is there, pays its incoming
// tensors, its compute and its outgoing tensors one after another, and all its
// nodes are done at its end. A node in a pool starts when its inputs are there.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_LATENCY_H
#define HETHUB_LIB_PLANNER_PLACEMENT_LATENCY_H

#include "IdealSearch.h"

namespace hethub::planner {

/// Where nodes are: calls are numbered class after class, then the pools.
struct LatencyPlaces {
  explicit LatencyPlaces(const PlacementProblem &problem);

  unsigned size() const { return classOf.size(); }
  bool isPool(unsigned place) const { return place >= calls; }

  unsigned calls = 0;
  std::vector<unsigned> classOf; ///< Of a place.
  std::vector<Device> deviceOf;  ///< Of a place.
};

/// The finish of one sample. Keeps its buffers between calls.
class LatencyModel {
public:
  LatencyModel(const PlacementProblem &problem, const LatencyPlaces &places);
  /// Infinity: calls wait for each other.
  double finish(llvm::ArrayRef<unsigned> placeOfNode);

private:
  void addSeconds(llvm::ArrayRef<unsigned> placeOfNode);

  const PlacementProblem &problem;
  const LatencyPlaces &places;
  // Of an item: a node in a pool, or (after all nodes) a call.
  std::vector<double> seconds, end;
  std::vector<unsigned> waiting, ready, itemOf;
  std::vector<std::vector<unsigned>> nodesOfCall;
  std::vector<unsigned> paid; // of a call: the last node it paid for, plus one
};

/// No placement finishes earlier.
double latencyBound(const PlacementProblem &problem);

/// Places of units: slices of topological orders, run one after the other, then
/// annealing. Empty: none found. `start` may be empty.
std::vector<unsigned>
searchLatency(const PlacementProblem &problem, const Units &units,
              const LatencyPlaces &places, std::vector<unsigned> start,
              double lowerBound, unsigned seed, Deadline deadline);

Placement placeForLatency(const PlacementProblem &problem,
                          const PlacementOptions &options, Deadline deadline);

} // namespace hethub::planner

#endif

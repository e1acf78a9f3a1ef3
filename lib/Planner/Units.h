// What the searches place: units, groups of nodes that share a device in some
// best placement, with the order between them and the tensors that join them.
#ifndef HETHUB_LIB_PLANNER_UNITS_H
#define HETHUB_LIB_PLANNER_UNITS_H

#include "hethub/Planner/Placement.h"

namespace hethub::planner {

/// What a device of a class may hold and what it pays.
/// load = offset + seconds of its units + transferScale x tensors it cuts.
struct ClassRule {
  unsigned count = 0; ///< Never more than there are units.
  double memoryBytes = 0;
  double transferScale = 0;
  double offset = 0;
};

/// A tensor, or several with the same ends. A set of units pays `seconds` when
/// it holds some but not all of the ends: sender and receivers pay alike, so it
/// does not matter which end is the producer.
struct Join {
  double seconds = 0;
  std::vector<unsigned> units; ///< Ascending; at least two.
};

struct Units {
  std::vector<ClassRule> classes;
  std::vector<std::vector<double>> seconds; ///< [class][unit]
  std::vector<uint32_t> supported; ///< Of a unit: bit t, class t can run it.
  std::vector<double> memoryBytes;
  /// Without the nodes that joined a unit though they need memory: no placement
  /// needs less in one place (see contract).
  std::vector<double> leastMemoryBytes;
  /// The units are numbered in a topological order of these. Empty lists in
  /// free mode.
  std::vector<std::vector<unsigned>> successors, predecessors;
  std::vector<Join> joins;
  std::vector<std::vector<unsigned>> joinsOf; ///< Of a unit: indices of joins.
  std::vector<unsigned> unitOfNode;           ///< Or one of the two below.

  /// Of a unit: a node that did not join it by step 3 of Units.cpp. A placement
  /// stays valid and gets no worse when the unit goes where this node is.
  std::vector<unsigned> anchorOfUnit;

  /// A node without any cost that goes where the first (last) stage runs.
  static constexpr unsigned first = ~0u, last = ~0u - 1;
  /// Offset of a class that never is the one with the largest load.
  static constexpr double unlimited = -1e300;

  unsigned size() const { return memoryBytes.size(); }
};

/// Colour classes, nodes on cycles of the order between them, and nodes without
/// cost become one unit where no optimum is lost (Units.cpp has the proofs).
/// With `mergeMemory` nodes with memory but no seconds join too: placements of
/// the result are placements of the problem, perhaps not the best ones.
/// Without `mergeCostless` units are colour classes and cycles alone.
Units contract(const PlacementProblem &problem, PlacementMode mode,
               bool mergeMemory, bool mergeCostless = true);

/// A relaxation of the problem: the nodes that joined units though they need
/// memory may be on any device.
Units relaxMemory(const Units &units);

/// The same units with memory as the load: offset + bytes of a device, where
/// the offset is minus its limit. The least largest load is what every limited
/// device lacks.
Units memoryProblem(const Units &units);

} // namespace hethub::planner

#endif

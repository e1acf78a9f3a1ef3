// Placements of units without an order: any unit on any device.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_FREESEARCH_H
#define HETHUB_LIB_PLANNER_PLACEMENT_FREESEARCH_H

#include "IdealSearch.h"

namespace hethub::planner {

/// Loads of all devices of a growing or changing assignment. The devices of a
/// class are numbered together, the classes one after the other.
class DeviceTable {
public:
  explicit DeviceTable(const Units &units);

  static constexpr unsigned none = ~0u;
  unsigned size() const { return classOf.size(); }
  /// Loads and memory follow. `none`: the unit is nowhere.
  void move(unsigned unit, unsigned device);
  bool fits(unsigned unit, unsigned device) const;
  double largest() const;

  const Units &units;
  std::vector<unsigned> classOf;    ///< Of a device.
  std::vector<double> load, memory; ///< Of a device.
  std::vector<unsigned> unitCount;  ///< Of a device.
  std::vector<unsigned> deviceOf;   ///< Of a unit, or `none`.

private:
  unsigned &ends(unsigned join, unsigned device) {
    return endCount[size_t(join) * classOf.size() + device];
  }
  double pays(unsigned device, unsigned join) const {
    return units.classes[classOf[device]].transferScale *
           units.joins[join].seconds;
  }
  void remove(unsigned unit);
  void insert(unsigned unit, unsigned device);

  std::vector<unsigned> endCount; // [join][device]
  std::vector<unsigned> span;     // of a join: devices that hold an end
};

struct FreeResult {
  std::vector<unsigned> deviceOf; ///< Empty: none found.
  double load = std::numeric_limits<double>::infinity();
  bool completed = false; ///< No assignment is better; none exists if empty.
};

/// Tries all assignments by branch and bound, within a limit of work, for one
/// better than `bound`.
FreeResult branchAndBound(const Units &units, double bound, uint64_t workLimit,
                          Deadline deadline);

/// Simulated annealing from `start`, or from a greedy assignment if that is
/// empty. Never worse than `start`.
FreeResult anneal(const Units &units, std::vector<unsigned> start,
                  unsigned seed, unsigned steps, Deadline deadline);

} // namespace hethub::planner

#endif

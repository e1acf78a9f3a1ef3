// The dynamic program over slices, from the last stage backwards, under a bound
// on the load of every stage.
//
// State: begin of the covered suffix, devices used of each type, microbatches
// in flight that the stage in front will have, device types of that stage and
// of the suffix's first stage. Value: seconds of work and messages. It is exact
// unless a value passes over a whole stage *and* links into one type differ in
// speed; then it is a lower bound, since the type of the far producer is not in
// the state (SliceCosts::correction).
#ifndef HETHUB_LIB_PLANNER_SLICETABLE_H
#define HETHUB_LIB_PLANNER_SLICETABLE_H

#include "SliceCosts.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>

namespace hethub::planner {

/// A contiguous plan: stage k is [ends[k-1], ends[k]) on types[k].
struct Slices {
  std::vector<unsigned> ends;
  std::vector<unsigned> types;
};

/// Multisets of devices: how many of each type, as one number.
class DeviceSets {
public:
  DeviceSets(llvm::ArrayRef<unsigned> counts, unsigned maxTotal);

  unsigned size() const { return totals.size(); }
  unsigned total(unsigned set) const { return totals[set]; }
  unsigned count(unsigned set, unsigned type) const {
    return set / strides[type] % radices[type];
  }
  bool canAdd(unsigned set, unsigned type) const;
  unsigned add(unsigned set, unsigned type) const {
    return set + strides[type];
  }
  unsigned remove(unsigned set, unsigned type) const {
    return set - strides[type];
  }
  bool contains(unsigned set, unsigned subset) const;
  unsigned all() const { return size() - 1; }
  unsigned maxTotal() const { return limit; }

private:
  std::vector<unsigned> counts, strides, radices, totals;
  unsigned limit;
};

class SliceTable {
public:
  /// Stages: at most `maxStages`; exactly `exactStages` unless that is 0.
  SliceTable(const SliceCosts &costs, const DeviceSets &sets,
             unsigned maxStages, unsigned exactStages, double cutPenalty);

  /// Fills the table for plans whose stages all have load <= bound. Returns the
  /// least sum (infinity: there is no such plan).
  double fill(double bound);
  /// A plan that reaches it.
  Slices best() const;

  double cutPenalty(unsigned cut) const {
    return cut == 0 ? 0 : penalty * (costs.scopeBoundary[cut] ? 1 : 2);
  }
  /// Furthest end of a slice from `begin` within bound and memory. 0: none.
  llvm::ArrayRef<unsigned> reach(unsigned type, unsigned inFlight) const;

  /// At least the seconds still to pay behind position `cut`, where the stage
  /// before has `type`, by the type of the next stage: work, messages.
  /// `available`: devices that may be used; all others are in use. `inFlight`:
  /// most microbatches that the stage before may have in flight.
  double remaining(unsigned available, unsigned inFlight, unsigned type,
                   unsigned next, unsigned cut) const;

  /// Steps of work done so far, by which searches are limited.
  uint64_t workDone() const { return steps; }

private:
  /// All suffixes that use one set of devices and give the stage in front
  /// `inFlight`.
  struct Layer {
    unsigned set, inFlight;
    std::vector<double> value; ///< [(before * types + first) * (n + 1) + begin]
  };

  mutable uint64_t steps = 0;

  unsigned nextInFlight(unsigned inFlight, double received) const;
  Layer &layer(unsigned set, unsigned inFlight);
  void expand(const Layer *behind);
  bool retrace(unsigned set, unsigned inFlight, unsigned before, unsigned first,
               unsigned begin, double value, Slices &slices) const;

  const SliceCosts &costs;
  const DeviceSets &sets;
  unsigned maxStages, exactStages;
  double penalty;
  double bound = 0;
  double leastSum = 0;
  std::vector<unsigned> cover; ///< by set: furthest end of a prefix that these
                               ///< devices could compute
  std::vector<std::vector<std::unique_ptr<Layer>>> layersOf; ///< by set
  mutable llvm::DenseMap<std::pair<unsigned, unsigned>, std::vector<unsigned>>
      reaches;
  mutable llvm::DenseMap<std::pair<unsigned, unsigned>, std::vector<double>>
      remainders;

  // Where the best plan begins.
  unsigned bestSet = 0, bestInFlight = 1, bestType = 0;
};

} // namespace hethub::planner

#endif

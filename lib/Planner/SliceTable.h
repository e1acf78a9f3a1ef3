// The dynamic program over slices, from the last stage backwards, under a bound
// on the load of every stage.
//
// State: begin of the covered suffix, devices used of each type (and stages,
// where their number is limited), microbatches in flight behind the stage in
// front, device types of that stage and of the suffix's first stage. Value:
// seconds of work and messages. It is exact unless a value passes over a whole
// stage *and* links into one type differ in speed; then it is a lower bound,
// since the type of the far producer is not in the state
// (SliceCosts::correction).
#ifndef HETHUB_LIB_PLANNER_SLICETABLE_H
#define HETHUB_LIB_PLANNER_SLICETABLE_H

#include "SliceCosts.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>

namespace hethub::planner {

/// Multisets of devices, how many of each type, as one number. Where stages are
/// limited they are one more type, of which each choice takes one.
class DeviceSets {
public:
  DeviceSets(llvm::ArrayRef<unsigned> counts, unsigned stageLimit);

  unsigned size() const { return sizes; }
  unsigned count(unsigned set, unsigned type) const {
    return set / strides[type] % radices[type];
  }
  bool canAdd(unsigned set, const Choice &choice) const {
    return count(set, choice.type) + choice.devices < radices[choice.type] &&
           (stageStride == 0 || stages(set) < stageLimit);
  }
  unsigned add(unsigned set, const Choice &choice) const {
    return set + choice.devices * strides[choice.type] + stageStride;
  }
  unsigned remove(unsigned set, const Choice &choice) const {
    return set - choice.devices * strides[choice.type] - stageStride;
  }
  /// Whether `choice` may be part of `set`.
  bool has(unsigned set, const Choice &choice) const {
    return count(set, choice.type) >= choice.devices &&
           (stageStride == 0 || stages(set) > 0);
  }
  bool contains(unsigned set, unsigned subset) const;
  unsigned all() const { return sizes - 1; }
  /// Stages so far; 0 where they are not limited.
  unsigned stages(unsigned set) const {
    return stageStride ? set / stageStride : 0;
  }

private:
  std::vector<unsigned> strides, radices;
  unsigned sizes, stageStride, stageLimit;
};

class SliceTable {
public:
  /// Exactly `exactStages` stages unless that is 0.
  SliceTable(const SliceCosts &costs, const DeviceSets &sets,
             unsigned exactStages, double cutPenalty);

  /// Fills the table for plans whose stages are all steady for <= bound.
  /// Returns the least sum (infinity: there is no such plan). Stops where
  /// `workLimit` steps are done; `interrupted` says so.
  double fill(double bound, uint64_t workLimit);
  bool interrupted() const { return stopped; }
  /// A plan that reaches it.
  Slices best() const;

  double cutPenalty(unsigned cut) const {
    return cut == 0 ? 0 : penalty * (costs.scopeBoundary[cut] ? 1 : 2);
  }
  /// By begin: furthest end of a slice within bound and memory, which is the
  /// begin itself where there is none. `choice`: index into `choices`.
  llvm::ArrayRef<unsigned> reach(unsigned choice, unsigned onReplica) const;
  llvm::ArrayRef<Choice> choices() const { return all; }
  /// More microbatches in flight for each message of `received` seconds.
  unsigned hop(double received) const;

  /// At least the seconds still to pay behind position `cut`, where the stage
  /// before has `type`, by the type of the next stage: work, messages.
  /// `available`: devices that may be used; all others are in use. `ahead`:
  /// most microbatches that may be in flight behind the stage before.
  double remaining(unsigned available, unsigned ahead, unsigned type,
                   unsigned next, unsigned cut) const;

  /// Steps of work done so far, by which searches are limited.
  uint64_t workDone() const { return steps; }

private:
  /// All suffixes that use one set of devices, with `ahead` in flight behind
  /// the stage in front.
  struct Layer {
    unsigned set, ahead;
    std::vector<double> value; ///< [(before * types + first) * (n + 1) + begin]
  };

  mutable uint64_t steps = 0;

  unsigned nextAhead(const Choice &choice, unsigned ahead,
                     double received) const;
  Layer &layer(unsigned set, unsigned ahead);
  void expand(const Layer *behind);
  bool retrace(unsigned set, unsigned ahead, unsigned before, unsigned first,
               unsigned begin, double value, Slices &slices) const;
  bool retraceAs(const Choice &choice, unsigned index, unsigned rest,
                 unsigned ahead, unsigned before, unsigned begin, double value,
                 Slices &slices) const;

  const SliceCosts &costs;
  const DeviceSets &sets;
  unsigned exactStages;
  double penalty;
  std::vector<Choice> all; ///< by kind
  double bound = 0;
  double leastSum = 0;
  bool stopped = false;
  std::vector<unsigned> cover; ///< by set: furthest end of a prefix that these
                               ///< devices could compute
  std::vector<std::vector<std::unique_ptr<Layer>>> layersOf; ///< by set
  mutable llvm::DenseMap<std::pair<unsigned, unsigned>, std::vector<unsigned>>
      reaches;
  mutable llvm::DenseMap<std::pair<unsigned, unsigned>, std::vector<double>>
      remainders;

  // Where the best plan begins.
  unsigned bestSet = 0, bestAhead = 0, bestType = 0;
};

} // namespace hethub::planner

#endif

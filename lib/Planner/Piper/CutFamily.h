// Ideals to cut at, for graphs that have too many to look at all of them: the
// prefixes of some topological orders.
#ifndef HETHUB_LIB_PLANNER_PIPER_CUTFAMILY_H
#define HETHUB_LIB_PLANNER_PIPER_CUTFAMILY_H

#include "../Ideals.h"

#include "hethub/Planner/Piper.h"

#include <random>

namespace hethub::planner::piper {

/// All ideals; nothing when there are more than the options allow, or more than
/// a search among them could look at in a minute or so.
std::optional<Ideals> cutIdeals(const Problem &problem, const Options &options);

class CutFamily {
public:
  CutFamily(const Problem &problem, uint64_t seed);

  /// Prefixes of orders that keep the stages of `plan` (if there are any) one
  /// after the other, apart from some boundaries that each order leaves out.
  /// Those of the plan are always among them.
  Ideals draw(llvm::ArrayRef<Stage> plan);

private:
  /// How the next layer is chosen among those whose sources are placed.
  enum class Rule { FirstInFile, LastReady, FirstReady, AnyReady };
  std::vector<unsigned> order(llvm::ArrayRef<unsigned> region, Rule rule);

  unsigned layerCount;
  std::vector<std::vector<unsigned>> targets;
  std::vector<unsigned> sourceCounts;
  std::mt19937_64 random;
};

} // namespace hethub::planner::piper

#endif

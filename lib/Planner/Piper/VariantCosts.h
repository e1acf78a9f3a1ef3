// What a stage costs: the layers between two ideals at one tensor degree.
#ifndef HETHUB_LIB_PLANNER_PIPER_VARIANTCOSTS_H
#define HETHUB_LIB_PLANNER_PIPER_VARIANTCOSTS_H

#include "../Ideals.h"
#include "ChoiceKnapsack.h"

#include "hethub/Planner/Piper.h"

namespace hethub::planner::piper {

/// The variants of each layer at one tensor degree, ready to be added up.
class DegreeCosts {
public:
  DegreeCosts(const Problem &problem, unsigned tensorDegree);

  /// One variant, with all its time in seconds.
  struct Choice {
    unsigned variant;
    double compute;           ///< p.
    double allReduce;         ///< 4 w / N / bandwidth.
    double activation;        ///< A, bytes.
    double fixed;             ///< B, bytes.
    std::vector<double> send; ///< Of each edge of the layer, if it is cut.
  };

  unsigned tensorDegree;
  /// Per layer. Empty: it cannot run with this degree. Variants that are never
  /// better than another are left out.
  std::vector<std::vector<Choice>> choices;
};

/// The stage that is looked at now. `select` sets it.
class VariantCosts {
public:
  explicit VariantCosts(const Problem &problem);

  llvm::ArrayRef<DegreeCosts> degrees() const { return byDegree; }

  void select(const Ideals &ideals, unsigned inner, unsigned outer,
              unsigned degreeIndex);

  /// Whether the stage can run with load <= `limit`.
  ChoiceKnapsack::Verdict fits(unsigned dataDegree, unsigned inFlight,
                               double limit);
  /// The stage with its least load, which must be known to be <= `limit`.
  Stage cheapest(unsigned dataDegree, unsigned inFlight, double limit);

private:
  /// A variant of a layer of the selected stage:
  /// time = allReduce + (work - allReduce) / d, memory = A y + B.
  struct Item {
    double work, allReduce, activation, fixed;
  };
  void fillKnapsack(unsigned dataDegree, unsigned inFlight);

  std::vector<DegreeCosts> byDegree;
  std::vector<std::vector<unsigned>> neighbours; ///< Per layer, of each edge.
  double memoryLimit;

  const DegreeCosts *degree = nullptr;
  std::vector<unsigned> layers;
  std::vector<Item> items;
  std::vector<unsigned> ends; ///< Of each layer's items.
  ChoiceKnapsack knapsack;
};

} // namespace hethub::planner::piper

#endif

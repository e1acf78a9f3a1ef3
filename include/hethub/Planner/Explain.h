// Why a plan is not better: what holds its bottleneck, what other plans would
// cost, what one more device would gain.
//
// Nothing here is an estimate of its own: each figure is `costPlan` of a
// changed plan or `findPlan` of a changed problem.
#ifndef HETHUB_PLANNER_EXPLAIN_H
#define HETHUB_PLANNER_EXPLAIN_H

#include "hethub/Planner/Plan.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace hethub::planner {

/// What keeps a border of the bottleneck stage where it is.
enum class Hold {
  NoCut,     ///< No cut is allowed that would take time from the bottleneck.
  CannotRun, ///< The neighbour's device type cannot run what would move.
  Memory,    ///< What would help does not fit in the neighbour's memory.
  Load,      ///< The neighbour would be as slow as the bottleneck is now.
  Tied,      ///< Another stage is as slow as the bottleneck.
  Sum,       ///< Fill and messages would grow by more than is gained.
  Nothing    ///< Moving it makes the step shorter: the plan is not the best.
};

llvm::StringRef toString(Hold hold);

/// The best that moving one border of the bottleneck stage could do: of the
/// moves that take time from that stage, up to the first that makes the
/// neighbour as slow, the one with the shortest step.
struct Border {
  unsigned neighbour = 0; ///< Stage that would receive the operations.
  Hold hold = Hold::NoCut;
  std::vector<unsigned> moved; ///< Nodes; empty where no move is allowed.
  double stepSeconds = 0;      ///< With them moved.
  double neighbourLoadSeconds = 0;
  int64_t neighbourMemoryBytes = 0;
  int64_t neighbourMemoryLimit = 0; ///< 0: none.
};

/// A plan of a changed problem.
struct Alternative {
  std::vector<std::string> changes; ///< "one stage fewer", ...; more than one
                                    ///< where they lead to the same plan.
  std::optional<Plan> plan;
  std::string error; ///< Why there is no plan.
};

/// A plan of the cluster with one more device of a type.
struct OneMore {
  unsigned deviceType = 0;
  Plan plan; ///< The explained plan itself where the device is of no use.
};

struct Explanation {
  // The parts of the closed form of the step time (docs/Planner.md).
  double fillSeconds = 0;    ///< One microbatch through all stages,
  double messageSeconds = 0; ///< its messages,
  double steadySeconds = 0; ///< and then the bottleneck: its other microbatches
  double onceSeconds = 0;   ///< and its all-reduce and optimizer step.

  /// The stage that is busy longest after its first microbatch; where there is
  /// only one microbatch, that with the most work. The first of equal ones.
  unsigned bottleneck = 0;
  /// Where ranks have several stages: all of the rank that is busiest, and
  /// `bottleneck` is the busiest of them.
  std::vector<unsigned> bottleneckStages;
  unsigned heaviest = 0;       ///< Its node that takes longest.
  double heaviestSeconds = 0;  ///< Of one microbatch.
  std::vector<Border> borders; ///< In front of it and behind it.
  /// Share of the used devices' time, 0 to 1, that they wait since loads
  /// differ.
  double imbalance = 0;
  std::vector<unsigned> unusedDevices; ///< Per type.

  std::vector<Alternative> alternatives; ///< By step time; those without a plan
                                         ///< last.
  std::vector<OneMore> whatIf;
  std::optional<Plan> automatic; ///< What `findPlan` finds in place of a user's
                                 ///< plan.
  std::string automaticError;    ///< Why it finds none.
};

struct ExplainOptions {
  bool alternatives = true; ///< Plans again, see docs/Planner.md.
  bool whatIf = false;      ///< Plans again with one more device of each type.
};

/// Explains a plan that `findPlan` made or `checkPlan` accepted.
Explanation explainPlan(const Graph &graph, const cluster::Cluster &cluster,
                        const Options &options, const Plan &plan,
                        const ExplainOptions &explain);

/// The automatic plan in place of a user's. Adds it, with `whatIf` measured
/// against it, to the explanation of the user's plan.
void compareWithAutomatic(const Graph &graph, const cluster::Cluster &cluster,
                          const Options &options, bool whatIf,
                          Explanation &explanation);

/// `explanation` of plan.json: docs/Planner.md has the fields.
llvm::json::Value explanationToJSON(const Graph &graph,
                                    const cluster::Cluster &cluster,
                                    const Plan &plan,
                                    const Explanation &explanation);

} // namespace hethub::planner

#endif

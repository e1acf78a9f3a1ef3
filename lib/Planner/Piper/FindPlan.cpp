// All ideals where they can be listed, so that the plan is optimal; families of
// them that improve the plan step by step otherwise.
#include "BoundSearch.h"
#include "CutFamily.h"
#include "LowerBound.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

using Clock = SuffixTable::Clock;

/// Families in a row without a better plan that end the search.
static constexpr unsigned patience = 8;
/// Above this number of ideals x layers a good plan is first looked for in
/// families, so that little more than its proof is left to do with all ideals.
static constexpr unsigned familiesFirst = 200000;

static void searchFamilies(const Problem &problem, const Options &options,
                           SuffixTable::Deadline deadline, Plan &plan) {
  CutFamily family(problem, options.seed);
  unsigned fruitless = 0;
  while (fruitless < patience && plan.lowerBound < plan.secondsPerSample) {
    if (deadline && Clock::now() >= *deadline)
      return;
    const double before = plan.secondsPerSample;
    const Ideals ideals = family.draw(plan.stages);
    searchBound(problem, ideals, plan.lowerBound, deadline, plan);
    fruitless = plan.secondsPerSample < before ? 0 : fruitless + 1;
  }
}

Plan findPlan(const Problem &problem, const Options &options) {
  const SuffixTable::Deadline deadline =
      SuffixTable::after(options.timeLimitSeconds);
  Plan plan;
  plan.lowerBound = lowerBound(problem);
  if (plan.infeasible())
    return plan;

  const std::optional<Ideals> all = cutIdeals(problem, options);
  if (!all || all->size() * problem.layers.size() > familiesFirst)
    searchFamilies(problem, options, deadline, plan);
  if (all)
    plan.lowerBound =
        searchBound(problem, *all, plan.lowerBound, deadline, plan);
  else
    plan.notes.push_back("the graph has too many ideals: cuts were searched "
                         "along some topological orders");
  if (deadline && Clock::now() >= *deadline)
    plan.notes.push_back("the time limit ended the search");
  else if (all && !plan.infeasible() && plan.lowerBound < plan.secondsPerSample)
    plan.notes.push_back("the variants of a stage could not all be compared");
  return plan;
}

} // namespace hethub::planner::piper

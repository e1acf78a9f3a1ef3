#include "BoundSearch.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// Loads that differ by less are the same load, added up in another order.
static constexpr double sameLoad = 1e-12;
/// Below this distance the plan found is likely the best one.
static constexpr double nearlyBest = 0.01;

double searchBound(const Problem &problem, const Ideals &ideals, double floor,
                   SuffixTable::Deadline deadline, Plan &plan) {
  SuffixTable table(problem, ideals);
  double proved = floor; // `floor` also rises over undecided bounds.
  double step = 1.0 / 64;
  // A plan that is there already is likely good.
  bool improved = false, halve = !plan.found();
  while (floor < plan.secondsPerSample) {
    const double best = plan.secondsPerSample;
    const double below = best * (1 - sameLoad);
    double bound = below;
    if (best == infinity) {
      // Small bounds are decided fast, so start near the floor.
      bound = step > 4 || floor == 0 ? infinity : floor * (1 + step);
      step *= 2;
    } else if (halve || (improved && best > floor * (1 + nearlyBest))) {
      bound = std::min(below, std::sqrt(best * std::max(floor, 1e-12 * best)));
    }
    halve = !halve;

    const SuffixTable::Verdict verdict = table.fill(bound, deadline);
    if (verdict == SuffixTable::Verdict::Found) {
      improved = true;
      plan.stages = table.plan();
      cantFail(evaluate(problem, plan.stages));
      plan.secondsPerSample = 0;
      for (const Stage &stage : plan.stages)
        plan.secondsPerSample = std::max(plan.secondsPerSample, stage.load);
      continue;
    }
    if (deadline && SuffixTable::Clock::now() >= *deadline)
      break;
    floor = bound == below ? best : bound;
    if (verdict == SuffixTable::Verdict::None)
      proved = floor;
  }
  return std::min(proved, plan.secondsPerSample);
}

} // namespace hethub::planner::piper

// Tables for which no rule is known to be the best: several are simulated, and
// the fastest is taken.
//
// Backwards in two parts: gradients of activations go back at once, those of
// parameters fill what would be a gap. Qi, Wan, Huang, Lin: Zero bubble
// pipeline parallelism (2023), of whose heuristic this keeps the idea.
// Interleaved stages: Narayanan et al.: Efficient large-scale language model
// training on GPU clusters (2021). Stages may be uneven here.
#include "GreedyTable.h"
#include "TrainingTables.h"

#include "hethub/Simulator/Simulator.h"

#include <limits>

namespace hethub::simulator {

static Schedule fastest(std::vector<Schedule> tables,
                        const Pipeline &pipeline) {
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t index = 0; index < tables.size(); ++index) {
    double seconds = simulateGenerated(tables[index], pipeline).stepSeconds;
    // Rounding must not choose.
    if (seconds < least * (1 - 1e-12)) {
      least = seconds;
      best = index;
    }
  }
  return std::move(tables[best]);
}

/// All ways of choosing that are worth a try.
static std::vector<Preference> preferences(const Pipeline &pipeline) {
  std::vector<Preference> found;
  for (First first : {First::InTurn, First::Backward, First::Forward})
    for (bool inGroups : {false, true})
      if (!inGroups || isInterleaved(pipeline)) {
        Preference preference;
        preference.first = first;
        preference.inGroups = inGroups;
        found.push_back(preference);
      }
  return found;
}

Schedule zeroBubble(const Pipeline &pipeline, int microbatches) {
  std::vector<Schedule> tables;
  // So it is never slower than one forward, one backward.
  if (!isInterleaved(pipeline))
    for (Parts parts : {Parts::WeightLast, Parts::SendLast})
      tables.push_back(inTurn(pipeline, microbatches,
                              ScheduleKind::OneForwardOneBackward, parts));
  for (Preference preference : preferences(pipeline))
    for (bool weightsOnlyFit : {true, false})
      for (bool weightsForDrain : {true, false}) {
        preference.weightsOnlyFit = weightsOnlyFit;
        preference.weightsForDrain = weightsForDrain;
        tables.push_back(greedyTable(pipeline, microbatches, Parts::WeightApart,
                                     preference));
      }
  return fastest(std::move(tables), pipeline);
}

Schedule interleaved(const Pipeline &pipeline, int microbatches,
                     ScheduleKind kind) {
  std::vector<Schedule> tables;
  for (Preference preference : preferences(pipeline)) {
    preference.forwardsThenBackwards = kind == ScheduleKind::GPipe;
    tables.push_back(
        greedyTable(pipeline, microbatches, Parts::Whole, preference));
  }
  return fastest(std::move(tables), pipeline);
}

} // namespace hethub::simulator

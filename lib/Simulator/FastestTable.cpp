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

namespace {
class Fastest {
public:
  explicit Fastest(const Pipeline &pipeline) : pipeline(pipeline) {}

  void consider(Schedule table) {
    double seconds = simulateGenerated(table, pipeline).stepSeconds;
    // Rounding must not choose.
    if (seconds >= least * (1 - 1e-12))
      return;
    least = seconds;
    best = std::move(table);
  }
  Schedule take() { return std::move(best); }

private:
  const Pipeline &pipeline;
  Schedule best;
  double least = std::numeric_limits<double>::infinity();
};
} // namespace

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
  Fastest fastest(pipeline);
  // So it is never slower than one forward, one backward.
  if (!isInterleaved(pipeline))
    for (Parts parts : {Parts::WeightLast, Parts::SendLast})
      fastest.consider(inTurn(pipeline, microbatches,
                              ScheduleKind::OneForwardOneBackward, parts));
  for (Preference preference : preferences(pipeline))
    for (bool weightsOnlyFit : {true, false})
      for (bool weightsForDrain : {true, false}) {
        preference.weightsOnlyFit = weightsOnlyFit;
        preference.weightsForDrain = weightsForDrain;
        fastest.consider(greedyTable(pipeline, microbatches, Parts::WeightApart,
                                     preference));
      }
  return fastest.take();
}

Schedule interleaved(const Pipeline &pipeline, int microbatches,
                     ScheduleKind kind) {
  Fastest fastest(pipeline);
  for (Preference preference : preferences(pipeline)) {
    preference.forwardsThenBackwards = kind == ScheduleKind::GPipe;
    fastest.consider(
        greedyTable(pipeline, microbatches, Parts::Whole, preference));
  }
  return fastest.take();
}

} // namespace hethub::simulator

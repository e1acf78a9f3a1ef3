// How much memory a device would need for a plan to fit.
#include "CutFamily.h"
#include "LowerBound.h"
#include "SuffixTable.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// The answer is at most this part above the least memory.
static constexpr double precision = 1e-6;

/// What one stage of one replica needs, the smallest for any tensor degree:
/// a plan that is always there. Nothing when no degree suits all layers.
static std::optional<double> oneStage(const Problem &problem) {
  std::optional<double> best;
  for (const auto &[degree, unused] : problem.layers[0].variants) {
    if (degree > problem.devices)
      continue;
    double bytes = 0;
    for (const Layer &layer : problem.layers) {
      double least = infinity;
      auto variants = layer.variants.find(degree);
      if (variants != layer.variants.end())
        for (const Variant &variant : variants->second)
          least = std::min(least, variant.activationBytes + variant.fixedBytes);
      bytes += least;
    }
    if (bytes < best.value_or(infinity))
      best = bytes;
  }
  return best;
}

std::optional<MemoryNeed> smallestMemory(Problem problem,
                                         const Options &options) {
  const std::optional<Ideals> ideals = cutIdeals(problem, options);
  if (!ideals)
    return std::nullopt;
  const SuffixTable::Deadline deadline =
      SuffixTable::after(options.timeLimitSeconds);
  auto fits = [&](double memoryBytes) {
    problem.memoryBytes = memoryBytes;
    if (lowerBound(problem) == infinity)
      return SuffixTable::Verdict::None;
    return SuffixTable(problem, *ideals).fill(infinity, deadline);
  };

  // Whole bytes, as `low` never fits.
  double low = std::floor(problem.memoryBytes), high = 0;
  if (std::optional<double> bytes = oneStage(problem)) {
    high = std::ceil(*bytes);
  } else {
    // Enough for all variants with all microbatches in flight.
    for (const Layer &layer : problem.layers)
      for (const auto &[degree, variants] : layer.variants)
        for (const Variant &variant : variants)
          high += variant.activationBytes * problem.microbatches +
                  variant.fixedBytes;
    high = std::ceil(high) + 1;
    if (fits(high) != SuffixTable::Verdict::Found)
      return std::nullopt;
  }
  while (high - low > std::max(1.0, precision * high)) {
    const double middle = std::floor((low + high) / 2);
    const SuffixTable::Verdict verdict = fits(middle);
    if (verdict == SuffixTable::Verdict::Unknown)
      return MemoryNeed{high, false};
    (verdict == SuffixTable::Verdict::Found ? high : low) = middle;
  }
  return MemoryNeed{high, true};
}

} // namespace hethub::planner::piper

// How much memory a device would need for a plan to fit.
#include "LowerBound.h"
#include "SuffixTable.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

/// The answer is at most this part above the least memory.
static constexpr double precision = 1e-6;

std::optional<double> smallestMemory(Problem problem, const Options &options) {
  std::vector<Ideals::Edge> edges;
  for (const Edge &edge : problem.edges)
    edges.push_back({edge.source, edge.target});
  const std::optional<Ideals> ideals =
      Ideals::enumerate(problem.layers.size(), edges, options.idealLimit);
  if (!ideals)
    return std::nullopt;
  const SuffixTable::Deadline deadline =
      SuffixTable::after(options.timeLimitSeconds);
  auto fits = [&](double memoryBytes) {
    problem.memoryBytes = memoryBytes;
    if (lowerBound(problem) == std::numeric_limits<double>::infinity())
      return SuffixTable::Verdict::None;
    return SuffixTable(problem, *ideals)
        .fill(std::numeric_limits<double>::infinity(), deadline);
  };

  // Whole bytes, as `low` never fits.
  double low = std::floor(problem.memoryBytes), high = low;
  // All layers on one device with all microbatches in flight need less than
  // this, so more memory would not help.
  double most = low + 1;
  for (const Layer &layer : problem.layers)
    for (const auto &[degree, variants] : layer.variants)
      for (const Variant &variant : variants)
        most +=
            variant.activationBytes * problem.microbatches + variant.fixedBytes;
  if (fits(most) != SuffixTable::Verdict::Found)
    return std::nullopt;
  do {
    low = high;
    high = std::min(2 * high + 1, most);
  } while (fits(high) == SuffixTable::Verdict::None);
  while (high - low > std::max(1.0, precision * high)) {
    const double middle = std::floor((low + high) / 2);
    const SuffixTable::Verdict verdict = fits(middle);
    if (verdict == SuffixTable::Verdict::Unknown)
      return std::nullopt;
    (verdict == SuffixTable::Verdict::Found ? high : low) = middle;
  }
  return std::ceil(high);
}

} // namespace hethub::planner::piper

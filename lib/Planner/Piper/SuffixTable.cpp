#include "SuffixTable.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

/// Sums over ideals are subtracted from each other: what rounding could add is
/// taken off again, so that they stay lower bounds.
static constexpr double rounding = 1e-11;

SuffixTable::Deadline SuffixTable::after(double seconds) {
  // More than a year is no limit; it could overflow the clock.
  if (!(seconds < 3e7))
    return std::nullopt;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(seconds));
}

SuffixTable::SuffixTable(const Problem &problem, const Ideals &ideals)
    : problem(problem), ideals(ideals), costs(problem) {
  const unsigned batch = problem.microbatches;
  for (unsigned d = 1; uint64_t(d) * d <= batch; ++d)
    if (batch % d == 0)
      for (unsigned divisor : {d, batch / d})
        if (divisor <= problem.devices)
          dataDegrees.push_back(divisor);
  llvm::sort(dataDegrees);
  dataDegrees.erase(llvm::unique(dataDegrees), dataDegrees.end());

  // The data degrees add up to no more than the microbatches.
  const uint64_t widest =
      costs.degrees().empty() ? 1 : costs.degrees().back().tensorDegree;
  deviceLimit =
      std::min<uint64_t>(problem.devices, widest * problem.microbatches);

  const unsigned layerCount = problem.layers.size();
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<TotalSums> total(layerCount, {infinity, infinity, infinity});
  for (const DegreeCosts &degree : costs.degrees()) {
    std::vector<DegreeSums> perLayer(layerCount);
    for (unsigned layer = 0; layer < layerCount; ++layer) {
      DegreeSums &least = perLayer[layer];
      if (degree.choices[layer].empty()) {
        least.missing = 1;
        continue;
      }
      least = {infinity, infinity, infinity, 0};
      for (const DegreeCosts::Choice &choice : degree.choices[layer]) {
        least.seconds = std::min(least.seconds, choice.compute);
        least.activation = std::min(least.activation, choice.activation);
        least.fixed = std::min(least.fixed, choice.fixed);
      }
      const double t = degree.tensorDegree;
      total[layer].seconds = std::min(total[layer].seconds, t * least.seconds);
      total[layer].activation =
          std::min(total[layer].activation, t * least.activation);
      total[layer].fixed = std::min(total[layer].fixed, t * least.fixed);
    }
    std::vector<DegreeSums> &sums = degreeSums.emplace_back(ideals.size());
    for (unsigned ideal = 1; ideal < ideals.size(); ++ideal)
      ideals.forEachBetween(0, ideal, [&](unsigned layer) {
        sums[ideal].seconds += perLayer[layer].seconds;
        sums[ideal].activation += perLayer[layer].activation;
        sums[ideal].fixed += perLayer[layer].fixed;
        sums[ideal].missing += perLayer[layer].missing;
      });
  }
  totalSums.resize(ideals.size());
  for (unsigned ideal = 1; ideal < ideals.size(); ++ideal)
    ideals.forEachBetween(0, ideal, [&](unsigned layer) {
      totalSums[ideal].seconds += total[layer].seconds;
      totalSums[ideal].activation += total[layer].activation;
      totalSums[ideal].fixed += total[layer].fixed;
    });
}

// A stage of d replicas with D data degrees behind it has y d >= d + D >= 1 +
// D, so its devices together hold at least t sum(A (1 + D) + B) bytes; and they
// work at least t sum(p) seconds.
unsigned SuffixTable::devicesNeeded(unsigned ideal,
                                    unsigned dataDegreesBehind) const {
  if (ideal == 0)
    return 0;
  const TotalSums &sums = totalSums[ideal];
  const double bytes = sums.activation * (1.0 + dataDegreesBehind) + sums.fixed;
  const double devices =
      std::max(sums.seconds / bound, bytes / problem.memoryBytes);
  if (!(devices * (1 - rounding) <= deviceLimit))
    return deviceLimit + 1;
  return std::max(1u, unsigned(std::ceil(devices * (1 - rounding))));
}

bool SuffixTable::dominated(const Front &front, unsigned dataDegrees,
                            unsigned devices) {
  // The last entry of no more data degrees has the fewest devices of those.
  auto after = llvm::upper_bound(front, dataDegrees,
                                 [](unsigned degrees, const Entry &entry) {
                                   return degrees < entry.dataDegrees;
                                 });
  return after != front.begin() && std::prev(after)->devices <= devices;
}

void SuffixTable::insert(Front &front, const Entry &entry) {
  auto position = llvm::lower_bound(front, entry.dataDegrees,
                                    [](const Entry &other, unsigned degrees) {
                                      return other.dataDegrees < degrees;
                                    });
  auto last = position;
  while (last != front.end() && last->devices >= entry.devices)
    ++last;
  if (position == last) {
    front.insert(position, entry);
    return;
  }
  *position = entry;
  front.erase(position + 1, last);
}

bool SuffixTable::promising(unsigned inner, const Reached &outer) const {
  // A stage of degrees d and t has d t >= sum(t p) / bound.
  const double seconds =
      outer.seconds * (1 - rounding) - totalSums[inner].seconds;
  const double devices = outer.leastDevices + std::max(1.0, seconds / bound);
  if (devices > deviceLimit)
    return false;
  const Front &front = fronts[inner];
  if (front.size() == 1)
    return devices < front[0].devices ||
           outer.leastDataDegrees + 1 < front[0].dataDegrees;
  return !dominated(front, outer.leastDataDegrees + 1, unsigned(devices));
}

void SuffixTable::extend(unsigned inner, unsigned outer, unsigned degreeIndex) {
  const DegreeSums &in = degreeSums[degreeIndex][inner];
  const DegreeSums &out = degreeSums[degreeIndex][outer];
  if (in.missing != out.missing)
    return;
  const unsigned t = costs.degrees()[degreeIndex].tensorDegree;
  const double seconds = out.seconds - in.seconds - rounding * out.seconds;
  const double activation =
      out.activation - in.activation - rounding * out.activation;
  const double fixed = out.fixed - in.fixed - rounding * out.fixed;
  if (activation + fixed > problem.memoryBytes)
    return;

  Front &front = fronts[inner];
  auto degree =
      llvm::lower_bound(dataDegrees, seconds / bound,
                        [](unsigned d, double least) { return d < least; });
  bool selected = false;
  unsigned fitsInFlight = 0; // Of the current data degree.
  for (unsigned index = 0;
       index < fronts[outer].size() && degree != dataDegrees.end(); ++index) {
    const Entry behind = fronts[outer][index];
    // More data degrees behind never let a smaller one through, so the search
    // goes on where it stood.
    for (; degree != dataDegrees.end(); ++degree, fitsInFlight = 0) {
      const unsigned d = *degree;
      const unsigned total = behind.dataDegrees + d;
      const uint64_t devices = behind.devices + uint64_t(d) * t;
      if (total + (inner != 0) > problem.microbatches ||
          devices + devicesNeeded(inner, total) > deviceLimit ||
          dominated(front, total, devices))
        break; // Larger degrees neither.
      const unsigned inFlight = (behind.dataDegrees + d - 1) / d + 1;
      if (activation * inFlight + fixed > problem.memoryBytes)
        continue;
      if (inFlight > fitsInFlight) {
        if (!selected)
          costs.select(ideals, inner, outer, degreeIndex);
        selected = true;
        const Verdict verdict = costs.fits(d, inFlight, bound);
        undecided |= verdict == Verdict::Unknown;
        if (verdict != Verdict::Found)
          continue;
        fitsInFlight = inFlight;
      }
      insert(front, {total, unsigned(devices), outer, index, degreeIndex, d});
      break;
    }
  }
}

SuffixTable::Verdict SuffixTable::fill(double newBound, Deadline deadline) {
  bound = newBound;
  undecided = false;
  auto late = [&] { return deadline && Clock::now() >= *deadline; };
  fronts.assign(ideals.size(), {});
  fronts.back().push_back({0, 0, 0, 0, 0, 0});
  reached = {{ideals.size() - 1, totalSums.back().seconds, 0, 0}};
  for (unsigned inner = ideals.size() - 1; inner-- > 0;) {
    if (devicesNeeded(inner, 1) >= deviceLimit && inner != 0)
      continue;
    if (late())
      return Verdict::Unknown;
    unsigned extended = 0;
    // Short stages first: they lead to the pairs that spare most others.
    for (const Reached &outer : llvm::reverse(reached)) {
      if (!promising(inner, outer) || !ideals.isSubset(inner, outer.ideal))
        continue;
      if (extended++ % 64 == 63 && late())
        return Verdict::Unknown;
      for (unsigned degree = 0; degree < degreeSums.size(); ++degree)
        extend(inner, outer.ideal, degree);
    }
    if (!fronts[inner].empty())
      reached.push_back({inner, totalSums[inner].seconds,
                         fronts[inner].front().dataDegrees,
                         fronts[inner].back().devices});
  }
  if (!fronts[0].empty())
    return Verdict::Found;
  return undecided ? Verdict::Unknown : Verdict::None;
}

std::vector<Stage> SuffixTable::plan() {
  std::vector<Stage> stages;
  unsigned inner = 0, index = 0;
  while (inner != ideals.size() - 1) {
    const Entry &entry = fronts[inner][index];
    const unsigned behind = entry.dataDegrees - entry.dataDegree;
    const unsigned inFlight =
        (behind + entry.dataDegree - 1) / entry.dataDegree + 1;
    costs.select(ideals, inner, entry.outer, entry.degreeIndex);
    stages.push_back(
        costs.cheapest(entry.dataDegree, inFlight, bound * (1 + 1e-9)));
    inner = entry.outer;
    index = entry.outerEntry;
  }
  return stages;
}

} // namespace hethub::planner::piper

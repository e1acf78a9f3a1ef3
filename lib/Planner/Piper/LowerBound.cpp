// Work and memory of all devices together, and the slowest layer alone.
//
// A stage of degrees d, t and load <= T has d t devices, so that
//   d t T >= t sum(p)     and     d t M >= d t sum(A y + B) >= t sum(A + B).
// Added up over the stages, with any price q >= 0 on the second:
//   k (T + q M) >= sum over layers of min over variants of t (p + q (A + B)),
// which bounds T. The right side less q k M is concave in q.
#include "LowerBound.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The least of `cost(tensor degree, variant)` over what the devices allow.
template <typename Cost>
static double least(const Problem &problem, const Layer &layer, Cost cost) {
  double least = infinity;
  for (const auto &[degree, variants] : layer.variants)
    if (degree <= problem.devices)
      for (const Variant &variant : variants)
        least = std::min(least, cost(double(degree), variant));
  return least;
}

static double sharedBound(const Problem &problem, double price) {
  double sum = 0;
  for (const Layer &layer : problem.layers)
    sum += least(problem, layer, [&](double t, const Variant &variant) {
      return t * (variant.seconds +
                  price * (variant.activationBytes + variant.fixedBytes));
    });
  return sum / problem.devices - price * problem.memoryBytes;
}

static double layerBound(const Problem &problem, const Layer &layer) {
  return least(problem, layer, [&](double t, const Variant &variant) {
    const double reduced =
        4 * variant.parameterBytes / problem.microbatches / problem.bandwidth;
    const unsigned most =
        std::min(problem.devices / unsigned(t), problem.microbatches);
    // reduced + (p - reduced) / d is least at one of the ends.
    return std::min(variant.seconds,
                    reduced + (variant.seconds - reduced) / most);
  });
}

double lowerBound(const Problem &problem) {
  double bytes = 0, bound = 0;
  for (const Layer &layer : problem.layers) {
    bytes += least(problem, layer, [](double t, const Variant &variant) {
      return t * (variant.activationBytes + variant.fixedBytes);
    });
    bound = std::max(bound, layerBound(problem, layer));
  }
  // Rounding must not exclude a plan that fills the memory.
  if (bytes > problem.memoryBytes * problem.devices * (1 + 1e-12))
    return infinity;

  double work = sharedBound(problem, 0);
  double high = std::max(work, 1e-300) / problem.memoryBytes;
  for (unsigned step = 0; step < 200 && sharedBound(problem, 2 * high) >
                                            sharedBound(problem, high);
       ++step)
    high *= 2;
  high *= 2;
  double low = 0;
  for (unsigned step = 0; step < 100; ++step) {
    const double third = (high - low) / 3;
    const double a = sharedBound(problem, low + third);
    const double b = sharedBound(problem, high - third);
    work = std::max({work, a, b});
    (a < b ? low : high) = a < b ? low + third : high - third;
  }
  return std::max(bound, work) * (1 - 1e-12);
}

} // namespace hethub::planner::piper

// Minima over ranges of an array, each in constant time.
#ifndef HETHUB_LIB_PLANNER_RANGEMINIMUM_H
#define HETHUB_LIB_PLANNER_RANGEMINIMUM_H

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace hethub::planner {

/// Range minima of an array that is finite on [first, last] only.
class RangeMinimum {
public:
  void build(std::vector<double> values, unsigned first, unsigned last) {
    this->first = first;
    this->last = last;
    levels.clear();
    levels.push_back(std::move(values));
    for (unsigned width = 1; 2 * width <= last - first + 1; width *= 2) {
      const std::vector<double> &previous = levels.back();
      std::vector<double> next(last - first + 2 - 2 * width);
      for (size_t index = 0; index < next.size(); ++index)
        next[index] = std::min(previous[index], previous[index + width]);
      levels.push_back(std::move(next));
    }
  }
  /// Minimum over [from, to].
  double query(unsigned from, unsigned to) const {
    from = std::max(from, first);
    to = std::min(to, last);
    if (from > to)
      return std::numeric_limits<double>::infinity();
    unsigned level = llvm::Log2_32(to - from + 1);
    return std::min(levels[level][from - first],
                    levels[level][to + 1 - (1u << level) - first]);
  }

private:
  unsigned first = 1, last = 0;
  std::vector<std::vector<double>> levels;
};

} // namespace hethub::planner

#endif

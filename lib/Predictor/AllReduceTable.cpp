// Lines between and beyond measured sizes.
#include "hethub/Predictor/AllReduceTable.h"

#include <algorithm>

namespace hethub::predictor {

std::optional<double> AllReduceTable::lookUp(int ranks,
                                             double messageBytes) const {
  auto found = seconds.find(ranks);
  if (found == seconds.end() || bytes.empty())
    return std::nullopt;
  const std::vector<double> &times = found->second;
  const size_t last = bytes.size() - 1;
  if (last == 0)
    return times[0];
  auto through = [&](size_t left, size_t right) {
    double slope = (times[right] - times[left]) / (bytes[right] - bytes[left]);
    return times[left] + slope * (messageBytes - bytes[left]);
  };
  // Single measurements scatter too much to give a slope; nothing is faster
  // than the smallest message by more than that slope says.
  if (messageBytes <= bytes[0])
    return std::clamp(through(0, std::max<size_t>(1, last / 64)), 0.0,
                      times[0]);
  if (messageBytes >= bytes[last]) {
    size_t left = last - std::max<size_t>(1, last / 4);
    double slope =
        std::max(0.0, times[last] - times[left]) / (bytes[last] - bytes[left]);
    return times[last] + slope * (messageBytes - bytes[last]);
  }
  size_t right = std::upper_bound(bytes.begin(), bytes.end(), messageBytes) -
                 bytes.begin();
  return through(right - 1, right);
}

} // namespace hethub::predictor

// Measured times of an all-reduce inside one node.
#ifndef HETHUB_PREDICTOR_ALLREDUCETABLE_H
#define HETHUB_PREDICTOR_ALLREDUCETABLE_H

#include <map>
#include <optional>
#include <vector>

namespace hethub::predictor {

struct AllReduceTable {
  /// Ascending message sizes, and for each rank count the seconds of each.
  std::vector<double> bytes;
  std::map<int, std::vector<double>> seconds;

  /// Linear between the measured sizes. Beyond them the first and the last
  /// quarter of the table go on: a line of latency and bandwidth. Nothing for a
  /// rank count that was not measured.
  std::optional<double> lookUp(int ranks, double messageBytes) const;
};

} // namespace hethub::predictor

#endif

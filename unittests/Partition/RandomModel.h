// Random models as MLIR text, with costs.
#ifndef HETHUB_UNITTESTS_PARTITION_RANDOMMODEL_H
#define HETHUB_UNITTESTS_PARTITION_RANDOMMODEL_H

#include <random>
#include <string>

namespace hethub::test {

/// A module with a cluster of one to three device types and @main: a graph with
/// skips, several outputs (some of them inputs, weights or listed twice),
/// operations of several results, shared weights, views, computation on weights
/// alone, values that cannot be sent, random numbers, and sub-graphs that
/// capture.
std::string randomModel(std::mt19937 &random);

} // namespace hethub::test

#endif

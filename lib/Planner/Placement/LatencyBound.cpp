// A lower bound from paths.
//
// Take any path of the graph and any placement. A call is convex, so its nodes
// on the path follow each other, and it holds all that lies between them: every
// node that the first reaches and that reaches the last. So the path falls into
// runs, each a pooled node or a slice in one call, and each run ends before the
// next begins. A call lasts at least the seconds of all it holds, and pays the
// tensor of the path that enters it and the one that leaves it; what it holds
// must fit its memory. The least sum over all ways to cut the path into such
// runs, with no more calls than there are, bounds the finish from below. It
// holds for every path; a few are tried.
#include "Latency.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

class PathBound {
public:
  explicit PathBound(const PlacementProblem &problem);
  double best();

private:
  std::vector<unsigned> longestPath(ArrayRef<double> weights) const;
  double bound(ArrayRef<unsigned> path);
  /// Cheapest call that holds what lies between path[first] and path[last].
  double callSeconds(ArrayRef<unsigned> path, unsigned first,
                     unsigned last) const;
  bool reaches(unsigned from, unsigned to) const {
    return descendants[size_t(from) * words + to / 64] >> (to % 64) & 1;
  }

  const PlacementProblem &problem;
  std::vector<unsigned> order; // topological
  unsigned words, calls = 0;
  std::vector<uint64_t> descendants; // of a node, itself included
};

} // namespace

PathBound::PathBound(const PlacementProblem &problem)
    : problem(problem), order(topologicalOrder(problem)),
      words((problem.nodes.size() + 63) / 64),
      descendants(problem.nodes.size() * size_t(words), 0) {
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    uint64_t *row = &descendants[size_t(*node) * words];
    row[*node / 64] |= uint64_t(1) << (*node % 64);
    for (unsigned consumer : problem.nodes[*node].consumers)
      for (unsigned word = 0; word < words; ++word)
        row[word] |= descendants[size_t(consumer) * words + word];
  }
  for (const DeviceClass &deviceClass : problem.classes)
    if (!deviceClass.pooled)
      calls += std::min<size_t>(deviceClass.count, problem.nodes.size());
}

std::vector<unsigned> PathBound::longestPath(ArrayRef<double> weights) const {
  std::vector<double> length(weights.begin(), weights.end());
  std::vector<int> next(weights.size(), -1);
  unsigned start = 0;
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    for (unsigned consumer : problem.nodes[*node].consumers)
      if (weights[*node] + length[consumer] > length[*node]) {
        length[*node] = weights[*node] + length[consumer];
        next[*node] = consumer;
      }
    if (length[*node] >= length[start])
      start = *node;
  }
  std::vector<unsigned> path;
  for (int node = start; node >= 0; node = next[node])
    path.push_back(node);
  return path;
}

double PathBound::callSeconds(ArrayRef<unsigned> path, unsigned first,
                              unsigned last) const {
  std::vector<double> seconds(problem.classes.size(), 0);
  double memory = 0;
  for (unsigned node = 0; node < problem.nodes.size(); ++node) {
    if (!reaches(path[first], node) || !reaches(node, path[last]))
      continue;
    memory += problem.nodes[node].memoryBytes;
    for (unsigned t = 0; t < seconds.size(); ++t)
      seconds[t] += problem.nodes[node].seconds[t];
  }
  double transfer = 0;
  if (first > 0)
    transfer += problem.nodes[path[first - 1]].transferSeconds;
  if (last + 1 < path.size())
    transfer += problem.nodes[path[last]].transferSeconds;
  double least = infinity;
  for (unsigned t = 0; t < seconds.size(); ++t) {
    const DeviceClass &deviceClass = problem.classes[t];
    if (!deviceClass.pooled && deviceClass.count > 0 &&
        memory <= deviceClass.memoryBytes)
      least =
          std::min(least, seconds[t] + deviceClass.transferScale * transfer);
  }
  return least;
}

double PathBound::bound(ArrayRef<unsigned> path) {
  // least[i][k]: the first i nodes of the path with k calls.
  const unsigned width = std::min<size_t>(calls, path.size()) + 1;
  std::vector<double> least((path.size() + 1) * width, infinity);
  least[0] = 0;
  for (unsigned begin = 0; begin < path.size(); ++begin) {
    double pooled = infinity;
    for (unsigned t = 0; t < problem.classes.size(); ++t)
      if (problem.classes[t].pooled && problem.classes[t].count > 0)
        pooled = std::min(pooled, problem.nodes[path[begin]].seconds[t]);
    const double *from = &least[begin * width];
    for (unsigned used = 0; used < width; ++used)
      least[(begin + 1) * width + used] =
          std::min(least[(begin + 1) * width + used], from[used] + pooled);
    for (unsigned last = begin; last < path.size(); ++last) {
      const double call = callSeconds(path, begin, last);
      if (call == infinity)
        break; // what a call holds only grows with its slice
      double *to = &least[(last + 1) * width];
      for (unsigned used = 0; used + 1 < width; ++used)
        to[used + 1] = std::min(to[used + 1], from[used] + call);
    }
  }
  const double *end = &least[path.size() * width];
  return *std::min_element(end, end + width);
}

double PathBound::best() {
  const unsigned count = problem.nodes.size();
  std::vector<double> seconds(count, infinity), memory(count),
      slowest(count, 0);
  double secondsSum = 0, memorySum = 0;
  for (unsigned node = 0; node < count; ++node) {
    const PlacementNode &what = problem.nodes[node];
    for (unsigned t = 0; t < problem.classes.size(); ++t)
      if (problem.classes[t].count > 0) {
        seconds[node] = std::min(seconds[node], what.seconds[t]);
        if (what.seconds[t] < infinity)
          slowest[node] = std::max(slowest[node], what.seconds[t]);
      }
    memory[node] = what.memoryBytes;
    secondsSum += seconds[node];
    memorySum += memory[node];
  }
  if (secondsSum == infinity)
    return infinity;
  double result = 0;
  // Long in time, in memory, in what a slow device would need, and mixtures.
  for (double share : {0.0, 0.2, 0.5, 0.8, 1.0})
    for (bool slow : {false, true}) {
      std::vector<double> weights(count);
      for (unsigned node = 0; node < count; ++node)
        weights[node] =
            share * (slow ? slowest : seconds)[node] /
                std::max(secondsSum, 1e-300) +
            (1 - share) * memory[node] / std::max(memorySum, 1e-300) +
            1e-9; // longer paths on ties
      result = std::max(result, bound(longestPath(weights)));
    }
  return result;
}

double latencyBound(const PlacementProblem &problem) {
  return PathBound(problem).best();
}

} // namespace hethub::planner

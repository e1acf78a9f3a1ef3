// Prefix sums, sparse tables and step functions over the nodes' order.
#include "SliceCosts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

SliceCosts::SliceCosts(const Graph &graph, const cluster::Cluster &cluster,
                       const Options &options)
    : graph(graph), options(options), nodeCount(graph.nodes.size()),
      typeCount(cluster.types.size()), messageFactor(options.training ? 2 : 1) {
  work.assign(typeCount, std::vector<double>(nodeCount + 1, 0));
  firstUnsupported.assign(typeCount,
                          std::vector<unsigned>(nodeCount + 1, nodeCount));
  for (unsigned type = 0; type < typeCount; ++type) {
    deviceCounts.push_back(std::min(cluster.types[type].count, nodeCount));
    int64_t limit = cluster.types[type].memoryBytes;
    if (type < options.memoryLimits.size() && options.memoryLimits[type] > 0)
      limit = options.memoryLimits[type];
    memoryLimits.push_back(limit > 0 ? double(limit) : infinity);
    std::vector<char> supported(nodeCount);
    for (unsigned index = 0; index < nodeCount; ++index) {
      const Node &node = graph.nodes[index];
      double seconds = node.forwardSeconds[type];
      if (options.training && !node.backwardSeconds.empty())
        seconds += node.backwardSeconds[type];
      supported[index] = std::isfinite(seconds);
      work[type][index + 1] =
          work[type][index] + (supported[index] ? seconds : 0);
    }
    for (unsigned index = nodeCount; index-- > 0;)
      firstUnsupported[type][index] =
          supported[index] ? firstUnsupported[type][index + 1] : index;
  }

  double factor = options.training ? options.parameterMemoryFactor : 1;
  parameters.assign(nodeCount + 1, 0);
  activations.assign(nodeCount + 1, 0);
  workspace.emplace_back();
  for (unsigned index = 0; index < nodeCount; ++index) {
    const Node &node = graph.nodes[index];
    parameters[index + 1] =
        parameters[index] + factor * double(node.parameterBytes);
    activations[index + 1] =
        activations[index] +
        (options.training ? double(node.activationBytes) : 0);
    workspace[0].push_back(node.workspaceBytes);
  }
  for (unsigned width = 1; 2 * width <= nodeCount; width *= 2) {
    const std::vector<int64_t> &last = workspace.back();
    std::vector<int64_t> next(nodeCount - 2 * width + 1);
    for (size_t index = 0; index < next.size(); ++index)
      next[index] = std::max(last[index], last[index + width]);
    workspace.push_back(std::move(next));
  }
  for (const SharedParameter &parameter : graph.sharedParameters) {
    std::vector<unsigned> users = parameter.users;
    std::sort(users.begin(), users.end());
    shared.emplace_back(factor * double(parameter.bytes), std::move(users));
  }
  if (options.training)
    for (double limit : memoryLimits)
      tracksInFlight |= memory(0, nodeCount, options.microbatches) > limit;

  forbidCuts();
  buildPrices(cluster);
  buildLive();
  buildSegments();
}

double SliceCosts::memory(unsigned begin, unsigned end,
                          unsigned inFlight) const {
  double bytes = parameters[end] - parameters[begin] +
                 inFlight * (activations[end] - activations[begin]);
  for (const auto &[size, users] : shared) {
    auto user = std::lower_bound(users.begin(), users.end(), begin);
    if (user != users.end() && *user < end)
      bytes += size;
  }
  unsigned level = Log2_32(end - begin);
  return bytes + double(std::max(workspace[level][begin],
                                 workspace[level][end - (1u << level)]));
}

unsigned SliceCosts::maxInFlight(unsigned type, unsigned begin,
                                 unsigned end) const {
  double limit = memoryLimits[type];
  unsigned most = options.training ? options.microbatches : 1;
  if (memory(begin, end, most) <= limit)
    return most;
  unsigned low = 0, high = most; // fits with low (or low is 0), not with high
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    (memory(begin, end, middle) <= limit ? low : high) = middle;
  }
  return low;
}

void SliceCosts::forbidCuts() {
  cutAllowed.assign(nodeCount + 1, 1);
  scopeBoundary.assign(nodeCount + 1, 1);
  for (unsigned cut = 1; cut < nodeCount; ++cut)
    scopeBoundary[cut] = graph.nodes[cut - 1].scope != graph.nodes[cut].scope;
  std::vector<int> covered(nodeCount + 2, 0);
  auto forbid = [&](unsigned first, unsigned last) { // no cut in (first, last]
    ++covered[first + 1];
    --covered[last + 1];
  };
  DenseMap<int, std::pair<unsigned, unsigned>> groups;
  for (unsigned index = 0; index < nodeCount; ++index)
    if (int group = graph.nodes[index].group; group >= 0)
      groups.try_emplace(group, index, index).first->second.second = index;
  for (const auto &[group, range] : groups)
    forbid(range.first, range.second);
  for (const Tensor &tensor : graph.tensors)
    if (!tensor.cuttable && !tensor.consumers.empty())
      forbid(tensor.producer, *std::max_element(tensor.consumers.begin(),
                                                tensor.consumers.end()));
  int depth = 0;
  for (unsigned cut = 0; cut <= nodeCount; ++cut) {
    depth += covered[cut];
    if (depth > 0)
      cutAllowed[cut] = 0;
  }
}

void SliceCosts::buildPrices(const cluster::Cluster &cluster) {
  prices.reserve(graph.tensors.size() * typeCount * typeCount);
  for (const Tensor &tensor : graph.tensors) {
    const std::vector<double> &clone =
        graph.nodes[tensor.producer].cloneSeconds;
    std::vector<double> least(typeCount, infinity);
    for (unsigned from = 0; from < typeCount; ++from)
      for (unsigned to = 0; to < typeCount; ++to) {
        double seconds = cluster.transferSeconds(from, to, tensor.bytes);
        if (!clone.empty())
          seconds = std::min(seconds, clone[to]);
        prices.push_back(seconds);
        least[to] = std::min(least[to], seconds);
      }
    cheapest.insert(cheapest.end(), least.begin(), least.end());
  }
}

void SliceCosts::buildLive() {
  // For each tensor its sorted uses; then its live entries, cut by cut.
  std::vector<std::vector<unsigned>> uses(graph.tensors.size());
  std::vector<size_t> count(nodeCount + 1, 0);
  for (unsigned index = 0; index < graph.tensors.size(); ++index) {
    const Tensor &tensor = graph.tensors[index];
    uses[index] = tensor.consumers;
    std::sort(uses[index].begin(), uses[index].end());
    if (!uses[index].empty())
      for (unsigned cut = tensor.producer + 1; cut <= uses[index].back(); ++cut)
        ++count[cut];
  }
  liveBegin.assign(nodeCount + 2, 0);
  for (unsigned cut = 0; cut <= nodeCount; ++cut)
    liveBegin[cut + 1] = liveBegin[cut] + count[cut];
  live.resize(liveBegin.back());
  std::vector<size_t> fill(liveBegin.begin(), liveBegin.end() - 1);
  for (unsigned index = 0; index < graph.tensors.size(); ++index) {
    unsigned cut = graph.tensors[index].producer + 1;
    for (unsigned use : uses[index])
      for (; cut <= use; ++cut)
        live[fill[cut]++] = {index, graph.tensors[index].producer, use,
                             uses[index].back()};
  }
}

void SliceCosts::buildSegments() {
  const unsigned tableSize = typeCount * typeCount;
  std::vector<unsigned> breaks;
  for (unsigned begin = 0; begin < nodeCount; ++begin) {
    segmentBegin.push_back(segments.size());
    if (!cutAllowed[begin] && begin != 0)
      continue; // no slice begins here
    breaks.assign(1, begin + 1);
    for (const LiveTensor &tensor : liveAt(begin)) {
      breaks.push_back(tensor.nextUse + 1);
      for (unsigned from = 0; from < typeCount; ++from)
        for (unsigned to = 0; to < typeCount; ++to)
          if (price(tensor.tensor, from, to) >
              cheapestPrice(tensor.tensor, to)) {
            breaks.push_back(tensor.lastUse + 1);
            from = typeCount - 1;
            break;
          }
    }
    std::sort(breaks.begin(), breaks.end());
    breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
    for (unsigned end : breaks) {
      Segment segment{end, false, tables.size()};
      tables.resize(tables.size() + 3 * tableSize, 0);
      double *receivedTable = &tables[segment.offset],
             *correctionTable = receivedTable + tableSize,
             *surelyTable = correctionTable + tableSize;
      for (const LiveTensor &tensor : liveAt(begin))
        for (unsigned from = 0; from < typeCount; ++from)
          for (unsigned to = 0; to < typeCount; ++to) {
            double seconds = price(tensor.tensor, from, to),
                   least = cheapestPrice(tensor.tensor, to);
            unsigned entry = from * typeCount + to;
            if (tensor.nextUse < end) {
              receivedTable[entry] += seconds;
              surelyTable[entry] +=
                  tensor.producer + 1 == begin ? seconds : least;
            }
            if (tensor.lastUse >= end && seconds > least) {
              correctionTable[entry] -= seconds - least;
              segment.relaxed = anyCorrection = true;
            }
          }
      segments.push_back(segment);
    }
  }
  segmentBegin.resize(nodeCount + 2, segments.size());
}

double SliceCosts::leastWork() const {
  double sum = 0;
  for (unsigned index = 0; index < nodeCount; ++index) {
    double least = infinity;
    for (unsigned type = 0; type < typeCount; ++type)
      if (firstUnsupported[type][index] != index && deviceCounts[type] > 0)
        least = std::min(least, load(type, index, index + 1));
    sum += least;
  }
  return sum;
}

} // namespace hethub::planner

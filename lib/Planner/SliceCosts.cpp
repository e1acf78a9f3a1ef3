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
  for (unsigned type = 0; type < typeCount; ++type) {
    int64_t limit = memoryLimitOf(cluster, options, type);
    memoryLimits.push_back(limit > 0 ? double(limit) : infinity);
  }
  buildKinds(cluster);
  buildWork(cluster);
  forbidCuts();
  buildPrices(cluster);
  buildLive();
  buildSegments();
  if (options.training)
    for (unsigned kind = 0; kind < kinds.size(); ++kind) {
      double limit = memoryLimits[kinds[kind].type];
      // What a stage reads from others may be more than the whole graph keeps.
      tracksInFlight |=
          limit < infinity &&
          options.schedule != simulator::ScheduleKind::GPipe &&
          (kinds[kind].recompute ||
           memory(kind, 0, nodeCount, options.microbatches) > limit);
    }
}

void SliceCosts::buildKinds(const cluster::Cluster &cluster) {
  for (unsigned type = 0; type < typeCount; ++type) {
    const cluster::DeviceType &device = cluster.types[type];
    unsigned widest = 1;
    if (options.tensorParallel)
      while (2 * widest <= std::min(device.count, devicesOfNode(device)))
        widest *= 2;
    for (unsigned width = 1; width <= widest; width *= 2)
      for (bool recompute : {false, true})
        if (!recompute || (options.training && options.recompute))
          kinds.push_back({type, width, recompute});
    unsigned replicas =
        options.replicas ? std::min(device.count, options.microbatches) : 1;
    uint64_t stages = nodeCount;
    for (unsigned limit : {options.maxStages, options.exactStages})
      if (limit > 0)
        stages = std::min<uint64_t>(stages, limit);
    deviceCounts.push_back(
        unsigned(std::min<uint64_t>(device.count, stages * widest * replicas)));

    optimizerPerByte.push_back(
        options.training
            ? optimizerSeconds(cluster, options, type, 1 << 30) / (1 << 30)
            : 0);
    sumLinks.push_back(linkOfReplicas(cluster, type));
    replicaLimits.push_back(replicas);
  }
}

void SliceCosts::buildWork(const cluster::Cluster &cluster) {
  firstUnsupported.assign(typeCount,
                          std::vector<unsigned>(nodeCount + 1, nodeCount));
  for (const StageKind &kind : kinds) {
    std::vector<double> &sums = work.emplace_back(nodeCount + 1, 0),
                        &lateSums = late.emplace_back(nodeCount + 1, 0);
    std::vector<unsigned> &unsupported = firstUnsupported[kind.type];
    std::vector<char> supported(nodeCount);
    Bytes bytes;
    bytes.parameters.assign(nodeCount + 1, 0);
    bytes.frozen.assign(nodeCount + 1, 0);
    bytes.activations.assign(nodeCount + 1, 0);
    bytes.workspace.emplace_back();
    for (unsigned index = 0; index < nodeCount; ++index) {
      NodeCosts costs =
          costNode(graph.nodes[index], cluster, options, kind.type, kind.width);
      double seconds = costs.forwardSeconds * (kind.recompute ? 2 : 1) +
                       costs.backwardSeconds;
      supported[index] = std::isfinite(seconds);
      const double putOff =
          supported[index] && putsOffWeights(options) ? costs.weightSeconds : 0;
      sums[index + 1] = sums[index] + (supported[index] ? seconds - putOff : 0);
      lateSums[index + 1] = lateSums[index] + putOff;
      bytes.parameters[index + 1] =
          bytes.parameters[index] + double(costs.parameterBytes);
      bytes.frozen[index + 1] = bytes.frozen[index] + double(costs.frozenBytes);
      bytes.activations[index + 1] =
          bytes.activations[index] + double(costs.activationBytes);
      bytes.workspace[0].push_back(costs.workspaceBytes);
    }
    for (unsigned index = nodeCount; index-- > 0;)
      unsupported[index] = supported[index] ? unsupported[index + 1] : index;
    if (Log2_32(kind.width) < bytesOfWidth.size())
      continue;
    for (unsigned width = 1; 2 * width <= nodeCount; width *= 2) {
      const std::vector<int64_t> &last = bytes.workspace.back();
      std::vector<int64_t> next(nodeCount - 2 * width + 1);
      for (size_t index = 0; index < next.size(); ++index)
        next[index] = std::max(last[index], last[index + width]);
      bytes.workspace.push_back(std::move(next));
    }
    for (const SharedParameter &parameter : graph.sharedParameters)
      bytes.shared.push_back(double(sharedBytes(graph, parameter, kind.width)));
    bytesOfWidth.push_back(std::move(bytes));
  }
  for (const SharedParameter &parameter : graph.sharedParameters) {
    std::vector<unsigned> next(nodeCount + 1, nodeCount);
    for (unsigned user : parameter.users)
      next[user] = user;
    for (unsigned position = nodeCount; position-- > 0;)
      next[position] = std::min(next[position], next[position + 1]);
    nextUser.push_back(std::move(next));
  }
}

std::vector<Choice> SliceCosts::choices() const {
  std::vector<Choice> all;
  for (unsigned kind = 0; kind < kinds.size(); ++kind) {
    const auto [type, width, recompute] = kinds[kind];
    unsigned most = std::min(deviceCounts[type] / width, replicaLimits[type]);
    unsigned turns = 0; // of the busiest replica
    for (unsigned replicas = 1; replicas <= most; ++replicas) {
      unsigned now = (options.microbatches + replicas - 1) / replicas;
      if (now == turns && !tracksInFlight)
        continue;
      turns = now;
      all.push_back({kind, replicas, type, replicas * width});
    }
  }
  return all;
}

std::pair<double, double> SliceCosts::parametersOf(const Bytes &bytes,
                                                   unsigned begin,
                                                   unsigned end) const {
  double sum = bytes.parameters[end] - bytes.parameters[begin],
         frozen = bytes.frozen[end] - bytes.frozen[begin];
  for (size_t index = 0; index < nextUser.size(); ++index)
    if (nextUser[index][begin] < end) {
      sum += bytes.shared[index];
      if (graph.sharedParameters[index].frozen)
        frozen += bytes.shared[index];
    }
  return {sum, sum - frozen};
}

double SliceCosts::steady(const Choice &choice, unsigned begin,
                          unsigned end) const {
  unsigned turns =
      (options.microbatches + choice.replicas - 1) / choice.replicas;
  double seconds = (turns - 1.0) * load(choice.kind, begin, end);
  if (!options.training)
    return seconds;
  seconds += putOff(choice.kind, begin, end);
  const double bytes =
      parametersOf(bytesOfWidth[Log2_32(kinds[choice.kind].width)], begin, end)
          .second;
  seconds += sumLinks[choice.type].seconds(choice.replicas, bytes);
  return seconds + optimizerPerByte[choice.type] * bytes;
}

double SliceCosts::memory(unsigned kind, unsigned begin, unsigned end,
                          unsigned inFlight) const {
  const Bytes &bytes = bytesOfWidth[Log2_32(kinds[kind].width)];
  double activations = bytes.activations[end] - bytes.activations[begin];
  const auto [all, trained] = parametersOf(bytes, begin, end);
  double sum = double(parameterMemory(options, all, trained));
  sum += kinds[kind].recompute ? activations + inFlight * inputBytes(begin, end)
                               : inFlight * activations;
  unsigned level = Log2_32(end - begin);
  return sum + double(std::max(bytes.workspace[level][begin],
                               bytes.workspace[level][end - (1u << level)]));
}

unsigned SliceCosts::maxInFlight(unsigned kind, unsigned begin,
                                 unsigned end) const {
  double limit = memoryLimits[kinds[kind].type];
  unsigned most = options.training ? options.microbatches : 1;
  if (memory(kind, begin, end, most) <= limit)
    return most;
  unsigned low = 0, high = most; // fits with low (or low is 0), not with high
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    (memory(kind, begin, end, middle) <= limit ? low : high) = middle;
  }
  return low;
}

const Segment *SliceCosts::segmentOf(unsigned begin, unsigned end) const {
  ArrayRef<Segment> steps = segmentsOf(begin);
  auto after = std::upper_bound(
      steps.begin(), steps.end(), end,
      [](unsigned end, const Segment &step) { return end < step.begin; });
  return after == steps.begin() ? nullptr : std::prev(after);
}

double SliceCosts::inputBytes(unsigned begin, unsigned end) const {
  const Segment *segment = segmentOf(begin, end);
  return segment ? segment->bytes : 0;
}

double SliceCosts::receivedBy(unsigned from, unsigned to, unsigned begin,
                              unsigned end) const {
  const Segment *segment = segmentOf(begin, end);
  return segment ? received(*segment, from, to) : 0;
}

double SliceCosts::stepSeconds(const Slices &slices,
                               std::vector<unsigned> &onReplica) const {
  const size_t stages = slices.ends.size();
  onReplica.assign(stages, 1);
  auto beginOf = [&](size_t stage) {
    return stage == 0 ? 0 : slices.ends[stage - 1];
  };
  double sum = 0, longest = 0;
  std::vector<double> receives(stages, 0);
  for (size_t stage = 0; stage < stages; ++stage) {
    const Choice &choice = slices.choices[stage];
    const unsigned begin = beginOf(stage), end = slices.ends[stage];
    for (const LiveTensor &tensor : liveAt(begin)) {
      if (tensor.nextUse >= end)
        continue;
      size_t from = std::upper_bound(slices.ends.begin(), slices.ends.end(),
                                     tensor.producer) -
                    slices.ends.begin();
      receives[stage] +=
          price(tensor.tensor, slices.choices[from].type, choice.type);
    }
    sum += fill(choice.kind, begin, end) + messageFactor * receives[stage];
    longest = std::max(longest, steady(choice, begin, end));
  }
  const double pace = longest / std::max(1.0, options.microbatches - 1.0);
  double ahead = 0;
  for (size_t stage = stages; stage-- > 0;) {
    const Choice &choice = slices.choices[stage];
    if (options.training)
      onReplica[stage] = this->onReplica(
          choice, unsigned(std::min<double>(ahead, options.microbatches)));
    if (memory(choice.kind, beginOf(stage), slices.ends[stage],
               onReplica[stage]) > memoryLimits[choice.type])
      return infinity;
    ahead = choice.replicas * (1 + std::ceil(ahead / choice.replicas)) +
            (pace > 0 ? std::ceil(2 * receives[stage] / pace) : 0);
  }
  return sum + longest;
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
      Segment segment{end, false, 0, tables.size()};
      tables.resize(tables.size() + 3 * tableSize, 0);
      double *receivedTable = &tables[segment.offset],
             *correctionTable = receivedTable + tableSize,
             *surelyTable = correctionTable + tableSize;
      for (const LiveTensor &tensor : liveAt(begin)) {
        if (tensor.nextUse < end)
          segment.bytes += double(graph.tensors[tensor.tensor].bytes);
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
    for (unsigned kind = 0; kind < kinds.size(); ++kind)
      if (firstUnsupported[kinds[kind].type][index] != index &&
          deviceCounts[kinds[kind].type] >= kinds[kind].width)
        least = std::min(least, fill(kind, index, index + 1));
    sum += least;
  }
  return sum;
}

} // namespace hethub::planner

// Finish times in topological order of calls and pooled nodes.
#include "Latency.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

LatencyPlaces::LatencyPlaces(const PlacementProblem &problem) {
  for (bool pooled : {false, true})
    for (unsigned t = 0; t < problem.classes.size(); ++t) {
      const DeviceClass &deviceClass = problem.classes[t];
      if (deviceClass.pooled != pooled || deviceClass.count == 0)
        continue;
      // More calls than nodes are never used.
      const unsigned count =
          pooled ? 1
                 : std::min<size_t>(deviceClass.count, problem.nodes.size());
      for (unsigned index = 0; index < count; ++index) {
        classOf.push_back(t);
        deviceOf.push_back({t, index});
      }
      if (!pooled)
        calls = classOf.size();
    }
}

LatencyModel::LatencyModel(const PlacementProblem &problem,
                           const LatencyPlaces &places)
    : problem(problem), places(places), itemOf(problem.nodes.size()),
      nodesOfCall(places.calls), paid(places.calls) {}

void LatencyModel::addSeconds(ArrayRef<unsigned> placeOfNode) {
  const unsigned count = problem.nodes.size();
  std::fill(paid.begin(), paid.end(), 0);
  for (unsigned node = 0; node < count; ++node) {
    const PlacementNode &what = problem.nodes[node];
    const unsigned item = itemOf[node];
    seconds[item] += what.seconds[places.classOf[placeOfNode[node]]];
    auto pay = [&](unsigned payer) {
      if (payer < count || paid[payer - count] == node + 1)
        return;
      paid[payer - count] = node + 1;
      const unsigned t = places.classOf[payer - count];
      seconds[payer] += problem.classes[t].transferScale * what.transferSeconds;
    };
    for (unsigned consumer : what.consumers) {
      const unsigned reader = itemOf[consumer];
      if (reader == item)
        continue;
      ++waiting[reader];
      pay(item);
      pay(reader);
    }
  }
}

double LatencyModel::finish(ArrayRef<unsigned> placeOfNode) {
  const unsigned count = problem.nodes.size(), items = count + places.calls;
  seconds.assign(items, 0);
  end.assign(items, 0);
  waiting.assign(items, 0);
  ready.clear();
  for (std::vector<unsigned> &nodes : nodesOfCall)
    nodes.clear();
  for (unsigned node = 0; node < count; ++node) {
    const unsigned place = placeOfNode[node];
    itemOf[node] = places.isPool(place) ? node : count + place;
    if (!places.isPool(place))
      nodesOfCall[place].push_back(node);
  }
  addSeconds(placeOfNode);

  unsigned present = 0;
  for (unsigned item = 0; item < items; ++item) {
    bool empty =
        item < count ? itemOf[item] != item : nodesOfCall[item - count].empty();
    present += !empty;
    if (!empty && waiting[item] == 0)
      ready.push_back(item);
  }
  double latest = 0;
  for (size_t next = 0; next < ready.size(); ++next) {
    const unsigned item = ready[next];
    end[item] += seconds[item]; // held the latest input
    latest = std::max(latest, end[item]);
    auto release = [&](unsigned node) {
      for (unsigned consumer : problem.nodes[node].consumers) {
        const unsigned reader = itemOf[consumer];
        if (reader == item)
          continue;
        end[reader] = std::max(end[reader], end[item]);
        if (--waiting[reader] == 0)
          ready.push_back(reader);
      }
    };
    if (item < count)
      release(item);
    else
      for (unsigned node : nodesOfCall[item - count])
        release(node);
  }
  return ready.size() == present ? latest
                                 : std::numeric_limits<double>::infinity();
}

} // namespace hethub::planner

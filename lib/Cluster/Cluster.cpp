// Look-ups in a cluster, and the figures that stand in for what a file does not
// state.
#include "hethub/Cluster/Cluster.h"

#include "hethub/Cluster/Accelerators.h"
#include "hethub/Cluster/MeasureHost.h"

#include <algorithm>

using namespace llvm;

namespace hethub::cluster {

// Defaults, documented in docs/Cluster.md.
static constexpr double networkBandwidth = 10e9 / 8; // 10 Gbit/s Ethernet
static constexpr double networkLatency = 50e-6;
static constexpr double deviceLinkLatency = 5e-6;
static constexpr double loopbackBandwidth = 2e9; // Gloo between two processes
static constexpr double loopbackLatency = 30e-6;

double DeviceType::peakFor(StringRef dtype) const {
  auto found = peakFlops.find(dtype.str());
  if (found == peakFlops.end())
    found = peakFlops.find("float32");
  return found == peakFlops.end() ? 0 : found->second;
}

std::optional<unsigned> Cluster::find(StringRef name) const {
  for (unsigned index = 0; index < types.size(); ++index)
    if (types[index].name == name)
      return index;
  return std::nullopt;
}

unsigned Cluster::deviceCount() const {
  unsigned count = 0;
  for (const DeviceType &type : types)
    count += type.count;
  return count;
}

Link Cluster::link(unsigned a, unsigned b) const {
  auto found = links.find({std::min(a, b), std::max(a, b)});
  if (found != links.end())
    return found->second;
  const DeviceType &first = types[a], &second = types[b];
  Link link;
  link.viaHost = first.hostBandwidth > 0 || second.hostBandwidth > 0;
  if (first.kind == "cpu" && second.kind == "cpu" && first.nodes == 1 &&
      second.nodes == 1) {
    link.bandwidth = loopbackBandwidth;
    link.latency = loopbackLatency;
    return link;
  }
  const Accelerator *accelerator = findAccelerator(first.accelerator);
  if (a == b && first.nodes == 1 && accelerator && accelerator->linkGBps > 0) {
    link.bandwidth = accelerator->linkGBps * 1e9;
    link.latency = deviceLinkLatency;
    link.viaHost = false;
    return link;
  }
  link.bandwidth = networkBandwidth;
  link.latency = networkLatency;
  return link;
}

void Cluster::setLink(unsigned a, unsigned b, Link link) {
  links[{std::min(a, b), std::max(a, b)}] = link;
}

/// The route that is first at a message's end.
static const Route &fastest(const std::vector<Route> &routes, double bytes) {
  return *std::min_element(routes.begin(), routes.end(),
                           [&](const Route &one, const Route &other) {
                             return one.seconds(bytes) < other.seconds(bytes);
                           });
}

Link Cluster::linkFor(unsigned a, unsigned b, int64_t bytes) const {
  Link link = this->link(a, b);
  if (link.routes.empty())
    return link;
  const Route &route = fastest(link.routes, double(bytes));
  link.viaHost = route.viaHost;
  link.chunkBytes = route.chunkBytes;
  link.latency = route.latency;
  link.bandwidth = route.bandwidth;
  return link;
}

double Cluster::transferSeconds(unsigned from, unsigned to,
                                int64_t bytes) const {
  if (auto found = links.find({std::min(from, to), std::max(from, to)});
      found != links.end() && !found->second.routes.empty())
    return fastest(found->second.routes, double(bytes)).seconds(double(bytes));
  Link link = this->link(from, to);
  double seconds = link.latency + double(bytes) / link.bandwidth;
  if (link.viaHost)
    for (unsigned end : {from, to})
      if (types[end].hostBandwidth > 0)
        seconds += double(bytes) / types[end].hostBandwidth;
  return seconds;
}

bool Cluster::emulated() const {
  return std::any_of(types.begin(), types.end(),
                     [](const DeviceType &type) {
                       return type.emulatedSlowdown > 0;
                     }) ||
         std::any_of(links.begin(), links.end(),
                     [](const auto &entry) { return entry.second.emulated; });
}

Cluster equalDevices(unsigned count) {
  Cluster cluster;
  DeviceType type;
  type.name = "cpu";
  type.kind = "cpu";
  type.count = count;
  type.memoryBytes = hostMemoryBytes() / std::max(count, 1u);
  cluster.types.push_back(std::move(type));
  return cluster;
}

void measureMissingFigures(Cluster &cluster) {
  for (DeviceType &type : cluster.types) {
    if (type.kind != "cpu")
      continue;
    if (type.memoryBytes == 0)
      type.memoryBytes =
          hostMemoryBytes() / std::max(1u, type.count / type.nodes);
    if (type.memoryBandwidth == 0)
      type.memoryBandwidth = hostFigures().memoryBandwidth;
    if (!type.peakFlops.count("float32"))
      type.peakFlops["float32"] = hostFigures().float32Flops;
  }
}

} // namespace hethub::cluster

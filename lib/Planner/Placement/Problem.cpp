// What a placement problem must be, and what a placement costs.
#include "hethub/Planner/Placement.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>
#include <set>

using namespace llvm;

namespace hethub::planner {

static Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static std::string shown(double value) {
  std::string text;
  raw_string_ostream(text) << format("%g", value);
  return text;
}

static Error verifyClasses(const PlacementProblem &problem) {
  unsigned devices = 0;
  for (const DeviceClass &deviceClass : problem.classes) {
    devices += deviceClass.count > 0;
    if (!(deviceClass.memoryBytes >= 0))
      return fail(
          formatv("device class {0}: memory must be at least 0, got: {1}",
                  deviceClass.name, shown(deviceClass.memoryBytes)));
    if (!(deviceClass.transferScale >= 0) ||
        std::isinf(deviceClass.transferScale))
      return fail(formatv(
          "device class {0}: transfer scale must be at least 0, got: {1}",
          deviceClass.name, shown(deviceClass.transferScale)));
  }
  // The search keeps the classes that can run a node in one word.
  if (problem.classes.size() > 32)
    return fail("device classes must be at most 32, got: " +
                Twine(problem.classes.size()));
  if (devices == 0)
    return fail("devices must be at least 1, got: 0");
  return Error::success();
}

static Error verifyNode(const PlacementProblem &problem, unsigned index) {
  const PlacementNode &node = problem.nodes[index];
  const std::string where = "node " + node.name + ": ";
  if (node.seconds.size() != problem.classes.size())
    return fail(where + "seconds must have one entry for each of " +
                Twine(problem.classes.size()) +
                " device classes, got: " + Twine(node.seconds.size()));
  for (double seconds : node.seconds)
    if (!(seconds >= 0))
      return fail(formatv("{0}seconds must be at least 0, got: {1}", where,
                          shown(seconds)));
  for (auto [value, what] : {std::pair(node.memoryBytes, "memory"),
                             std::pair(node.transferSeconds, "transfer")})
    if (!(value >= 0) || std::isinf(value))
      return fail(formatv("{0}{1} must be finite and at least 0, got: {2}",
                          where, what, shown(value)));
  for (unsigned consumer : node.consumers) {
    if (consumer >= problem.nodes.size())
      return fail(where + "consumer must be below the number of nodes, got: " +
                  Twine(consumer));
    if (node.backward && !problem.nodes[consumer].backward)
      return fail(where +
                  "a backward node must not feed a forward node, "
                  "got: node " +
                  problem.nodes[consumer].name);
  }
  return Error::success();
}

std::vector<unsigned> topologicalOrder(const PlacementProblem &problem) {
  std::vector<unsigned> waiting(problem.nodes.size(), 0), order;
  for (const PlacementNode &node : problem.nodes)
    for (unsigned consumer : node.consumers)
      ++waiting[consumer];
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    if (waiting[node] == 0)
      order.push_back(node);
  for (size_t next = 0; next < order.size(); ++next)
    for (unsigned consumer : problem.nodes[order[next]].consumers)
      if (--waiting[consumer] == 0)
        order.push_back(consumer);
  return order;
}

/// Names a node on a cycle if there is one.
static Error verifyAcyclic(const PlacementProblem &problem) {
  std::vector<unsigned> order = topologicalOrder(problem);
  if (order.size() == problem.nodes.size())
    return Error::success();
  std::vector<bool> ordered(problem.nodes.size());
  for (unsigned node : order)
    ordered[node] = true;
  // Walking back among the nodes that never became ready must end in a cycle;
  // what hangs behind one is no part of it.
  std::vector<unsigned> before(problem.nodes.size());
  unsigned start = 0;
  for (unsigned node = 0; node < problem.nodes.size(); ++node) {
    if (ordered[node])
      continue;
    start = node;
    for (unsigned consumer : problem.nodes[node].consumers)
      before[consumer] = node;
  }
  std::set<unsigned> seen;
  while (seen.insert(start).second)
    start = before[start];
  std::string path = problem.nodes[start].name;
  unsigned length = 0;
  for (unsigned node = before[start]; node != start && ++length < 8;
       node = before[node])
    path = problem.nodes[node].name + " -> " + path;
  return fail("edges must form no cycle, got: " + problem.nodes[start].name +
              (length < 8 ? " -> " : " -> ... -> ") + path);
}

Error verifyPlacementProblem(const PlacementProblem &problem) {
  if (Error error = verifyClasses(problem))
    return error;
  if (problem.nodes.empty())
    return fail("nodes must be at least 1, got: 0");
  StringSet<> names;
  for (unsigned node = 0; node < problem.nodes.size(); ++node) {
    if (!names.insert(problem.nodes[node].name).second)
      return fail("node " + problem.nodes[node].name + ": name occurs twice");
    if (Error error = verifyNode(problem, node))
      return error;
  }
  return verifyAcyclic(problem);
}

std::vector<DeviceLoad> deviceLoads(const PlacementProblem &problem,
                                    ArrayRef<Device> devices) {
  std::map<Device, DeviceLoad> loads;
  for (unsigned index = 0; index < problem.nodes.size(); ++index) {
    const PlacementNode &node = problem.nodes[index];
    const Device home = devices[index];
    DeviceLoad &load = loads[home];
    load.device = home;
    ++load.nodeCount;
    load.computeSeconds += node.seconds[home.deviceClass];
    load.memoryBytes += node.memoryBytes;
    std::set<Device> readers;
    for (unsigned consumer : node.consumers)
      if (!(devices[consumer] == home))
        readers.insert(devices[consumer]);
    if (readers.empty())
      continue;
    readers.insert(home);
    for (Device device : readers)
      loads[device].transferSeconds +=
          problem.classes[device.deviceClass].transferScale *
          node.transferSeconds;
  }
  std::vector<DeviceLoad> result;
  for (const auto &entry : loads)
    result.push_back(entry.second);
  return result;
}

} // namespace hethub::planner

#include "Oracle.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace hethub::planner::test {

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Numbers of the devices, and of the groups by colour.
static std::vector<unsigned> groupsOf(const PlacementProblem &problem) {
  std::vector<unsigned> groups;
  for (unsigned node = 0; node < problem.nodes.size(); ++node) {
    unsigned group = node;
    for (unsigned other = 0; other < node; ++other)
      if (problem.nodes[node].color >= 0 &&
          problem.nodes[other].color == problem.nodes[node].color)
        group = std::min(group, other);
    groups.push_back(group);
  }
  return groups;
}

/// Arcs between groups, as pairs of nodes.
static std::vector<std::pair<unsigned, unsigned>>
arcsOf(const PlacementProblem &problem) {
  const std::vector<unsigned> group = groupsOf(problem);
  auto hasForward = [&](unsigned node) {
    for (unsigned other = 0; other < problem.nodes.size(); ++other)
      if (group[other] == group[node] && !problem.nodes[other].backward)
        return true;
    return false;
  };
  std::vector<std::pair<unsigned, unsigned>> arcs;
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    for (unsigned consumer : problem.nodes[node].consumers) {
      bool from = problem.nodes[node].backward,
           to = problem.nodes[consumer].backward;
      if (!from && !to)
        arcs.push_back({node, consumer});
      else if (from && to && (!hasForward(node) || !hasForward(consumer)))
        arcs.push_back({consumer, node});
    }
  return arcs;
}

/// Can all `count` things be put in an order that no arc goes against?
static bool orderable(unsigned count,
                      const std::vector<std::pair<unsigned, unsigned>> &arcs) {
  std::vector<uint64_t> after(count, 0);
  for (auto [from, to] : arcs)
    if (from != to)
      after[from] |= uint64_t(1) << to;
  uint64_t left = (uint64_t(1) << count) - 1;
  for (bool removed = true; removed;) {
    removed = false;
    for (unsigned thing = 0; thing < count; ++thing)
      if ((left >> thing & 1) && !(after[thing] & left)) {
        left &= ~(uint64_t(1) << thing);
        removed = true;
      }
  }
  return left == 0;
}

static std::vector<Device> devicesOf(const PlacementProblem &problem) {
  std::vector<Device> devices;
  for (unsigned t = 0; t < problem.classes.size(); ++t)
    for (unsigned index = 0; index < problem.classes[t].count; ++index)
      devices.push_back({t, index});
  return devices;
}

std::string brokenRule(const PlacementProblem &problem,
                       const PlacementOptions &options,
                       const std::vector<Device> &devices) {
  if (devices.size() != problem.nodes.size())
    return "not every node has a device";
  std::map<Device, double> memory;
  const std::vector<unsigned> group = groupsOf(problem);
  for (unsigned node = 0; node < devices.size(); ++node) {
    const Device device = devices[node];
    if (device.deviceClass >= problem.classes.size() ||
        device.index >= problem.classes[device.deviceClass].count)
      return "no such device";
    if (problem.nodes[node].seconds[device.deviceClass] == infinity)
      return "a node on a device that cannot run it";
    if (!(device == devices[group[node]]))
      return "a torn colour";
    memory[device] += problem.nodes[node].memoryBytes;
  }
  for (auto [device, bytes] : memory)
    if (bytes > problem.classes[device.deviceClass].memoryBytes)
      return "too little memory";
  const bool latency = options.objective == PlacementObjective::Latency;
  if (options.mode == PlacementMode::Free && !latency)
    return "";
  // Latency: a node in a pool stands alone.
  std::vector<Device> all = devicesOf(problem);
  std::vector<unsigned> place;
  for (unsigned node = 0; node < devices.size(); ++node) {
    bool alone = latency && problem.classes[devices[node].deviceClass].pooled;
    place.push_back(alone ? node
                          : devices.size() + (std::find(all.begin(), all.end(),
                                                        devices[node]) -
                                              all.begin()));
  }
  std::vector<std::pair<unsigned, unsigned>> arcs;
  for (auto [from, to] : arcsOf(problem))
    arcs.push_back({place[from], place[to]});
  return orderable(devices.size() + all.size(), arcs)
             ? ""
             : "devices that cannot be ordered";
}

static double finish(const PlacementProblem &problem,
                     const std::vector<Device> &devices) {
  const unsigned count = problem.nodes.size();
  // A call has the number of its first node.
  std::vector<unsigned> call(count);
  for (unsigned node = 0; node < count; ++node) {
    call[node] = node;
    for (unsigned other = 0; other < node; ++other)
      if (devices[other] == devices[node] &&
          !problem.classes[devices[node].deviceClass].pooled) {
        call[node] = other;
        break;
      }
  }
  std::vector<double> seconds(count, 0), end(count, 0);
  for (unsigned node = 0; node < count; ++node) {
    seconds[call[node]] +=
        problem.nodes[node].seconds[devices[node].deviceClass];
    std::set<unsigned> charged;
    for (unsigned consumer : problem.nodes[node].consumers)
      if (call[consumer] != call[node]) {
        charged.insert(call[consumer]);
        charged.insert(call[node]);
      }
    for (unsigned other : charged)
      seconds[other] +=
          problem.classes[devices[other].deviceClass].transferScale *
          problem.nodes[node].transferSeconds;
  }
  // Rounds of relaxation; more than `count` mean a cycle.
  for (unsigned node = 0; node < count; ++node)
    end[call[node]] = seconds[call[node]];
  for (unsigned round = 0; round <= count; ++round) {
    bool changed = false;
    for (unsigned node = 0; node < count; ++node)
      for (unsigned consumer : problem.nodes[node].consumers)
        if (call[consumer] != call[node] &&
            end[call[node]] + seconds[call[consumer]] > end[call[consumer]]) {
          end[call[consumer]] = end[call[node]] + seconds[call[consumer]];
          changed = true;
        }
    if (!changed)
      return *std::max_element(end.begin(), end.end());
  }
  return infinity;
}

double objectiveOf(const PlacementProblem &problem,
                   const PlacementOptions &options,
                   const std::vector<Device> &devices) {
  if (options.objective == PlacementObjective::Latency)
    return finish(problem, devices);
  double largest = 0;
  std::set<Device> holding(devices.begin(), devices.end());
  for (Device device : holding) {
    double load = 0;
    for (unsigned node = 0; node < devices.size(); ++node) {
      const bool here = devices[node] == device;
      if (here)
        load += problem.nodes[node].seconds[device.deviceClass];
      bool readHere = false, readElsewhere = false;
      for (unsigned consumer : problem.nodes[node].consumers)
        (devices[consumer] == device ? readHere : readElsewhere) = true;
      if (here ? readElsewhere : readHere)
        load += problem.classes[device.deviceClass].transferScale *
                problem.nodes[node].transferSeconds;
    }
    largest = std::max(largest, load);
  }
  return largest;
}

double bruteForce(const PlacementProblem &problem,
                  const PlacementOptions &options) {
  const std::vector<Device> all = devicesOf(problem);
  const std::vector<unsigned> group = groupsOf(problem);
  double best = infinity;
  std::vector<Device> devices(problem.nodes.size());
  std::map<Device, double> compute, memory;
  const bool throughput = options.objective == PlacementObjective::Throughput;
  std::function<void(unsigned)> place = [&](unsigned node) {
    if (node == problem.nodes.size()) {
      double value = objectiveOf(problem, options, devices);
      if (value < best && brokenRule(problem, options, devices).empty())
        best = value;
      return;
    }
    std::set<unsigned> emptySeen; // classes: empty devices of one are alike
    for (Device device : all) {
      if (group[node] != node && !(devices[group[node]] == device))
        continue;
      bool empty = true;
      for (unsigned other = 0; other < node; ++other)
        empty &= !(devices[other] == device);
      if (empty && !emptySeen.insert(device.deviceClass).second)
        continue;
      const PlacementNode &what = problem.nodes[node];
      double seconds = what.seconds[device.deviceClass];
      // Compute and memory only grow, so nothing is lost here.
      if (seconds == infinity ||
          memory[device] + what.memoryBytes >
              problem.classes[device.deviceClass].memoryBytes ||
          (throughput && compute[device] + seconds >= best))
        continue;
      devices[node] = device;
      compute[device] += seconds;
      memory[device] += what.memoryBytes;
      place(node + 1);
      compute[device] -= seconds;
      memory[device] -= what.memoryBytes;
    }
  };
  place(0);
  return best;
}

std::optional<double> missingBytes(const PlacementProblem &problem,
                                   const PlacementOptions &options) {
  // Only sums of sizes can matter; sizes are small whole numbers here.
  PlacementProblem larger = problem;
  for (unsigned added = 0; added < 200; ++added) {
    if (bruteForce(larger, options) < infinity)
      return added;
    for (DeviceClass &deviceClass : larger.classes)
      deviceClass.memoryBytes += 1;
  }
  return std::nullopt;
}

namespace {

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  unsigned below(unsigned limit) { return engine() % limit; }
  bool chance(double probability) {
    return double(engine()) / double(engine.max()) < probability;
  }
  double real(double low, double high) {
    return low + (high - low) * (double(engine()) / double(engine.max()));
  }

private:
  std::mt19937 engine;
};

} // namespace

PlacementProblem randomPlacement(unsigned seed, unsigned maxNodes,
                                 unsigned maxDevices, bool training) {
  Random random(seed * 2654435761u + maxNodes);
  PlacementProblem problem;
  static const char *names[] = {"acc", "old", "cpu"};
  const unsigned classes = 1 + random.below(3);
  unsigned devices = 0;
  const bool memoryTight = random.chance(0.4);
  for (unsigned t = 0; t < classes; ++t) {
    DeviceClass deviceClass;
    deviceClass.name = names[t];
    deviceClass.count =
        std::min(random.below(4), maxDevices - std::min(devices, maxDevices));
    devices += deviceClass.count;
    if (random.chance(memoryTight ? 0.9 : 0.2))
      deviceClass.memoryBytes = random.below(memoryTight ? 12 : 40);
    deviceClass.transferScale = random.chance(0.3)   ? 0
                                : random.chance(0.7) ? 1
                                                     : random.real(0.2, 2);
    deviceClass.pooled = t > 0 && random.chance(0.5);
    problem.classes.push_back(deviceClass);
  }
  if (devices == 0)
    problem.classes[0].count = 1;

  const unsigned n = 1 + random.below(maxNodes);
  const unsigned forward = training ? (n + 1) / 2 : n;
  const bool whole = random.chance(0.5); // many ties
  const double density = random.real(0.1, 0.6), free = random.real(0, 0.5);
  const double transfers = random.chance(0.2) ? 0 : random.real(0, 2);
  std::vector<double> slowness;
  for (unsigned t = 0; t < classes; ++t)
    slowness.push_back(t == 0 ? 1 : whole ? 1 + t : random.real(0.5, 6));
  for (unsigned index = 0; index < n; ++index) {
    PlacementNode node;
    node.name = std::to_string(10 * index + 3);
    node.backward = index >= forward;
    const bool costless = random.chance(free);
    const double size = costless ? 0
                        : whole  ? random.below(5)
                                 : random.real(0, 5);
    for (unsigned t = 0; t < classes; ++t)
      node.seconds.push_back(random.chance(0.04)
                                 ? infinity
                                 : size * slowness[t] *
                                       (whole ? 1 : random.real(0.8, 1.2)));
    node.memoryBytes = costless && random.chance(0.7) ? 0 : random.below(5);
    node.transferSeconds = costless && random.chance(0.5) ? 0
                           : whole ? random.below(1 + unsigned(2 * transfers))
                                   : transfers * random.real(0, 1);
    problem.nodes.push_back(node);
  }
  // Edges go up within the forward part and within the backward part.
  for (unsigned from = 0; from < n; ++from)
    for (unsigned to = from + 1; to < n; ++to) {
      const bool across = from < forward && to >= forward;
      if (random.chance(across ? density / 3 : density))
        problem.nodes[from].consumers.push_back(to);
    }
  // A backward node follows its forward node, the last comes first.
  for (unsigned index = forward; index < n; ++index)
    if (random.chance(0.7)) {
      PlacementNode &twin = problem.nodes[n - 1 - index];
      if (twin.color < 0)
        twin.color = n - 1 - index;
      problem.nodes[index].color = twin.color;
    }
  for (PlacementNode &node : problem.nodes)
    if (node.color < 0 && random.chance(0.06))
      node.color = 100 + random.below(2);
  return problem;
}

} // namespace hethub::planner::test

// From nodes to units.
//
// Three steps, none of which loses every optimum:
// 1. Nodes of one colour are one group by the rules. Groups on a cycle of arcs
//    share a device in every contiguous placement.
// 2. Tensors become joins. A device pays a tensor when it holds some but not
//    all of producer and consumers, so tensors with the same ends add up, and
//    tensors within a unit vanish.
// 3. A unit v without seconds (on any class) and without memory joins a unit u
//    when (a) u is an end of every join of v, (b) v's predecessors are u or
//    predecessors of u, v's successors u or successors of u, (c) every class
//    that runs u runs v. Proof: take any placement and move v to u's device.
//    (a) a join that held devices D holds a subset of D afterwards, since u's
//    device is in D: no device pays more. (b) an arc of v to or from w != u has
//    a twin between u and w, which the order of devices keeps already; an arc
//    between v and u lies within a device. (c) the device can run v, and its
//    memory does not change. So the placement stays valid and gets no worse.
//    If v has memory, the same move keeps all rules but u's memory limit:
//    leaving v's memory out gives a relaxation.
// 4. A unit without seconds, memory and joins that every class runs and that
// has
//    no predecessors (no successors) can go where the first (last) stage runs:
//    it only constrains the order, and that place satisfies all its arcs.
// Step 3 holds for the finish of one sample too: v without seconds is done no
// later than u begins or ends, what waits for v waits for u already, and no
// call pays more. Step 4 does not: who reads v would wait for the first call.
#include "Units.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace llvm;

namespace hethub::planner {

using Arcs = std::vector<std::vector<unsigned>>;

static void sortUnique(std::vector<unsigned> &list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Colour classes; groups are numbered by their first node.
static unsigned groupByColor(const PlacementProblem &problem,
                             std::vector<unsigned> &groupOf) {
  DenseMap<int, unsigned> groupOfColor;
  unsigned count = 0;
  for (const PlacementNode &node : problem.nodes) {
    unsigned group = count;
    if (node.color >= 0)
      group = groupOfColor.try_emplace(node.color, count).first->second;
    count += group == count;
    groupOf.push_back(group);
  }
  return count;
}

/// Forward edges between groups; a group without forward nodes is ordered by
/// the mirror image of its backward edges.
static Arcs orderBetween(const PlacementProblem &problem,
                         ArrayRef<unsigned> groupOf, unsigned groups) {
  std::vector<bool> hasForward(groups, false);
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    if (!problem.nodes[node].backward)
      hasForward[groupOf[node]] = true;
  Arcs arcs(groups);
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    for (unsigned consumer : problem.nodes[node].consumers) {
      unsigned from = groupOf[node], to = groupOf[consumer];
      if (from == to)
        continue;
      if (!problem.nodes[node].backward && !problem.nodes[consumer].backward)
        arcs[from].push_back(to);
      else if (problem.nodes[node].backward &&
               problem.nodes[consumer].backward &&
               (!hasForward[from] || !hasForward[to]))
        arcs[to].push_back(from);
    }
  for (std::vector<unsigned> &targets : arcs)
    sortUnique(targets);
  return arcs;
}

/// Strongly connected components (Tarjan, without recursion: graphs can be
/// deep), numbered in a topological order.
static unsigned fuseCycles(const Arcs &arcs, std::vector<unsigned> &component) {
  const unsigned count = arcs.size(), none = ~0u;
  std::vector<unsigned> index(count, none), low(count), next(count, 0), stack,
      path;
  component.assign(count, none);
  unsigned visited = 0, components = 0;
  for (unsigned root = 0; root < count; ++root) {
    if (index[root] != none)
      continue;
    path.push_back(root);
    while (!path.empty()) {
      unsigned at = path.back();
      if (index[at] == none) {
        index[at] = low[at] = visited++;
        stack.push_back(at);
      }
      if (next[at] < arcs[at].size()) {
        unsigned to = arcs[at][next[at]++];
        if (index[to] == none)
          path.push_back(to);
        else if (component[to] == none)
          low[at] = std::min(low[at], index[to]);
        continue;
      }
      path.pop_back();
      if (!path.empty())
        low[path.back()] = std::min(low[path.back()], low[at]);
      if (low[at] != index[at])
        continue;
      unsigned member;
      do {
        member = stack.back();
        stack.pop_back();
        component[member] = components;
      } while (member != at);
      ++components;
    }
  }
  for (unsigned &number : component)
    number = components - 1 - number;
  return components;
}

/// `arcs` between the parts of `partOf`, without loops and repetition.
static Arcs arcsBetween(const Arcs &arcs, ArrayRef<unsigned> partOf,
                        unsigned parts) {
  Arcs result(parts);
  for (unsigned from = 0; from < arcs.size(); ++from)
    for (unsigned to : arcs[from])
      if (partOf[from] != partOf[to] && partOf[from] < parts &&
          partOf[to] < parts)
        result[partOf[from]].push_back(partOf[to]);
  for (std::vector<unsigned> &targets : result)
    sortUnique(targets);
  return result;
}

static Arcs reversed(const Arcs &arcs) {
  Arcs result(arcs.size());
  for (unsigned from = 0; from < arcs.size(); ++from)
    for (unsigned to : arcs[from])
      result[to].push_back(from);
  return result;
}

/// Fills everything but the order from `unitOfNode`.
/// `joined`: nodes that came to their unit by step 3.
static void addCosts(const PlacementProblem &problem, unsigned count,
                     const std::vector<bool> &joined, Units &units) {
  const unsigned classes = problem.classes.size();
  units.seconds.assign(classes, std::vector<double>(count, 0));
  units.supported.assign(count, 0);
  units.memoryBytes.assign(count, 0);
  units.leastMemoryBytes.assign(count, 0);
  double scale = 0;
  for (const DeviceClass &deviceClass : problem.classes) {
    units.classes.push_back({std::min(deviceClass.count, count),
                             deviceClass.memoryBytes, deviceClass.transferScale,
                             0});
    if (deviceClass.count > 0)
      scale = std::max(scale, deviceClass.transferScale);
  }
  std::map<std::vector<unsigned>, double> joins;
  for (unsigned index = 0; index < problem.nodes.size(); ++index) {
    const PlacementNode &node = problem.nodes[index];
    const unsigned unit = units.unitOfNode[index];
    if (unit >= count)
      continue; // step 4
    units.memoryBytes[unit] += node.memoryBytes;
    units.leastMemoryBytes[unit] += joined[index] ? 0 : node.memoryBytes;
    for (unsigned t = 0; t < classes; ++t)
      units.seconds[t][unit] += node.seconds[t];
    if (node.transferSeconds * scale == 0)
      continue;
    std::vector<unsigned> ends = {unit};
    for (unsigned consumer : node.consumers)
      if (units.unitOfNode[consumer] < count)
        ends.push_back(units.unitOfNode[consumer]);
    sortUnique(ends);
    if (ends.size() > 1)
      joins[ends] += node.transferSeconds;
  }
  for (unsigned unit = 0; unit < count; ++unit)
    for (unsigned t = 0; t < classes; ++t)
      if (units.classes[t].count > 0 &&
          units.seconds[t][unit] < std::numeric_limits<double>::infinity())
        units.supported[unit] |= uint32_t(1) << t;
  // Sums over prefixes must stay finite; `supported` keeps such units off.
  for (std::vector<double> &row : units.seconds)
    for (double &seconds : row)
      if (seconds == std::numeric_limits<double>::infinity())
        seconds = 0;
  units.joinsOf.assign(count, {});
  units.joins.clear();
  for (auto &[ends, seconds] : joins) {
    for (unsigned unit : ends)
      units.joinsOf[unit].push_back(units.joins.size());
    units.joins.push_back({seconds, ends});
  }
}

/// Is every element of `list` (ascending) `unit` or in `others` (ascending)?
static bool within(const std::vector<unsigned> &list, unsigned unit,
                   const std::vector<unsigned> &others) {
  for (unsigned element : list)
    if (element != unit &&
        !std::binary_search(others.begin(), others.end(), element))
      return false;
  return true;
}

static bool hasSeconds(const Units &units, unsigned unit) {
  for (const std::vector<double> &row : units.seconds)
    if (row[unit] > 0)
      return true;
  return false;
}

/// The unit that `unit` may join by step 3, or itself.
static unsigned hostOf(const Units &units, unsigned unit, bool mergeMemory) {
  if (hasSeconds(units, unit) || (units.memoryBytes[unit] > 0 && !mergeMemory))
    return unit;
  std::vector<unsigned> candidates;
  if (!units.joinsOf[unit].empty())
    candidates = units.joins[units.joinsOf[unit].front()].units;
  else if (!units.predecessors[unit].empty())
    candidates = units.predecessors[unit];
  else
    candidates = units.successors[unit];
  for (unsigned host : candidates) {
    if (host == unit || (units.supported[host] & ~units.supported[unit]))
      continue;
    bool inAll = true;
    for (unsigned join : units.joinsOf[unit])
      inAll &= std::binary_search(units.joins[join].units.begin(),
                                  units.joins[join].units.end(), host);
    if (inAll &&
        within(units.predecessors[unit], host, units.predecessors[host]) &&
        within(units.successors[unit], host, units.successors[host]))
      return host;
  }
  return unit;
}

/// Units::first or Units::last where step 4 holds, else the unit.
static unsigned endOf(const Units &units, unsigned unit) {
  uint32_t all = 0;
  for (unsigned t = 0; t < units.classes.size(); ++t)
    if (units.classes[t].count > 0)
      all |= uint32_t(1) << t;
  if (hasSeconds(units, unit) || units.memoryBytes[unit] > 0 ||
      !units.joinsOf[unit].empty() || units.supported[unit] != all)
    return unit;
  if (units.predecessors[unit].empty())
    return Units::first;
  return units.successors[unit].empty() ? Units::last : unit;
}

Units contract(const PlacementProblem &problem, PlacementMode mode,
               bool mergeMemory, bool mergeCostless) {
  std::vector<unsigned> partOf;
  std::vector<bool> joined(problem.nodes.size(), false);
  unsigned count = groupByColor(problem, partOf);
  Arcs arcs(count);
  if (mode == PlacementMode::Contiguous)
    arcs = orderBetween(problem, partOf, count);

  // A round makes changes that do not touch each other, so that each proof
  // stands alone; then the units are numbered anew, and others may fit.
  while (true) {
    std::vector<unsigned> component;
    const unsigned components = fuseCycles(arcs, component);
    for (unsigned &part : partOf)
      if (part < count)
        part = component[part];
    Units units;
    units.unitOfNode = partOf;
    units.successors = arcsBetween(arcs, component, components);
    units.predecessors = reversed(units.successors);
    addCosts(problem, components, joined, units);

    std::vector<unsigned> host(components);
    std::iota(host.begin(), host.end(), 0);
    std::vector<bool> taken(components, false);
    unsigned left = components;
    for (unsigned unit = 0; unit < components && left > 1 && mergeCostless;
         ++unit) {
      if (taken[unit])
        continue;
      unsigned target = endOf(units, unit);
      if (target == unit)
        target = hostOf(units, unit, mergeMemory);
      if (target == unit || (target < components && host[target] != target))
        continue;
      host[unit] = target;
      --left;
      // Many units may join one host: it only gains ends that it had.
      if (target < components)
        taken[target] = true;
    }
    if (left == components) {
      units.anchorOfUnit.assign(components, 0);
      for (unsigned node = 0; node < partOf.size(); ++node)
        if (!joined[node])
          units.anchorOfUnit[partOf[node]] = node;
      return units;
    }
    std::vector<unsigned> dense(components);
    count = 0;
    for (unsigned unit = 0; unit < components; ++unit)
      if (host[unit] == unit)
        dense[unit] = count++;
    for (unsigned unit = 0; unit < components; ++unit)
      if (host[unit] != unit)
        dense[unit] = host[unit] < components ? dense[host[unit]] : host[unit];
    for (unsigned node = 0; node < partOf.size(); ++node)
      if (partOf[node] < components) {
        if (host[partOf[node]] != partOf[node])
          joined[node] = true;
        partOf[node] = dense[partOf[node]];
      }
    arcs = arcsBetween(units.successors, dense, count);
  }
}

Units relaxMemory(const Units &units) {
  Units result = units;
  result.memoryBytes = units.leastMemoryBytes;
  return result;
}

Units memoryProblem(const Units &units) {
  Units result = units;
  for (unsigned t = 0; t < units.classes.size(); ++t) {
    ClassRule &rule = result.classes[t];
    const bool limited =
        rule.memoryBytes < std::numeric_limits<double>::infinity();
    rule.offset = limited ? -rule.memoryBytes : Units::unlimited;
    rule.memoryBytes = std::numeric_limits<double>::infinity();
    rule.transferScale = 0;
    result.seconds[t] =
        limited ? units.memoryBytes : std::vector<double>(units.size(), 0);
  }
  result.joins.clear();
  result.joinsOf.assign(units.size(), {});
  return result;
}

} // namespace hethub::planner

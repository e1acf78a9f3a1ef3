// Slices of topological orders give an upper bound; then all ideals decide,
// where there are few enough.
//
// Nodes without seconds but with memory multiply the ideals and hardly ever
// matter, so a first pass lets them join their neighbours: without their memory
// that is a relaxation, with it a restriction of the problem. Only where the
// two disagree does a second pass keep them apart.
#include "Contiguous.h"
#include "../TopologicalOrders.h"
#include "LeafChains.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();

void setDevices(const PlacementProblem &problem, std::vector<Device> devices,
                Placement &placement) {
  placement.devices = std::move(devices);
  placement.status = Placement::Status::Found;
  placement.objective = 0;
  for (const DeviceLoad &load : deviceLoads(problem, placement.devices))
    placement.objective = std::max(placement.objective, load.seconds());
  placement.lowerBound = std::min(placement.lowerBound, placement.objective);
}

static std::vector<Device> toDevices(const PlacementProblem &problem,
                                     const Units &units,
                                     const StageList &list) {
  std::vector<unsigned> used(problem.classes.size(), 0);
  std::vector<Device> deviceOf(units.size()), devices;
  for (const StageList::Stage &stage : list.stages) {
    Device device{stage.deviceClass, used[stage.deviceClass]++};
    for (unsigned unit : stage.units)
      deviceOf[unit] = device;
  }
  for (unsigned unit : units.unitOfNode) {
    if (unit == Units::first)
      unit = list.stages.front().units.front();
    else if (unit == Units::last)
      unit = list.stages.back().units.front();
    devices.push_back(deviceOf[unit]);
  }
  return devices;
}

/// The largest load of the stages; infinity when one exceeds its memory.
static double largestLoad(const Units &units, const StageList &list) {
  std::vector<unsigned> stageOf(units.size());
  for (unsigned stage = 0; stage < list.stages.size(); ++stage)
    for (unsigned unit : list.stages[stage].units)
      stageOf[unit] = stage;
  std::vector<double> loads;
  for (const StageList::Stage &stage : list.stages) {
    const ClassRule &rule = units.classes[stage.deviceClass];
    double memory = 0, load = rule.offset;
    for (unsigned unit : stage.units) {
      memory += units.memoryBytes[unit];
      load += units.seconds[stage.deviceClass][unit];
    }
    if (memory > rule.memoryBytes)
      return infinity;
    loads.push_back(load);
  }
  for (const Join &join : units.joins) {
    std::set<unsigned> touched;
    for (unsigned unit : join.units)
      touched.insert(stageOf[unit]);
    if (touched.size() > 1)
      for (unsigned stage : touched)
        loads[stage] +=
            units.classes[list.stages[stage].deviceClass].transferScale *
            join.seconds;
  }
  return *std::max_element(loads.begin(), loads.end());
}

namespace {

/// The least largest load of units below a bound.
class Solver {
public:
  /// `relaxed`: the units, or a relaxation of them.
  Solver(const Units &units, const Units &relaxed, double bound,
         const PlacementOptions &options, Deadline deadline)
      : units(units), relaxed(relaxed), options(options), deadline(deadline),
        multipliers(findMultipliers(units)),
        relaxedMultipliers(findMultipliers(relaxed)) {
    best.load = bound;
    lowerBound = loadBound(relaxed, relaxedMultipliers);
  }

  void searchOrders();
  /// Where there are too many ideals.
  void improveOrders();
  void searchAll(const Ideals &ideals);
  /// `stages` are a placement of the units.
  void offer(StageList stages);

  bool inTime() const { return std::chrono::steady_clock::now() < deadline; }

  StageList best; ///< Without stages: none found below the bound.
  double lowerBound;
  bool completed = false; ///< Nothing is better than `best`.

private:
  bool proven() const { return best.load <= lowerBound; }
  bool goOn() const { return inTime() && !proven(); }
  /// Searches the prefixes of some orders.
  void tryOrders(ArrayRef<std::vector<unsigned>> orders);

  const Units &units, &relaxed;
  const PlacementOptions &options;
  Deadline deadline;
  std::vector<Multipliers> multipliers, relaxedMultipliers;
};

} // namespace

void Solver::offer(StageList stages) {
  stages.load = largestLoad(units, stages);
  if (stages.load < best.load)
    best = std::move(stages);
}

void Solver::tryOrders(ArrayRef<std::vector<unsigned>> orders) {
  SearchEnd end = searchIdeals(units, prefixes(units, orders), multipliers,
                               best.load, deadline);
  if (end.best.found())
    best = std::move(end.best);
}

void Solver::searchOrders() {
  // Everything on one device: cheap, and all that a time limit of 0 allows.
  for (unsigned t = 0; t < units.classes.size(); ++t) {
    bool runsAll = units.classes[t].count > 0;
    StageList alone;
    alone.stages.push_back({t, {}});
    for (unsigned unit = 0; unit < units.size(); ++unit) {
      runsAll &= units.supported[unit] >> t & 1;
      alone.stages[0].units.push_back(unit);
    }
    if (runsAll)
      offer(std::move(alone));
  }
  // Each rule of topologicalOrder once without and some times with random ties.
  // The work of one grows with the square of the units.
  const unsigned orders = std::clamp<size_t>(40000 / units.size(), 6, 24);
  for (unsigned index = 0; index < orders && goOn(); ++index)
    tryOrders({topologicalOrder(units, index, options.seed)});
}

void Solver::improveOrders() {
  constexpr unsigned blurredOrders = 3;
  const unsigned rounds = std::clamp<size_t>(40000 / units.size(), 4, 60);
  for (unsigned round = 0; round < rounds && goOn(); ++round) {
    if (!best.found()) {
      tryOrders({topologicalOrder(units, 24 + round, options.seed)});
      continue;
    }
    // Orders near the best placement: one that keeps its stages, so that it
    // cannot be lost, and some that run ahead of them.
    std::vector<double> rank(units.size());
    for (unsigned stage = 0; stage < best.stages.size(); ++stage)
      for (unsigned unit : best.stages[stage].units)
        rank[unit] = stage;
    std::vector<std::vector<unsigned>> orders;
    for (unsigned i = 0; i <= blurredOrders; ++i) {
      double blur = i == 0 ? 0.9 : 0.7 + 0.3 * (round % 4) + i;
      orders.push_back(rankedOrder(units, rank, blur,
                                   options.seed * 7919u + round * 16 + i));
    }
    tryOrders(orders);
  }
  completed = proven();
}

void Solver::searchAll(const Ideals &ideals) {
  SearchEnd end =
      searchIdeals(relaxed, ideals, relaxedMultipliers, best.load, deadline);
  const double least = end.best.found() ? end.best.load : best.load;
  if (end.completed)
    lowerBound = std::max(lowerBound, least);
  if (end.best.found())
    offer(end.best);
  // Sums in another order differ in the last digits.
  completed = end.completed && (!end.best.found() ||
                                best.load <= least + 1e-12 * std::abs(least));
  if (completed || !end.completed)
    return;
  end = searchIdeals(units, ideals, multipliers, best.load, deadline);
  if (end.best.found())
    best = std::move(end.best);
}

namespace {

/// Both passes over one problem.
class Contiguous {
public:
  Contiguous(const PlacementProblem &problem, const PlacementOptions &options,
             Deadline deadline)
      : problem(problem), options(options), deadline(deadline) {}

  // Each returns true when it decided everything.
  bool decideMerged();
  bool decideChained();
  bool decideSeparate();
  /// Notes, and the reason where there is no placement.
  void explain();

  Placement placement;

private:
  Units contracted(bool mergeMemory) const {
    return contract(problem, PlacementMode::Contiguous, mergeMemory);
  }
  bool decide(const Units &units, const Units &relaxed);
  /// Places by memory alone; true: there is no placement, or the solver of
  /// the times has one now.
  bool placeByMemory(const Units &units, const Units &relaxed,
                     const Ideals *ideals, Solver &times);
  void refuse(const Twine &reason) {
    placement.status = Placement::Status::Infeasible;
    placement.reason = ("infeasible: " + reason).str();
  }

  const PlacementProblem &problem;
  const PlacementOptions &options;
  Deadline deadline;
  bool tooManyIdeals = false;
};

} // namespace

bool Contiguous::decideMerged() {
  const Units units = contracted(/*mergeMemory=*/true);
  return decide(units, relaxMemory(units)) ||
         units.memoryBytes == units.leastMemoryBytes;
}

bool Contiguous::decideChained() {
  const LeafChains chains = chainLeaves(contracted(/*mergeMemory=*/false));
  return chains.any && decide(chains.restricted, chains.relaxed);
}

bool Contiguous::decideSeparate() {
  const Units units = contracted(/*mergeMemory=*/false);
  return decide(units, units);
}

bool Contiguous::decide(const Units &units, const Units &relaxed) {
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    if (unsigned unit = units.unitOfNode[node];
        unit < units.size() && units.supported[unit] == 0) {
      refuse("no device can run node " + problem.nodes[node].name +
             " with the nodes that must share its device");
      return true;
    }
  Solver solver(units, relaxed, placement.objective, options, deadline);
  solver.lowerBound = std::max(solver.lowerBound, placement.lowerBound);
  solver.searchOrders();
  // Bounds the memory of the search too.
  const size_t states = size_t(1) << 25;
  std::optional<Ideals> ideals;
  if (solver.inTime())
    ideals = allIdeals(units, std::min<size_t>(options.idealLimit,
                                               states / stateCount(units)));
  tooManyIdeals = !ideals;
  if (solver.best.load == infinity &&
      !placeByMemory(units, relaxed, ideals ? &*ideals : nullptr, solver))
    return placement.status == Placement::Status::Infeasible &&
           placement.memoryProven;
  if (ideals)
    solver.searchAll(*ideals);
  else
    solver.improveOrders();
  placement.lowerBound = std::max(placement.lowerBound, solver.lowerBound);
  if (solver.best.found())
    setDevices(problem, toDevices(problem, units, solver.best), placement);
  if (solver.completed) // up to the rounding of sums
    placement.lowerBound = placement.objective;
  return solver.completed;
}

bool Contiguous::placeByMemory(const Units &units, const Units &relaxed,
                               const Ideals *ideals, Solver &times) {
  const Units bytes = memoryProblem(units), leastBytes = memoryProblem(relaxed);
  Solver solver(bytes, leastBytes, infinity, options, deadline);
  solver.searchOrders();
  if (solver.best.load > 0) {
    if (ideals)
      solver.searchAll(*ideals);
    else
      solver.improveOrders();
  }
  if (solver.best.found() && solver.best.load <= 0) {
    times.offer(solver.best);
    return true;
  }
  if (!solver.best.found()) {
    if (solver.completed) {
      refuse("the devices that can run the nodes cannot be put in an order "
             "that no edge goes against");
      placement.memoryProven = true;
    }
    return false;
  }
  placement.missingBytes = std::ceil(solver.best.load);
  placement.memoryProven = solver.completed;
  // A bound in prices carries the rounding of its sums.
  double total =
      std::accumulate(units.memoryBytes.begin(), units.memoryBytes.end(), 0.0);
  if (solver.completed || solver.lowerBound > 1e-9 * total)
    refuse(formatv("memory must grow by {0}{1:f0} bytes on each device that "
                   "has a limit",
                   solver.completed ? "at least " : "",
                   placement.missingBytes) +
           (solver.completed ? Twine("")
                             : formatv(" (at least {0:f0} bytes are missing)",
                                       std::ceil(solver.lowerBound))));
  return false;
}

void Contiguous::explain() {
  const bool late = std::chrono::steady_clock::now() >= deadline;
  std::string limit =
      late ? formatv("the time limit of {0} s",
                     json::Value(options.timeLimitSeconds))
                 .str()
           : formatv("more than {0} ideals", options.idealLimit).str();
  if (placement.status == Placement::Status::NotFound)
    placement.reason =
        "no placement was found, though there may be one: " + limit;
  else if (placement.status == Placement::Status::Found &&
           placement.lowerBound < placement.objective &&
           (late || tooManyIdeals))
    placement.notes.push_back("not proven optimal: " + limit);
}

Placement placeContiguous(const PlacementProblem &problem,
                          const PlacementOptions &options, Deadline deadline) {
  Contiguous search(problem, options, deadline);
  if (!search.decideMerged() && !search.decideChained())
    search.decideSeparate();
  Placement &placement = search.placement;
  placement.lowerBound = std::min(placement.lowerBound, placement.objective);
  search.explain();
  return std::move(placement);
}

} // namespace hethub::planner

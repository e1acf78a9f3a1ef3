// State: an ideal and the devices used of each class; value: the least largest
// load of the stages that cover it. From every ideal the stages that start
// there are grown one unit at a time over the edges of the ideals.
//
// Kept step by step, with S = grown - begin the stage:
//   cut(S) = cut(begin) + cut(grown) - open - untouched
// where `open` sums the joins that reach from `begin` beyond `grown`, and
// `untouched` those of them without an end in S: a join over both borders is
// paid once when it has an end in S, else not at all.
//
// Left out are
// - stages that are too heavy and stay so: seconds + transferScale x (joins
//   that enter S) only grow with S, and so does its memory;
// - states whose rest does not fit the remaining devices: the prices of the
//   rest exceed their budget (Multipliers);
// - states that are no better than one with fewer devices.
// None of them can belong to a placement below the bound that is not matched.
#include "IdealSearch.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::planner {

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double lowest = -1e301; // below every load
static constexpr double rounding = 1e-9;
static constexpr uint32_t none = ~0u;

size_t stateCount(const Units &units) {
  size_t states = 1;
  for (const ClassRule &rule : units.classes)
    states *= rule.count + 1;
  return states;
}

namespace {

class Search {
public:
  Search(const Units &units, const Ideals &ideals,
         ArrayRef<Multipliers> multipliers, double bound);

  bool run(Deadline deadline); // false: the deadline came
  StageList best() const;

private:
  struct Open { // a state of the ideal at which stages begin
    unsigned state;
    double value;
  };
  struct Grown {
    uint32_t ideal, classes; // classes that can run all of the stage
    double open, untouched;
  };

  double *values(uint32_t ideal) { return &value[ideal * states]; }
  unsigned used(unsigned state, unsigned t) const {
    return state / stride[t] % (units.classes[t].count + 1);
  }
  /// Marks the states of an ideal whose rest does not fit.
  void prepare(uint32_t ideal);
  void collectOpen(uint32_t begin);
  void growFrom(uint32_t begin);
  void close(uint32_t begin, const Grown &grown);
  Grown add(uint32_t begin, const Grown &grown, Ideals::Successor edge) const;
  bool canGrow(uint32_t begin, const Grown &grown) const;

  const Units &units;
  const Ideals &ideals;
  const unsigned classes;
  size_t states;
  double bound;
  std::vector<double> cutOf, memoryBytes;   // of an ideal
  std::vector<std::vector<double>> seconds; // [class][ideal]
  std::vector<unsigned> stride;
  std::vector<double> value; // [ideal][state]; -infinity: cannot lead to a plan
  struct Parent {
    uint32_t ideal = none;
    uint32_t deviceClass = 0;
  };
  std::vector<Parent> parent;
  std::vector<bool> prepared;
  // For each choice of prices: of an ideal, and of the devices left in a state.
  std::vector<std::vector<double>> priceOfRest, budget;
  std::vector<std::vector<Open>> openOf; // per class
  std::vector<uint32_t> visited; // ideal at which stages began, plus one
  std::vector<bool> crossing;    // joins that leave the begin
  std::vector<bool> touches;     // units that are ends of those
  std::vector<Grown> stack;
  std::vector<unsigned> crossingJoins, touchingUnits;
};

} // namespace

Search::Search(const Units &units, const Ideals &ideals,
               ArrayRef<Multipliers> multipliers, double bound)
    : units(units), ideals(ideals), classes(units.classes.size()),
      states(stateCount(units)), bound(bound),
      value(ideals.size() * states, bound), parent(ideals.size() * states),
      prepared(ideals.size(), false), openOf(classes),
      visited(ideals.size(), 0), crossing(units.joins.size(), false),
      touches(units.size(), false) {
  cutOf = cutSeconds(units, ideals);
  memoryBytes = sums(ideals, units.memoryBytes);
  for (const std::vector<double> &row : units.seconds)
    seconds.push_back(sums(ideals, row));
  unsigned product = 1;
  for (const ClassRule &rule : units.classes) {
    stride.push_back(product);
    product *= rule.count + 1;
  }
  for (const Multipliers &choice : multipliers) {
    std::vector<double> price(units.size());
    double total = 0;
    for (unsigned unit = 0; unit < units.size(); ++unit)
      total += price[unit] = choice.price(units, unit);
    std::vector<double> rest = sums(ideals, price);
    for (double &sum : rest)
      sum = total - sum;
    priceOfRest.push_back(std::move(rest));
    std::vector<double> left(states, rounding * total);
    for (unsigned state = 0; state < states; ++state)
      for (unsigned t = 0; t < classes; ++t)
        if (unsigned count = units.classes[t].count - used(state, t))
          left[state] += count * choice.budget(units.classes[t], t, bound);
    budget.push_back(std::move(left));
  }
}

void Search::prepare(uint32_t ideal) {
  prepared[ideal] = true;
  double *row = values(ideal);
  for (unsigned choice = 0; choice < budget.size(); ++choice)
    for (unsigned state = 0; state < states; ++state)
      if (priceOfRest[choice][ideal] > budget[choice][state])
        row[state] = -infinity;
}

void Search::collectOpen(uint32_t begin) {
  for (std::vector<Open> &list : openOf)
    list.clear();
  const double *row = values(begin);
  // Least value with at most these devices, without the state itself.
  std::vector<double> least(states, infinity);
  for (unsigned state = 0; state < states; ++state) {
    for (unsigned t = 0; t < classes; ++t)
      if (used(state, t) > 0)
        least[state] = std::min(least[state], least[state - stride[t]]);
    if (row[state] == -infinity || !(row[state] < bound))
      continue;
    if (row[state] < least[state]) {
      least[state] = row[state];
      for (unsigned t = 0; t < classes; ++t)
        if (used(state, t) < units.classes[t].count)
          openOf[t].push_back({state + stride[t], row[state]});
    }
  }
}

Search::Grown Search::add(uint32_t begin, const Grown &grown,
                          Ideals::Successor edge) const {
  Grown next = {edge.ideal, grown.classes & units.supported[edge.node],
                grown.open, grown.untouched};
  if (!touches[edge.node])
    return next;
  for (unsigned index : units.joinsOf[edge.node]) {
    if (!crossing[index])
      continue;
    bool touched = false, closed = true;
    for (unsigned end : units.joins[index].units) {
      touched |=
          ideals.contains(grown.ideal, end) && !ideals.contains(begin, end);
      closed &= ideals.contains(edge.ideal, end);
    }
    if (!touched)
      next.untouched -= units.joins[index].seconds;
    if (closed)
      next.open -= units.joins[index].seconds;
  }
  return next;
}

bool Search::canGrow(uint32_t begin, const Grown &grown) const {
  const double entering = cutOf[begin] - grown.untouched;
  const double memory = memoryBytes[grown.ideal] - memoryBytes[begin];
  for (unsigned t = 0; t < classes; ++t) {
    if (!(grown.classes >> t & 1) || openOf[t].empty())
      continue;
    const ClassRule &rule = units.classes[t];
    double load = rule.offset + seconds[t][grown.ideal] - seconds[t][begin] +
                  rule.transferScale * entering;
    if (load < bound + rounding * std::abs(bound) &&
        memory <= rule.memoryBytes * (1 + rounding))
      return true;
  }
  return false;
}

void Search::close(uint32_t begin, const Grown &grown) {
  const double cut =
      cutOf[begin] + cutOf[grown.ideal] - grown.open - grown.untouched;
  const double memory = memoryBytes[grown.ideal] - memoryBytes[begin];
  for (unsigned t = 0; t < classes; ++t) {
    if (!(grown.classes >> t & 1) || openOf[t].empty())
      continue;
    const ClassRule &rule = units.classes[t];
    double load = rule.offset + seconds[t][grown.ideal] - seconds[t][begin] +
                  rule.transferScale * cut;
    if (!(load < bound) || memory > rule.memoryBytes)
      continue;
    if (!prepared[grown.ideal])
      prepare(grown.ideal);
    double *row = values(grown.ideal);
    for (const Open &open : openOf[t]) {
      double reached = std::max(open.value, load);
      if (reached < row[open.state]) {
        row[open.state] = reached;
        parent[grown.ideal * states + open.state] = {begin, t};
        if (grown.ideal + 1 == ideals.size())
          bound = std::min(bound, reached);
      }
    }
  }
}

void Search::growFrom(uint32_t begin) {
  double cut = 0;
  for (unsigned index = 0; index < units.joins.size(); ++index) {
    bool inside = false, outside = false;
    for (unsigned end : units.joins[index].units)
      (ideals.contains(begin, end) ? inside : outside) = true;
    if (!inside || !outside)
      continue;
    cut += units.joins[index].seconds;
    crossing[index] = true;
    crossingJoins.push_back(index);
    for (unsigned end : units.joins[index].units) {
      touches[end] = true;
      touchingUnits.push_back(end);
    }
  }
  stack.push_back({begin, ~uint32_t(0), cut, cut});
  while (!stack.empty()) {
    const Grown grown = stack.back();
    stack.pop_back();
    for (Ideals::Successor edge : ideals.successors(grown.ideal)) {
      if (visited[edge.ideal] == begin + 1)
        continue;
      visited[edge.ideal] = begin + 1;
      Grown next = add(begin, grown, edge);
      if (!canGrow(begin, next))
        continue;
      close(begin, next);
      stack.push_back(next);
    }
  }
  for (unsigned index : crossingJoins)
    crossing[index] = false;
  for (unsigned unit : touchingUnits)
    touches[unit] = false;
  crossingJoins.clear();
  touchingUnits.clear();
}

bool Search::run(Deadline deadline) {
  prepare(0);
  if (values(0)[0] != -infinity)
    values(0)[0] = lowest;
  for (uint32_t begin = 0; begin + 1 < ideals.size(); ++begin) {
    if (!prepared[begin])
      continue; // never reached
    collectOpen(begin);
    if (std::all_of(openOf.begin(), openOf.end(),
                    [](const auto &list) { return list.empty(); }))
      continue;
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    growFrom(begin);
  }
  return true;
}

StageList Search::best() const {
  StageList result;
  uint32_t ideal = ideals.size() - 1;
  size_t state = 0;
  for (size_t last = 0; last < states; ++last)
    if (parent[ideal * states + last].ideal != none &&
        value[ideal * states + last] < result.load) {
      result.load = value[ideal * states + last];
      state = last;
    }
  if (result.load == infinity)
    return result;
  while (ideal != 0) {
    const Parent &from = parent[ideal * states + state];
    StageList::Stage stage;
    stage.deviceClass = from.deviceClass;
    for (unsigned unit = 0; unit < units.size(); ++unit)
      if (ideals.contains(ideal, unit) && !ideals.contains(from.ideal, unit))
        stage.units.push_back(unit);
    result.stages.push_back(std::move(stage));
    state -= stride[from.deviceClass];
    ideal = from.ideal;
  }
  std::reverse(result.stages.begin(), result.stages.end());
  return result;
}

SearchEnd searchIdeals(const Units &units, const Ideals &ideals,
                       ArrayRef<Multipliers> multipliers, double bound,
                       Deadline deadline) {
  SearchEnd end;
  Search search(units, ideals, multipliers, bound);
  end.completed = search.run(deadline);
  end.best = search.best();
  return end;
}

} // namespace hethub::planner

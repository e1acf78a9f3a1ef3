// Plans with data and tensor parallelism and recomputation, against brute force
// with an evaluator of its own.
#include "hethub/Planner/Piper.h"

#include "../Planner/RandomGraphs.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace hethub::planner::piper;
using hethub::planner::test::Random;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Small whole numbers, so that equal loads and memory that is just enough
/// occur often.
Problem randomProblem(unsigned seed, unsigned maxLayers) {
  Random random(seed);
  Problem problem;
  const unsigned layerCount = 1 + random.below(maxLayers);
  const double density = random.real(0, 0.9);
  for (unsigned target = 0; target < layerCount; ++target)
    for (unsigned source = 0; source < target; ++source)
      if (random.chance(density))
        for (unsigned copy = 0; copy < 1 + random.below(8) / 7; ++copy)
          problem.edges.push_back({source, target, double(random.below(4))});
  // Not always in topological order.
  if (random.chance(0.3))
    for (Edge &edge : problem.edges) {
      edge.source = layerCount - 1 - edge.source;
      edge.target = layerCount - 1 - edge.target;
    }
  const unsigned degrees[] = {1, 2, 3};
  const unsigned degreeCount = 1 + random.below(3);
  for (unsigned index = 0; index < layerCount; ++index) {
    Layer layer;
    layer.id = 10 + index;
    for (unsigned t : llvm::ArrayRef(degrees).take_front(degreeCount)) {
      if (t > 1 && random.chance(0.1))
        continue;
      const unsigned variantCount = 1 + random.below(3);
      for (unsigned number = 0; number < variantCount; ++number) {
        Variant variant;
        variant.id = "v" + std::to_string(number);
        variant.seconds = random.below(10) / double(t);
        variant.parameterBytes = random.below(6);
        variant.activationBytes = random.below(5);
        variant.fixedBytes = random.below(6);
        for (unsigned edge = 0; edge < problem.edges.size(); ++edge)
          if ((problem.edges[edge].source == index ||
               problem.edges[edge].target == index) &&
              random.chance(0.3))
            variant.gatherBytes[edge] = random.below(4);
        layer.variants[t].push_back(variant);
      }
    }
    problem.layers.push_back(layer);
  }
  problem.devices = 1 + random.below(8);
  const unsigned batches[] = {1, 2, 4, 6, 12};
  problem.microbatches = batches[random.below(5)];
  problem.bandwidth = random.real(0.5, 20);
  problem.memoryBytes = 2 + random.below(random.chance(0.5) ? 15 : 40);
  return problem;
}

/// The definition, read off the header: nothing of the planner is used.
struct Judge {
  const Problem &problem;

  struct Cost {
    double load, memory;
  };
  /// Of the layers in `set`, layer v in variant `picks[v]` of degree t.
  Cost cost(unsigned set, unsigned d, unsigned t, unsigned inFlight,
            const std::vector<unsigned> &picks) const {
    double compute = 0, memory = 0, sync = 0, crossing = 0;
    for (unsigned v = 0; v < problem.layers.size(); ++v) {
      if (!(set >> v & 1))
        continue;
      const Variant &variant = problem.layers[v].variants.at(t)[picks[v]];
      compute += variant.seconds;
      memory += variant.activationBytes * inFlight + variant.fixedBytes;
      sync += 4.0 * (d - 1) * variant.parameterBytes / d / problem.microbatches;
      for (unsigned e = 0; e < problem.edges.size(); ++e) {
        const Edge &edge = problem.edges[e];
        const bool out = edge.source == v && !(set >> edge.target & 1);
        const bool in = edge.target == v && !(set >> edge.source & 1);
        if (out || in)
          crossing += 2 * (edge.bytes + (variant.gatherBytes.count(e)
                                             ? variant.gatherBytes.at(e)
                                             : 0));
      }
    }
    return {compute / d + (crossing / d + sync) / problem.bandwidth, memory};
  }

  /// The least load over all variants that fit; infinity: none.
  double leastLoad(unsigned set, unsigned d, unsigned t,
                   unsigned inFlight) const {
    double best = infinity;
    std::vector<unsigned> picks(problem.layers.size(), 0);
    std::function<void(unsigned)> choose = [&](unsigned v) {
      if (v == problem.layers.size()) {
        const Cost c = cost(set, d, t, inFlight, picks);
        if (c.memory <= problem.memoryBytes)
          best = std::min(best, c.load);
        return;
      }
      if (!(set >> v & 1))
        return choose(v + 1);
      auto variants = problem.layers[v].variants.find(t);
      if (variants == problem.layers[v].variants.end())
        return;
      for (picks[v] = 0; picks[v] < variants->second.size(); ++picks[v])
        choose(v + 1);
      picks[v] = 0;
    };
    choose(0);
    return best;
  }

  double optimum() const {
    std::map<std::tuple<unsigned, unsigned, unsigned, unsigned>, double> loads;
    std::map<std::tuple<unsigned, unsigned, unsigned>, double> known;
    // `rest` is still to be placed, in front of what is.
    std::function<double(unsigned, unsigned, unsigned)> best =
        [&](unsigned rest, unsigned behind, unsigned used) -> double {
      if (rest == 0)
        return 0;
      auto [entry, fresh] = known.try_emplace({rest, behind, used}, infinity);
      if (!fresh)
        return entry->second;
      double least = infinity;
      for (unsigned set = rest; set; set = (set - 1) & rest) {
        bool last = true;
        for (const Edge &edge : problem.edges)
          last &= !((set >> edge.source & 1) && (rest >> edge.target & 1) &&
                    !(set >> edge.target & 1));
        if (!last)
          continue;
        for (unsigned d = 1; d <= problem.microbatches - behind; ++d)
          for (unsigned t = 1; t <= 3; ++t) {
            if (problem.microbatches % d || used + d * t > problem.devices)
              continue;
            const unsigned inFlight = (behind + d + d - 1) / d;
            auto [load, unknown] =
                loads.try_emplace({set, d, t, inFlight}, infinity);
            if (unknown)
              load->second = leastLoad(set, d, t, inFlight);
            if (load->second < least)
              least = std::min(
                  least, std::max(load->second,
                                  best(rest & ~set, behind + d, used + d * t)));
          }
      }
      return known[{rest, behind, used}] = least;
    };
    return best((1u << problem.layers.size()) - 1, 0, 0);
  }

  /// Every rule of the definition; the largest load.
  double check(const std::vector<Stage> &stages) const {
    std::vector<unsigned> stageOf(problem.layers.size(), ~0u);
    unsigned devices = 0, behind = 0;
    double largest = 0;
    for (unsigned index = stages.size(); index-- > 0;) {
      const Stage &stage = stages[index];
      EXPECT_FALSE(stage.layers.empty());
      EXPECT_EQ(problem.microbatches % stage.dataDegree, 0u);
      devices += stage.dataDegree * stage.tensorDegree;
      behind += stage.dataDegree;
      unsigned set = 0;
      std::vector<unsigned> picks(problem.layers.size(), 0);
      for (size_t position = 0; position < stage.layers.size(); ++position) {
        const unsigned layer = stage.layers[position];
        EXPECT_EQ(stageOf[layer], ~0u);
        stageOf[layer] = index;
        set |= 1u << layer;
        picks[layer] = stage.variants[position];
      }
      const unsigned inFlight =
          (behind + stage.dataDegree - 1) / stage.dataDegree;
      const Cost c =
          cost(set, stage.dataDegree, stage.tensorDegree, inFlight, picks);
      EXPECT_LE(c.memory, problem.memoryBytes);
      EXPECT_EQ(stage.inFlight, inFlight);
      EXPECT_NEAR(stage.load, c.load, 1e-9 * (1 + c.load));
      EXPECT_NEAR(stage.memoryBytes, c.memory, 1e-9 * (1 + c.memory));
      largest = std::max(largest, c.load);
    }
    EXPECT_LE(devices, problem.devices);
    EXPECT_LE(behind, problem.microbatches);
    for (unsigned stage : stageOf)
      EXPECT_NE(stage, ~0u);
    for (const Edge &edge : problem.edges)
      EXPECT_LE(stageOf[edge.source], stageOf[edge.target]);
    return largest;
  }
};

/// Says whether there is a plan.
bool expectOptimal(unsigned seed, unsigned maxLayers) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Problem problem = randomProblem(seed, maxLayers);
  EXPECT_FALSE(bool(verifyProblem(problem)));
  const Judge judge{problem};
  const double optimum = judge.optimum();
  const Plan plan = findPlan(problem, {});
  EXPECT_EQ(plan.found(), optimum < infinity);
  EXPECT_EQ(plan.infeasible(), optimum == infinity);
  EXPECT_TRUE(plan.notes.empty());
  if (!plan.found())
    return false;
  EXPECT_NEAR(judge.check(plan.stages), optimum, 1e-9 * optimum);
  EXPECT_NEAR(plan.secondsPerSample, optimum, 1e-9 * optimum);
  EXPECT_EQ(plan.lowerBound, plan.secondsPerSample);
  return true;
}

TEST(Piper, EqualsBruteForce) {
  unsigned feasible = 0, infeasible = 0;
  for (unsigned seed = 0; seed < 4000; ++seed)
    ++(expectOptimal(seed, 5) ? feasible : infeasible);
  for (unsigned seed = 4000; seed < 4500; ++seed)
    ++(expectOptimal(seed, 7) ? feasible : infeasible);
  EXPECT_GT(feasible, 1000u);
  EXPECT_GT(infeasible, 500u);
}

// Without the list of all ideals the plan may be worse, but it keeps the rules
// and the bound holds.
TEST(Piper, BoundHoldsWhenCutsAreSampled) {
  unsigned found = 0, optimal = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Problem problem = randomProblem(seed, 6);
    const Judge judge{problem};
    const double optimum = judge.optimum();
    Options options;
    options.idealLimit = 1;
    options.seed = seed;
    const Plan plan = findPlan(problem, options);
    EXPECT_LE(plan.lowerBound, optimum);
    EXPECT_FALSE(plan.notes.empty() && !plan.infeasible());
    if (!plan.found())
      continue;
    ++found;
    const double seconds = judge.check(plan.stages);
    EXPECT_GE(seconds, optimum * (1 - 1e-9));
    optimal += seconds <= optimum * (1 + 1e-9);
    EXPECT_EQ(findPlan(problem, options).secondsPerSample,
              plan.secondsPerSample);
  }
  EXPECT_GT(found, 500u);
  EXPECT_GT(optimal, found * 9 / 10);
}

TEST(Piper, SmallestMemoryIsJustEnough) {
  unsigned found = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = randomProblem(seed, 5);
    if (findPlan(problem, {}).found())
      continue;
    const std::optional<MemoryNeed> enough = smallestMemory(problem, {});
    Problem roomy = problem;
    roomy.memoryBytes = enough ? enough->bytes : 1e9;
    EXPECT_EQ(Judge{roomy}.optimum() < infinity, enough.has_value());
    if (!enough)
      continue;
    ++found;
    // All figures are whole numbers.
    EXPECT_TRUE(enough->least);
    roomy.memoryBytes = enough->bytes - 1;
    EXPECT_EQ(Judge{roomy}.optimum(), infinity);
  }
  EXPECT_GT(found, 50u);
}

TEST(Piper, TimeLimitOfZeroClaimsNothing) {
  Options options;
  options.timeLimitSeconds = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Problem problem = randomProblem(seed, 6);
    const Judge judge{problem};
    const Plan plan = findPlan(problem, options);
    const double optimum = judge.optimum();
    EXPECT_LE(plan.lowerBound, optimum);
    if (plan.found()) {
      EXPECT_GE(judge.check(plan.stages), optimum * (1 - 1e-9));
    }
  }
}

TEST(Piper, EvaluateNamesTheRuleThatIsBroken) {
  Problem problem;
  problem.layers.resize(2);
  for (unsigned index = 0; index < 2; ++index) {
    problem.layers[index].id = 10 + index;
    problem.layers[index].variants[1] = {{"plain", 1, 1, 3, 1, {}}};
  }
  problem.edges = {{0, 1, 5}};
  problem.devices = 2;
  problem.microbatches = 4;
  problem.bandwidth = 10;
  problem.memoryBytes = 7;
  auto message = [&](std::vector<Stage> stages) {
    return llvm::toString(evaluate(problem, stages));
  };
  const Stage first{{0}, {0}}, second{{1}, {0}};
  EXPECT_EQ(message({first, second}), "");
  EXPECT_EQ(message({second, first}), "edge from 10 to 11: it must not lead to "
                                      "an earlier stage, got: 1 to 0");
  EXPECT_EQ(message({first}), "node 11: it must be in a stage");
  EXPECT_EQ(message({first, second, first}),
            "node 10: it must be in one stage, got: 0 and 2");
  Stage wide = second;
  wide.dataDegree = 2;
  EXPECT_EQ(message({first, wide}), "at most 2 devices must be used, got: 3");
  wide.dataDegree = 3;
  EXPECT_EQ(message({first, wide}),
            "stage 1: the data degree must divide the 4 microbatches, got: 3");
  wide.dataDegree = 1;
  wide.tensorDegree = 2;
  EXPECT_EQ(message({first, wide}), "at most 2 devices must be used, got: 3");
  problem.devices = 3;
  EXPECT_EQ(message({first, wide}),
            "node 11: it must have tensor degree 2, as its stage 1");
  problem.memoryBytes = 6;
  EXPECT_EQ(message({first, second}),
            "stage 0: it must fit in 6.00 bytes, got: 7.00");
}

} // namespace

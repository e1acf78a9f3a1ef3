// Placements against all placements of small random problems.
#include "Oracle.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hethub::planner;
using namespace hethub::planner::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static Placement place(const PlacementProblem &problem,
                       const PlacementOptions &options) {
  llvm::Expected<Placement> placement = findPlacement(problem, options);
  if (!placement) {
    ADD_FAILURE() << llvm::toString(placement.takeError());
    return {};
  }
  return *placement;
}

/// What holds of every answer. Returns the brute-force optimum.
static double check(const PlacementProblem &problem,
                    const PlacementOptions &options,
                    const Placement &placement) {
  const double best = bruteForce(problem, options);
  const double slack = 1e-9 * (1 + best);
  EXPECT_LE(placement.lowerBound, best + slack);
  if (placement.status == Placement::Status::Infeasible) {
    EXPECT_EQ(best, infinity) << placement.reason;
  } else if (placement.status == Placement::Status::Found) {
    EXPECT_EQ(brokenRule(problem, options, placement.devices), "");
    EXPECT_NEAR(placement.objective,
                objectiveOf(problem, options, placement.devices), slack);
    EXPECT_GE(placement.objective, best - slack);
  }
  return best;
}

/// The placement is the best one, or the answer is that there is none.
static void checkExact(const PlacementProblem &problem) {
  PlacementOptions options;
  Placement placement = place(problem, options);
  const double best = check(problem, options, placement);
  if (best == infinity) {
    ASSERT_EQ(placement.status, Placement::Status::Infeasible)
        << placement.reason;
    return;
  }
  ASSERT_EQ(placement.status, Placement::Status::Found) << placement.reason;
  EXPECT_NEAR(placement.objective, best, 1e-9 * (1 + best));
  EXPECT_EQ(placement.lowerBound, placement.objective);
}

TEST(PlacementBruteForce, InferenceIsOptimal) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    checkExact(
        randomPlacement(seed, seed % 4 ? 8 : 12, seed % 4 ? 5 : 3, false));
    if (HasFatalFailure())
      return;
  }
}

TEST(PlacementBruteForce, TrainingIsOptimal) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    checkExact(randomPlacement(seed, 12, seed % 4 ? 3 : 5, true));
    if (HasFatalFailure())
      return;
  }
}

/// Ends of the graph that need memory alone, and hardly enough of it: what the
/// contraction must not simply merge.
TEST(PlacementBruteForce, LeavesWithMemoryAloneAreOptimal) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacementProblem problem = randomPlacement(seed, 10, 3, false);
    double total = 0;
    unsigned devices = 0;
    for (PlacementNode &node : problem.nodes) {
      const bool leaf = seed % 3 ? node.consumers.empty() : node.color < 0;
      if (leaf) {
        node.color = -1;
        for (double &seconds : node.seconds)
          seconds = 0;
        node.memoryBytes = 2;
      }
      total += node.memoryBytes;
    }
    for (const DeviceClass &deviceClass : problem.classes)
      devices += deviceClass.count;
    for (DeviceClass &deviceClass : problem.classes)
      deviceClass.memoryBytes = std::ceil(total / devices) + seed % 2;
    checkExact(problem);
    if (HasFatalFailure())
      return;
  }
}

TEST(PlacementBruteForce, MissingMemoryIsTheLeastThatHelps) {
  unsigned seen = 0;
  for (unsigned seed = 0; seed < 4000 && seen < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacementProblem problem = randomPlacement(seed, 7, 3, seed % 2);
    Placement placement = place(problem, {});
    if (placement.status != Placement::Status::Infeasible ||
        placement.missingBytes == 0)
      continue;
    ++seen;
    std::optional<double> missing = missingBytes(problem, {});
    ASSERT_TRUE(missing);
    EXPECT_GE(placement.missingBytes, *missing);
    if (placement.memoryProven) {
      EXPECT_EQ(placement.missingBytes, *missing);
    }
  }
  EXPECT_EQ(seen, 150u);
}

TEST(PlacementBruteForce, FreeIsOptimalAndNeverWorse) {
  unsigned proven = 0, better = 0;
  constexpr unsigned problems = 1500;
  for (unsigned seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacementProblem problem = randomPlacement(seed, 9, 4, seed % 2);
    PlacementOptions options;
    Placement contiguous = place(problem, options);
    options.mode = PlacementMode::Free;
    Placement placement = place(problem, options);
    const double best = check(problem, options, placement);
    EXPECT_EQ(placement.status == Placement::Status::Infeasible,
              best == infinity);
    EXPECT_LE(placement.objective, contiguous.objective);
    if (placement.objective == placement.lowerBound) {
      EXPECT_NEAR(placement.objective, best, 1e-9 * (1 + best));
    }
    proven += placement.lowerBound == placement.objective ||
              placement.status == Placement::Status::Infeasible;
    better += placement.objective < contiguous.objective * (1 - 1e-9);
  }
  EXPECT_EQ(proven, problems); // small enough for branch and bound
  EXPECT_GE(better, problems / 50);
}

TEST(PlacementBruteForce, OrdersAreValidAndBounded) {
  unsigned optimal = 0, found = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlacementProblem problem = randomPlacement(seed, 10, 4, seed % 2);
    PlacementOptions options;
    options.idealLimit = 1;
    Placement placement = place(problem, options);
    const double best = check(problem, options, placement);
    if (placement.status != Placement::Status::Found)
      continue;
    ++found;
    optimal += placement.objective <= best * (1 + 1e-9);
  }
  // Most small problems are solved by slices of some order.
  EXPECT_GE(optimal, found * 9 / 10);
}

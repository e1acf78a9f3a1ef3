// Ranks with several stages.
#include "RandomPipelines.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hethub::simulator;
using namespace hethub::simulator::test;

namespace {

/// `shares` equal stages on each of `ranks` ranks, in turn.
Pipeline equalShares(int ranks, int shares, PipelineStage stage) {
  std::vector<PipelineStage> stages(ranks * shares, stage);
  for (int index = 0; index < int(stages.size()); ++index)
    stages[index].firstRank = index % ranks;
  return chain(stages, 0);
}

/// A random pipeline whose later stages are on ranks of earlier ones.
Pipeline randomInterleaved(std::mt19937 &engine) {
  Pipeline pipeline = randomTraining(engine);
  int ranks = pipeline.stages[0].replicas;
  for (size_t index = 1; index < pipeline.stages.size(); ++index) {
    PipelineStage &stage = pipeline.stages[index];
    stage.firstRank = engine() % (ranks + 1);
    ranks = std::max(ranks, stage.firstRank + stage.replicas);
  }
  return pipeline;
}

TEST(Interleaved, TablesOfAllKindsAreValid) {
  std::mt19937 engine(31);
  int found = 0;
  for (int round = 0; round < 1000; ++round) {
    Pipeline pipeline = randomInterleaved(engine);
    found += isInterleaved(pipeline);
    int microbatches = 1 + engine() % 12;
    for (ScheduleKind kind :
         {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward,
          ScheduleKind::ZeroBubble}) {
      Result result = mustSimulate(
          trainingSchedule(pipeline, microbatches, kind), pipeline);
      double busy = 0, work = 0;
      for (size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
        busy += result.stages[stage].busySeconds;
        const PipelineStage &of = pipeline.stages[stage];
        work += microbatches * (of.forwardSeconds + of.overheadSeconds);
        if (of.hasBackward)
          work += microbatches * (of.backwardSeconds + of.overheadSeconds);
      }
      ASSERT_GE(busy * (1 + 1e-12), work) << "round " << round;
    }
  }
  EXPECT_GT(found, 500);
}

TEST(Interleaved, NoRankDoesTwoThingsAtOnce) {
  std::mt19937 engine(32);
  for (int round = 0; round < 300; ++round) {
    Pipeline pipeline = randomInterleaved(engine);
    std::vector<int> first = firstRanks(pipeline);
    Result result = mustSimulate(
        trainingSchedule(pipeline, 6, ScheduleKind(round % 3)), pipeline);
    std::vector<double> freeAt(64, 0);
    for (const Event &event : result.events) {
      Action action = event.row.action;
      if (action == Action::Send || action == Action::Receive ||
          action == Action::AllReduce)
        continue;
      double &free = freeAt[first[event.row.stage] + event.row.replica];
      ASSERT_GE(event.beginSeconds, free - 1e-9) << "round " << round;
      free = event.endSeconds;
    }
  }
}

TEST(Interleaved, TheBubbleIsDividedByTheShares) {
  // m v (f + b) of work and (p - 1) (f + b) of bubble, where f and b are those
  // of a share: Narayanan et al. (2021), for m a multiple of p.
  for (int ranks : {2, 3, 4})
    for (int shares : {2, 3})
      for (int rounds : {2, 4}) {
        Pipeline pipeline = equalShares(ranks, shares, {"s", 1, 1, 2, 1});
        int microbatches = rounds * ranks;
        double work = microbatches * shares * 3;
        Result result =
            mustSimulate(trainingSchedule(pipeline, microbatches), pipeline);
        EXPECT_LE(result.stepSeconds, work + 3 * (ranks - 1))
            << ranks << " ranks, " << shares << " shares, " << microbatches
            << " microbatches";
      }
}

TEST(Interleaved, GPipeGoesForwardFirst) {
  Pipeline pipeline = equalShares(2, 2, {"s", 1, 1, 2});
  Schedule schedule = trainingSchedule(pipeline, 4, ScheduleKind::GPipe);
  mustSimulate(schedule, pipeline);
  bool backward[2] = {false, false};
  for (const Row &row : schedule.rows) {
    backward[row.stage % 2] |= row.action == Action::Backward;
    if (row.action == Action::Forward) {
      EXPECT_FALSE(backward[row.stage % 2]);
    }
  }
}

TEST(Interleaved, MemoryIsThatOfAllStagesOfARank) {
  Pipeline pipeline = equalShares(2, 2, {"s", 1, 1, 2});
  for (PipelineStage &stage : pipeline.stages) {
    stage.residentBytes = 1000;
    stage.activationBytes = 100;
    stage.workspaceBytes = 10;
  }
  Result result = mustSimulate(
      trainingSchedule(pipeline, 4, ScheduleKind::GPipe), pipeline);
  for (const StageTimes &times : result.stages)
    EXPECT_EQ(times.peakBytes, 2 * 1000 + 2 * 4 * 100 + 10);
}

TEST(Interleaved, NamesWhatIsWrong) {
  auto messageOf = [](const Schedule &schedule, const Pipeline &pipeline) {
    llvm::Error error = validate(schedule, pipeline);
    return error ? llvm::toString(std::move(error)) : "valid";
  };
  Pipeline pipeline = equalShares(1, 2, {"s", 1, 1, 2});
  for (PipelineStage &stage : pipeline.stages)
    stage.sharesParameters = true;
  Schedule good = trainingSchedule(pipeline, 1);
  ASSERT_EQ(messageOf(good, pipeline), "valid");
  Schedule bad = good;
  auto sum = std::find_if(bad.rows.begin(), bad.rows.end(), [](const Row &row) {
    return row.action == Action::AllReduce;
  });
  std::swap(sum[0], sum[1]);
  EXPECT_EQ(
      messageOf(bad, pipeline),
      "stage 0 replica 0: all-reduce: a rank must sum in the order of its "
      "stages");
  bad = good;
  std::swap(bad.rows.front(), bad.rows.back());
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 0 replica 0: send microbatch 0 on channel 0 to stage 1 "
            "replica 0: a value must be computed before it is sent");
  pipeline.channels.pop_back();
  EXPECT_EQ(messageOf(inferenceSchedule(pipeline, 1), pipeline),
            "stages must have ranks of their own in inference");
  pipeline.stages[1].firstRank = 2;
  EXPECT_EQ(messageOf(good, pipeline),
            "stage 1: its first rank must be at most 1, so that none is left "
            "out, got: 2");
}

} // namespace

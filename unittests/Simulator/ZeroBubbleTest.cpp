// Tables with backwards in two parts: valid, within memory, and never slower
// than one forward, one backward.
#include "RandomPipelines.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hethub::simulator;
using namespace hethub::simulator::test;

namespace {

Result stepOf(const Pipeline &pipeline, int microbatches, ScheduleKind kind) {
  return mustSimulate(trainingSchedule(pipeline, microbatches, kind), pipeline);
}

TEST(ZeroBubble, IsNeverSlowerThanOneForwardOneBackward) {
  std::mt19937 engine(21);
  double sum = 0;
  const int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    Pipeline pipeline = randomTraining(engine);
    int microbatches = 1 + engine() % 20;
    Result whole =
        stepOf(pipeline, microbatches, ScheduleKind::OneForwardOneBackward);
    Result parts = stepOf(pipeline, microbatches, ScheduleKind::ZeroBubble);
    ASSERT_LE(parts.stepSeconds, whole.stepSeconds * (1 + 1e-9))
        << "round " << round;
    sum += parts.stepSeconds / whole.stepSeconds;
  }
  EXPECT_LT(sum / rounds, 0.97);
}

TEST(ZeroBubble, StaysWithinTheLimitOfMicrobatchesInFlight) {
  std::mt19937 engine(22);
  for (int round = 0; round < 2000; ++round) {
    Pipeline pipeline = randomTraining(engine);
    for (PipelineStage &stage : pipeline.stages) {
      stage.inFlight = 1 + engine() % 7;
      stage.inFlightLimit = engine() % 2 ? stage.inFlight + engine() % 5 : 0;
    }
    int microbatches = 1 + engine() % 20;
    Result whole =
        stepOf(pipeline, microbatches, ScheduleKind::OneForwardOneBackward);
    Result parts = stepOf(pipeline, microbatches, ScheduleKind::ZeroBubble);
    for (size_t index = 0; index < pipeline.stages.size(); ++index) {
      const PipelineStage &stage = pipeline.stages[index];
      if (!stage.hasBackward)
        continue;
      int limit = std::max(stage.inFlight, stage.inFlightLimit);
      // Limits that are too low for a later stage are raised by the other.
      ASSERT_LE(parts.stages[index].mostInFlight,
                std::max((limit + stage.replicas - 1) / stage.replicas,
                         whole.stages[index].mostInFlight))
          << "round " << round << " stage " << index;
    }
  }
}

TEST(ZeroBubble, EqualStagesAndPartsHaveAThirdOfTheBubble) {
  // ZB-H1: (S - 1) (f + b - w) where one forward, one backward has
  // (S - 1) (f + b + w), in the memory of its first stage.
  for (int stages = 1; stages <= 8; ++stages)
    for (int microbatches : {2 * stages, 3 * stages + 1}) {
      PipelineStage stage{"s", 1, 1, 2, 1};
      stage.inFlight = stages;
      Pipeline pipeline = chain(std::vector<PipelineStage>(stages, stage), 0);
      Result result = stepOf(pipeline, microbatches, ScheduleKind::ZeroBubble);
      EXPECT_DOUBLE_EQ(result.stepSeconds, 3 * microbatches + stages - 1)
          << stages << " stages";
      for (const StageTimes &times : result.stages)
        EXPECT_LE(times.mostInFlight, stages);
    }
}

TEST(ZeroBubble, WithMemoryToSpareNearlyReachesItsBound) {
  // No stage can begin before its first message is there, nor do its work in
  // less time.
  std::mt19937 engine(23);
  const int rounds = 200, microbatches = 32;
  double zeroBubble = 0, oneForwardOneBackward = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<PipelineStage> stages(2 + engine() % 7);
    for (PipelineStage &stage : stages) {
      stage.forwardSeconds = 0.8 + real(engine, 0.4);
      stage.weightSeconds = stage.forwardSeconds * (0.8 + real(engine, 0.4));
      stage.backwardSeconds = stage.weightSeconds +
                              stage.forwardSeconds * (0.9 + real(engine, 0.3));
      stage.inFlightLimit = 2 * int(stages.size()) + 2;
    }
    double hop = round % 2 ? real(engine, 0.5) : 0, begin = 0, bound = 0;
    for (const PipelineStage &stage : stages) {
      bound = std::max(bound, begin + microbatches * (stage.forwardSeconds +
                                                      stage.backwardSeconds));
      begin += stage.forwardSeconds + hop;
    }
    Pipeline pipeline = chain(stages, hop);
    double step =
        stepOf(pipeline, microbatches, ScheduleKind::ZeroBubble).stepSeconds;
    ASSERT_GE(step * (1 + 1e-12), bound) << "round " << round;
    zeroBubble += step / bound;
    oneForwardOneBackward +=
        stepOf(pipeline, microbatches, ScheduleKind::OneForwardOneBackward)
            .stepSeconds /
        bound;
  }
  EXPECT_LT(zeroBubble / rounds, 1.005);
  EXPECT_GT(oneForwardOneBackward / rounds, 1.05);
}

TEST(ZeroBubble, AWeightPartRunsWhileTheGradientTravels) {
  // Stage 1 alone limits: its gradients go back before its weight parts.
  Pipeline pipeline = chain({{"a", 1, 1, 2, 1}, {"b", 1, 1, 2, 1}}, 0);
  Schedule schedule = trainingSchedule(pipeline, 2, ScheduleKind::ZeroBubble);
  Result result = mustSimulate(schedule, pipeline);
  EXPECT_DOUBLE_EQ(result.stepSeconds, 7);
  EXPECT_EQ(std::count_if(
                schedule.rows.begin(), schedule.rows.end(),
                [](const Row &row) { return row.action == Action::Weight; }),
            4);
}

TEST(ZeroBubble, ASlotLivesUntilItsWeightPart) {
  Pipeline pipeline;
  pipeline.stages = {{"a", 1, 1, 2, 1}};
  pipeline.stages[0].activationBytes = 100;
  Schedule schedule;
  schedule.training = true;
  schedule.microbatches = 2;
  schedule.rows = {{0, 0, Action::Forward, 0},      {0, 0, Action::Backward, 0},
                   {0, 0, Action::Forward, 1},      {0, 0, Action::Backward, 1},
                   {0, 0, Action::Weight, 0},       {0, 0, Action::Weight, 1},
                   {0, 0, Action::OptimizerStep, 0}};
  EXPECT_EQ(mustSimulate(schedule, pipeline).stages[0].peakBytes, 200);
}

std::string messageOf(const Schedule &schedule, const Pipeline &pipeline) {
  llvm::Error error = validate(schedule, pipeline);
  return error ? llvm::toString(std::move(error)) : "valid";
}

TEST(ZeroBubble, NamesWhatIsWrong) {
  Pipeline pipeline;
  pipeline.stages = {{"a", 1, 1, 2, 1}};
  Schedule good = trainingSchedule(pipeline, 2, ScheduleKind::ZeroBubble);
  ASSERT_EQ(messageOf(good, pipeline), "valid");
  auto weight =
      std::find_if(good.rows.begin(), good.rows.end(),
                   [](const Row &row) { return row.action == Action::Weight; });
  size_t index = weight - good.rows.begin();
  Schedule bad = good;
  bad.rows.erase(bad.rows.begin() + index);
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 0: all microbatches or none must have a weight, got: 1 of "
            "2");
  bad = good;
  std::rotate(bad.rows.begin(), bad.rows.begin() + index,
              bad.rows.begin() + index + 1);
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 0 replica 0: weight microbatch 0: a weight must come after "
            "its backward, on the same replica");
  pipeline.stages[0].hasWeight = false;
  EXPECT_EQ(messageOf(good, pipeline),
            "stage 0 replica 0: weight microbatch 0: the stage must have this "
            "part");
  pipeline.stages[0].weightSeconds = 3;
  EXPECT_EQ(messageOf(good, pipeline),
            "stage 0: weight seconds must be at most those of the backward");
}

} // namespace

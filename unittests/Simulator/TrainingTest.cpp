// Tables of training steps: valid, and as fast as they can be.
#include "RandomPipelines.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace hethub::simulator;
using namespace hethub::simulator::test;

namespace {

/// The step time by another way than events: dates of rows, raised until none
/// must be raised any more. For links of their own.
double relaxedStepSeconds(const Schedule &schedule, const Pipeline &pipeline) {
  const std::vector<Row> &rows = schedule.rows;
  std::map<std::pair<int, int>, double> arrival; // channel, microbatch
  double step = 0;
  bool changed = true;
  while (changed) {
    changed = false;
    std::map<std::pair<int, int>, double> clock, copies; // rank
    std::map<std::tuple<int, int, int>, double> links;
    std::map<std::pair<int, int>, double> needed; // rank: latest message
    std::map<std::pair<int, int>, double> work;
    std::map<int, double> reduceReady;
    auto groupOf = [&](int stage) {
      return pipeline.stages[stage].sharesParameters ? -1 : stage;
    };
    std::set<int> split; // stages with weights of their own
    for (const Row &row : rows)
      if (row.action == Action::Weight)
        split.insert(row.stage);
    step = 0;
    for (const Row &row : rows) {
      std::pair<int, int> rank{row.stage, row.replica};
      const PipelineStage &stage = pipeline.stages[row.stage];
      double &now = clock[rank];
      switch (row.action) {
      case Action::Receive:
        needed[rank] =
            std::max(needed[rank], arrival[{row.channel, row.microbatch}]);
        work[rank] += pipeline.channels[row.channel].receiveSeconds;
        break;
      case Action::Forward:
      case Action::Backward:
        now = std::max(now, needed[rank]) + work[rank] + stage.overheadSeconds +
              (row.action == Action::Forward
                   ? stage.forwardSeconds
                   : stage.backwardSeconds -
                         (split.count(row.stage) ? stage.weightSeconds : 0));
        needed[rank] = work[rank] = 0;
        break;
      case Action::Send: {
        const Channel &channel = pipeline.channels[row.channel];
        now += channel.sendSeconds;
        double ready = now;
        if (channel.copyOutSeconds > 0)
          ready = copies[rank] =
              std::max(copies[rank], now) + channel.copyOutSeconds;
        double &link = links[{row.channel, row.replica, row.peerReplica}];
        link = std::max(link, ready) + channel.transferSeconds;
        double &date = arrival[{row.channel, row.microbatch}];
        if (link + channel.latencySeconds > date + 1e-12) {
          date = link + channel.latencySeconds;
          changed = true;
        }
        step = std::max(step, date);
        break;
      }
      case Action::Weight:
        now += stage.weightSeconds;
        break;
      case Action::AllReduce: {
        double &ready = reduceReady[groupOf(row.stage)];
        ready = std::max(ready, now);
        break;
      }
      default:
        break;
      }
      step = std::max(step, now);
    }
    for (const Row &row : rows)
      if (row.action == Action::OptimizerStep) {
        const PipelineStage &stage = pipeline.stages[row.stage];
        double ready = clock[{row.stage, row.replica}];
        if (stage.sumsGradients())
          ready = reduceReady[groupOf(row.stage)] + stage.allReduceSeconds;
        step = std::max(step, ready + stage.optimizerSeconds);
      }
  }
  return step;
}

TEST(Training, TablesAreValidAndTakeTheTimeOfTheirDependences) {
  std::mt19937 engine(11);
  for (int round = 0; round < 1500; ++round) {
    Pipeline pipeline = randomTraining(engine);
    for (Channel &channel : pipeline.channels)
      channel.link = -1;
    Schedule schedule =
        trainingSchedule(pipeline, 1 + engine() % 14, ScheduleKind(round % 3));
    Result result = mustSimulate(schedule, pipeline);
    ASSERT_NEAR(result.stepSeconds, relaxedStepSeconds(schedule, pipeline),
                1e-9 * result.stepSeconds)
        << "round " << round;
    ASSERT_EQ(simulateGenerated(schedule, pipeline).stepSeconds,
              result.stepSeconds);
  }
}

TEST(Training, IsNeverFasterThanItsBounds) {
  std::mt19937 engine(12);
  for (int round = 0; round < 1500; ++round) {
    Pipeline pipeline = randomTraining(engine);
    int microbatches = 1 + engine() % 14;
    Result result = mustSimulate(
        trainingSchedule(pipeline, microbatches, ScheduleKind(round % 3)),
        pipeline);
    // A microbatch goes forward through all stages, and back where all have a
    // backward; its last weight may run elsewhere.
    double path = 0;
    bool back = llvm::all_of(pipeline.stages, [](const PipelineStage &stage) {
      return stage.hasBackward;
    });
    for (size_t index = 0; index < pipeline.stages.size(); ++index) {
      const PipelineStage &stage = pipeline.stages[index];
      double forward = stage.forwardSeconds + stage.overheadSeconds,
             backward = stage.backwardSeconds + stage.overheadSeconds;
      double once = forward + (stage.hasBackward ? backward : 0);
      path += forward + (back ? backward - stage.weightSeconds : 0);
      double replicaLoad =
          (microbatches + stage.replicas - 1) / stage.replicas * once;
      double end = (stage.sumsGradients() ? stage.allReduceSeconds : 0) +
                   stage.optimizerSeconds;
      ASSERT_GE(result.stepSeconds * (1 + 1e-12), replicaLoad + end);
      // A stage waits for its first forward and for the gradients of its last.
      ASSERT_GE(result.stages[index].mostInFlight, 1);
    }
    for (const Channel &channel : pipeline.channels)
      if (std::abs(channel.toStage - channel.fromStage) == 1 &&
          channel.name.find("value") != std::string::npos &&
          (!channel.isGradient() || back))
        path += channel.latencySeconds + channel.transferSeconds;
    ASSERT_GE(result.stepSeconds * (1 + 1e-12), path);
  }
}

TEST(Training, EqualStagesTakeTheClosedForm) {
  // Without messages 1F1B is as fast as a step can be: (m + S - 1) (f + b).
  for (int stages = 1; stages <= 6; ++stages)
    for (int microbatches : {1, 2, stages, 3 * stages + 1}) {
      Pipeline pipeline =
          chain(std::vector<PipelineStage>(stages, {"s", 1, 1, 2}), 0);
      Result result =
          mustSimulate(trainingSchedule(pipeline, microbatches), pipeline);
      EXPECT_DOUBLE_EQ(result.stepSeconds, 3 * (microbatches + stages - 1));
      for (int stage = 0; stage < stages; ++stage)
        EXPECT_EQ(result.stages[stage].mostInFlight,
                  std::min(stages - stage, microbatches));
    }
}

TEST(Training, UnevenStagesWithSlowLinksStayWithinTheClosedForm) {
  std::mt19937 engine(13);
  double sum = 0;
  const int rounds = 3000, microbatches = 32;
  for (int round = 0; round < rounds; ++round) {
    std::vector<PipelineStage> stages(2 + engine() % 7);
    double all = 0, most = 0;
    for (PipelineStage &stage : stages) {
      stage.forwardSeconds = 0.2 + real(engine, 3);
      stage.backwardSeconds = stage.forwardSeconds * (1.5 + real(engine, 1));
      all += stage.forwardSeconds + stage.backwardSeconds;
      most = std::max(most, stage.forwardSeconds + stage.backwardSeconds);
    }
    double hop = round % 3 == 0 ? real(engine, 4) : 0;
    all += 2 * hop * double(stages.size() - 1);
    Pipeline pipeline = chain(stages, hop);
    Result result =
        mustSimulate(trainingSchedule(pipeline, microbatches), pipeline);
    double closedForm = all + (microbatches - 1) * most;
    ASSERT_LE(result.stepSeconds, closedForm * (1 + 1e-9)) << round;
    sum += result.stepSeconds / closedForm;
  }
  EXPECT_LT(sum / rounds, 1);
}

TEST(Training, ReplicasShareTheMicrobatchesAndSumTheirGradients) {
  // Two replicas of a slow stage feed a fast one.
  Pipeline pipeline = chain({{"slow", 2, 2, 4}, {"fast", 1, 1, 2}}, 0);
  pipeline.stages[0].allReduceSeconds = 5;
  pipeline.stages[0].optimizerSeconds = 1;
  Result result = mustSimulate(trainingSchedule(pipeline, 8), pipeline);
  // Eight microbatches at 3 a piece, one forward before and one backward after
  // it, then all-reduce and optimizer step.
  EXPECT_DOUBLE_EQ(result.stepSeconds, 2 + 8 * 3 + 4 + 5 + 1);
  EXPECT_DOUBLE_EQ(result.stages[0].allReduceSeconds, 5);
  EXPECT_EQ(result.stages[1].mostInFlight, 1);
}

TEST(Training, TheAllReduceOfALaterStageRunsWhileEarlierStagesDrain) {
  Pipeline pipeline = chain({{"a", 1, 1, 2}, {"b", 2, 2, 4}}, 0);
  double without =
      mustSimulate(trainingSchedule(pipeline, 4), pipeline).stepSeconds;
  pipeline.stages[1].allReduceSeconds = 1;
  EXPECT_DOUBLE_EQ(
      mustSimulate(trainingSchedule(pipeline, 4), pipeline).stepSeconds,
      without);
}

TEST(Training, MemoryIsThatOfTheMostMicrobatchesInFlight) {
  Pipeline pipeline = chain({{"a", 1, 1, 2}, {"b", 1, 1, 2}}, 0);
  for (PipelineStage &stage : pipeline.stages) {
    stage.residentBytes = 1000;
    stage.activationBytes = 100;
    stage.workspaceBytes = 10;
  }
  Result result = mustSimulate(trainingSchedule(pipeline, 8), pipeline);
  EXPECT_EQ(result.stages[0].peakBytes, 1210);
  EXPECT_EQ(result.stages[1].peakBytes, 1110);
  pipeline.stages[0].inFlight = 5;
  result = mustSimulate(trainingSchedule(pipeline, 8), pipeline);
  EXPECT_EQ(result.stages[0].peakBytes, 1510);
}

TEST(Training, GPipeKeepsAllMicrobatches) {
  Pipeline pipeline = chain({{"a", 1, 1, 2}, {"b", 2, 1, 2}}, 0);
  Result result = mustSimulate(
      trainingSchedule(pipeline, 7, ScheduleKind::GPipe), pipeline);
  EXPECT_EQ(result.stages[0].mostInFlight, 7);
  EXPECT_EQ(result.stages[1].mostInFlight, 4);
}

TEST(Training, StagesThatShareParametersSumTogether) {
  Pipeline pipeline = chain({{"a", 1, 1, 2}, {"b", 1, 1, 2}}, 0);
  for (PipelineStage &stage : pipeline.stages) {
    stage.sharesParameters = true;
    stage.allReduceSeconds = 10;
  }
  Result result = mustSimulate(trainingSchedule(pipeline, 2), pipeline);
  // Stage 0 ends its last backward one backward after stage 1, which waits.
  EXPECT_DOUBLE_EQ(result.stepSeconds, 3 * (2 + 2 - 1) + 10);
  for (const Event &event : result.events)
    if (event.row.action == Action::AllReduce) {
      EXPECT_DOUBLE_EQ(event.beginSeconds, 9);
    }
}

TEST(Training, AStageWithoutBackwardGoesForwardOnly) {
  Pipeline pipeline;
  pipeline.stages = {{"frozen", 1, 1}, {"trained", 1, 1, 2}};
  pipeline.stages[0].hasBackward = false;
  pipeline.channels = {{"x", 0, 1, 8, 0, 0, -1}};
  addGradientChannels(pipeline);
  EXPECT_EQ(pipeline.channels.size(), 1u);
  for (ScheduleKind kind :
       {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward,
        ScheduleKind::ZeroBubble})
    EXPECT_DOUBLE_EQ(
        mustSimulate(trainingSchedule(pipeline, 4, kind), pipeline).stepSeconds,
        1 + 4 * 3);
}

TEST(Training, TooFewInFlightForALaterStageAreRaised) {
  // Stage 1 takes three forwards before its first backward, so stage 0 must
  // have as many under way.
  Pipeline pipeline = chain({{"a", 1, 1, 2}, {"b", 1, 1, 2}}, 0);
  pipeline.stages[0].inFlight = 1;
  pipeline.stages[1].inFlight = 3;
  Result result = mustSimulate(trainingSchedule(pipeline, 8), pipeline);
  EXPECT_EQ(result.stages[0].mostInFlight, 3);
}

std::string messageOf(const Schedule &schedule, const Pipeline &pipeline) {
  llvm::Error error = validate(schedule, pipeline);
  return error ? llvm::toString(std::move(error)) : "valid";
}

TEST(Training, RefusesMutatedTables) {
  std::mt19937 engine(14);
  unsigned refused = 0;
  for (int round = 0; round < 2000; ++round) {
    Pipeline pipeline = randomTraining(engine);
    Schedule schedule =
        trainingSchedule(pipeline, 2 + engine() % 6, ScheduleKind(round % 3));
    std::vector<Row> &rows = schedule.rows;
    size_t index = engine() % rows.size();
    Row &row = rows[index];
    switch (engine() % 5) {
    case 0:
      rows.erase(rows.begin() + index);
      break;
    case 1: {
      Row copy = row;
      rows.insert(rows.begin() + engine() % (rows.size() + 1), copy);
      break;
    }
    case 2:
      if (row.action == Action::AllReduce ||
          row.action == Action::OptimizerStep)
        continue; // belong to no microbatch
      row.microbatch += engine() % 2 ? 1 : -1;
      break;
    case 3:
      row.action = row.action == Action::Backward  ? Action::Forward
                   : row.action == Action::Forward ? Action::Backward
                   : row.action == Action::Send    ? Action::Receive
                                                   : Action::Send;
      break;
    case 4:
      if (row.action == Action::Weight)
        continue;
      row.action = Action::Weight;
      break;
    }
    ASSERT_NE(messageOf(schedule, pipeline), "valid") << "round " << round;
    ++refused;
  }
  EXPECT_GT(refused, 1500u);
}

TEST(Training, NamesWhatIsWrong) {
  Pipeline pipeline = chain({{"a", 1, 1, 2}, {"b", 2, 1, 2}}, 0);
  Schedule good = trainingSchedule(pipeline, 2);
  ASSERT_EQ(messageOf(good, pipeline), "valid");
  // The last rows: ... B1 send all-reduce optimizer of stage 1 replica 1.
  Schedule bad = good;
  bad.rows.pop_back();
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 1 replica 1: a step must end with one all-reduce and one "
            "optimizer step");
  bad = good;
  std::swap(bad.rows[bad.rows.size() - 1], bad.rows[bad.rows.size() - 4]);
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 1 replica 1: send microbatch 1 on channel 1 to stage 0 "
            "replica 0: a value must be computed before it is sent");
  bad = good;
  bad.training = false;
  EXPECT_EQ(messageOf(bad, pipeline),
            "channel 1 must go from a stage to a later one, got: 1 to 0");
  pipeline.stages[1].allReduceSeconds = -1;
  EXPECT_EQ(messageOf(good, pipeline),
            "stage 1: all-reduce seconds must be at least 0");
}

TEST(Training, FindsCycles) {
  Pipeline pipeline = chain({{"a", 1, 1, 2}, {"b", 1, 1, 2}}, 0);
  pipeline.stages[0].inFlight = pipeline.stages[1].inFlight = 2;
  Schedule schedule = trainingSchedule(pipeline, 3);
  // Stage 0: F0 s F1 s r B0 F2 s ...; with B0 before F1 stage 1, which runs two
  // forwards ahead, and stage 0 wait for each other.
  ASSERT_EQ(schedule.rows[2].action, Action::Forward);
  std::rotate(schedule.rows.begin() + 2, schedule.rows.begin() + 4,
              schedule.rows.begin() + 6);
  EXPECT_EQ(messageOf(schedule, pipeline),
            "stage 0 replica 0: receive microbatch 0 on channel 1 from stage "
            "1 replica 0: ranks must not wait for each other in a cycle, got: "
            "this row waits for 'stage 1 replica 0: send microbatch 0 on "
            "channel 1 to stage 0 replica 0', which is never reached");
}

TEST(AllReduce, TakesTheFasterOfRingAndTree) {
  EXPECT_EQ(allReduceSeconds(1, 1e9, 1, 1), 0);
  // Two devices exchange all of it.
  EXPECT_DOUBLE_EQ(allReduceSeconds(2, 8e9, 0.5, 1e9), 1 + 8);
  // Long messages go round, short ones up and down.
  EXPECT_DOUBLE_EQ(allReduceSeconds(8, 8e9, 0, 1e9), 2 * 7.0 / 8 * 8);
  EXPECT_DOUBLE_EQ(allReduceSeconds(1024, 0, 1e-5, 1e9), 20e-5);
}

} // namespace

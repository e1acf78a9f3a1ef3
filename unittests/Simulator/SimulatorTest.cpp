// Simulated times against closed forms and bounds, over random pipelines.
#include "RandomPipelines.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

using namespace hethub::simulator;
using namespace hethub::simulator::test;

namespace {

/// sum f + sum c + (m - 1) max(f, transfers): links are stages of their own
/// when they are the slowest.
double closedForm(const Pipeline &pipeline, int microbatches) {
  double sum = 0, slowest = 0;
  for (const PipelineStage &stage : pipeline.stages) {
    sum += stage.forwardSeconds;
    slowest = std::max(slowest, stage.forwardSeconds);
  }
  for (const Channel &channel : pipeline.channels) {
    sum += channel.latencySeconds + channel.transferSeconds;
    slowest = std::max(slowest, channel.transferSeconds);
  }
  return sum + (microbatches - 1) * slowest;
}

TEST(Simulator, ChainsTakeTheClosedForm) {
  std::mt19937 engine(1);
  for (int round = 0; round < 2000; ++round) {
    Pipeline pipeline = randomChain(engine, round % 3 == 0   ? 0
                                            : round % 3 == 1 ? 0.1
                                                             : 8);
    int microbatches = 1 + engine() % 12;
    Result result =
        mustSimulate(inferenceSchedule(pipeline, microbatches), pipeline);
    ASSERT_NEAR(result.stepSeconds, closedForm(pipeline, microbatches),
                1e-9 * result.stepSeconds)
        << "round " << round;
  }
}

TEST(Simulator, StreamsAndWholeTablesTakeTheSameTime) {
  std::mt19937 engine(2);
  for (int round = 0; round < 200; ++round) {
    Pipeline pipeline = randomPipeline(engine);
    Schedule stream = inferenceStream(pipeline);
    stream.microbatches = 1 + engine() % 12;
    Schedule whole = inferenceSchedule(pipeline, stream.microbatches);
    EXPECT_EQ(expand(stream, pipeline, stream.microbatches).rows, whole.rows);
    EXPECT_EQ(mustSimulate(stream, pipeline).stepSeconds,
              mustSimulate(whole, pipeline).stepSeconds);
  }
}

TEST(Simulator, NothingRunsBeforeItsInputsOrTwoThingsAtOnce) {
  std::mt19937 engine(3);
  for (int round = 0; round < 500; ++round) {
    Pipeline pipeline = randomPipeline(engine);
    int microbatches = 1 + engine() % 12;
    Result result =
        mustSimulate(inferenceSchedule(pipeline, microbatches), pipeline);
    std::map<std::pair<int, int>, double> freeAt; // rank by stage and replica
    std::map<std::pair<int, int>, double> forwardEnd, arrival;
    std::vector<Event> forwards;
    for (const Event &event : result.events) {
      if (event.row.action == Action::Forward) {
        forwards.push_back(event);
        forwardEnd[{event.row.stage, event.row.microbatch}] = event.endSeconds;
      }
      if (event.row.action == Action::Receive)
        arrival[{event.row.channel, event.row.microbatch}] = event.endSeconds;
    }
    ASSERT_EQ(forwards.size(), pipeline.stages.size() * microbatches);
    double busy = 0;
    for (const Event &event : forwards) {
      double &free = freeAt[{event.row.stage, event.row.replica}];
      ASSERT_GE(event.beginSeconds, free - 1e-12);
      free = event.endSeconds;
      for (size_t channel = 0; channel < pipeline.channels.size(); ++channel)
        if (pipeline.channels[channel].toStage == event.row.stage) {
          ASSERT_GE(event.beginSeconds,
                    arrival.at({int(channel), event.row.microbatch}) - 1e-12);
        }
      busy += event.endSeconds - event.beginSeconds;
    }
    for (const auto &[key, seconds] : arrival) {
      const Channel &channel = pipeline.channels[key.first];
      ASSERT_GE(seconds + 1e-12,
                forwardEnd.at({channel.fromStage, key.second}) +
                    channel.latencySeconds + channel.transferSeconds);
    }
    double summed = 0;
    for (size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
      const StageTimes &times = result.stages[stage];
      summed += times.busySeconds;
      ASSERT_NEAR(times.busySeconds + times.idleSeconds +
                      pipeline.stages[stage].replicas *
                          (times.fillSeconds + times.drainSeconds),
                  pipeline.stages[stage].replicas * result.stepSeconds,
                  1e-9 * result.stepSeconds * 4);
    }
    ASSERT_NEAR(summed, busy, 1e-9 * busy);
  }
}

TEST(Simulator, ReplicasTakeTurns) {
  Pipeline pipeline;
  pipeline.stages = {{"a", 2, 4}, {"b", 1, 2}};
  pipeline.channels = {{"x", 0, 1, 8, 0, 0, -1}};
  // Microbatches 0 and 1 end at 4, then one every 2 seconds.
  EXPECT_DOUBLE_EQ(
      mustSimulate(inferenceSchedule(pipeline, 6), pipeline).stepSeconds, 16);
}

TEST(Simulator, ASharedLinkCarriesOneMessageAtATime) {
  Pipeline pipeline;
  pipeline.stages = {{"a", 1, 1}, {"b", 1, 1}};
  pipeline.channels = {{"x", 0, 1, 8, 0.5, 3, 0}, {"y", 0, 1, 8, 0.5, 3, 0}};
  EXPECT_DOUBLE_EQ(
      mustSimulate(inferenceSchedule(pipeline, 2), pipeline).stepSeconds,
      1 + 12 + 0.5 + 1);
  pipeline.channels[1].link = -1;
  EXPECT_DOUBLE_EQ(
      mustSimulate(inferenceSchedule(pipeline, 2), pipeline).stepSeconds,
      1 + 6 + 0.5 + 1);
}

TEST(Simulator, TraceHasASliceForEachRowAndAnArrowForEachMessage) {
  std::mt19937 engine(4);
  Pipeline pipeline = randomPipeline(engine);
  Schedule schedule = inferenceSchedule(pipeline, 5);
  Result result = mustSimulate(schedule, pipeline);
  llvm::json::Value trace = chromeTrace(result, pipeline);
  size_t slices = 0;
  std::map<int64_t, double> begins;
  std::map<int64_t, double> ends;
  for (const llvm::json::Value &value :
       *trace.getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &event = *value.getAsObject();
    llvm::StringRef phase = *event.getString("ph");
    slices += phase == "X";
    if (phase == "s")
      begins[*event.getInteger("id")] = *event.getNumber("ts");
    if (phase == "f")
      ends[*event.getInteger("id")] = *event.getNumber("ts");
  }
  EXPECT_EQ(slices, schedule.rows.size());
  EXPECT_EQ(begins.size(), pipeline.channels.size() * 5);
  ASSERT_EQ(begins.size(), ends.size());
  for (auto [id, begin] : begins)
    EXPECT_GE(ends.at(id), begin);
}

} // namespace

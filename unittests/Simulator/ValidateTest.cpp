// The validator accepts what is generated and refuses what is changed.
#include "RandomPipelines.h"

#include <gtest/gtest.h>

using namespace hethub::simulator;
using namespace hethub::simulator::test;

namespace {

std::string messageOf(const Schedule &schedule, const Pipeline &pipeline) {
  llvm::Error error = validate(schedule, pipeline);
  return error ? llvm::toString(std::move(error)) : "valid";
}

TEST(Validate, AcceptsGeneratedTables) {
  std::mt19937 engine(1);
  for (int round = 0; round < 1000; ++round) {
    Pipeline pipeline = randomPipeline(engine);
    ASSERT_EQ(
        messageOf(inferenceSchedule(pipeline, 1 + engine() % 12), pipeline),
        "valid")
        << "round " << round;
    ASSERT_EQ(messageOf(inferenceStream(pipeline), pipeline), "valid")
        << "round " << round;
  }
}

TEST(Validate, RefusesMutatedTables) {
  std::mt19937 engine(2);
  unsigned refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Pipeline pipeline = randomPipeline(engine);
    if (pipeline.stages.size() == 1)
      continue; // without channels any replica may compute
    Schedule schedule = inferenceSchedule(pipeline, 2 + engine() % 8);
    std::vector<Row> &rows = schedule.rows;
    size_t index = engine() % rows.size();
    Row &row = rows[index];
    switch (engine() % 8) {
    case 0:
      rows.erase(rows.begin() + index);
      break;
    case 1: {
      Row copy = row;
      rows.insert(rows.begin() + engine() % (rows.size() + 1), copy);
      break;
    }
    case 2:
      row.microbatch += engine() % 2 ? 1 : -1;
      break;
    case 3:
      row.replica += engine() % 2 ? 1 : -1;
      break;
    case 4:
      row.stage += engine() % 2 ? 1 : -1;
      break;
    case 5:
      if (row.channel < 0)
        continue;
      row.peerReplica += engine() % 2 ? 1 : -1;
      break;
    case 6:
      if (row.channel < 0)
        continue;
      row.bytes += 1;
      break;
    case 7:
      if (row.channel < 0)
        continue;
      row.action = row.action == Action::Send ? Action::Receive : Action::Send;
      break;
    }
    ASSERT_NE(messageOf(schedule, pipeline), "valid") << "round " << round;
    ++refused;
  }
  EXPECT_GT(refused, 2000u);
}

Pipeline twoStages() {
  Pipeline pipeline;
  pipeline.stages = {{"a", 1, 1}, {"b", 1, 1}};
  pipeline.channels = {{"x", 0, 1, 8, 0, 0, -1}, {"y", 0, 1, 4, 0, 0, -1}};
  return pipeline;
}

TEST(Validate, NamesTheRow) {
  Pipeline pipeline = twoStages();
  Schedule good = inferenceSchedule(pipeline, 2);
  // stage 0: F0 S0x S0y F1 S1x S1y; stage 1: R0x R0y F0 R1x R1y F1
  ASSERT_EQ(good.rows.size(), 12u);
  Schedule bad = good;
  bad.rows.erase(bad.rows.begin() + 1);
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 0 replica 0: forward microbatch 0: microbatch 0 must be "
            "sent on 2 channels, got: 1");
  bad = good;
  std::swap(bad.rows[7], bad.rows[8]);
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 1 replica 0: forward microbatch 0: must come after the "
            "receives of its 2 channels, got: 1");
  bad = good;
  std::swap(bad.rows[0], bad.rows[1]);
  EXPECT_EQ(messageOf(bad, pipeline), "stage 0 replica 0: send microbatch 0 on "
                                      "channel 0 to stage 1 replica 0: a value "
                                      "must be computed before it is sent");
  bad = good;
  bad.rows[9].action = Action::Backward;
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 1 replica 0: backward microbatch 1 on channel 0 from stage "
            "0 replica 0: an "
            "inference table must have receives, forwards and sends only");
  bad = good;
  std::rotate(bad.rows.begin() + 6, bad.rows.begin() + 9, bad.rows.end());
  EXPECT_EQ(messageOf(bad, pipeline),
            "stage 1 replica 0: receive microbatch 1 on channel 0 from stage 0 "
            "replica 0: both ends of a channel must "
            "have the same order, got: microbatch 0 sent in its place");
}

TEST(Validate, FindsCycles) {
  Pipeline pipeline;
  pipeline.stages = {{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}};
  pipeline.channels = {{"ab", 0, 1, 8, 0, 0, -1},
                       {"bc", 1, 2, 8, 0, 0, -1},
                       {"ac", 0, 2, 8, 0, 0, -1}};
  Schedule schedule;
  schedule.microbatches = 4;
  auto forward = [&](int stage, int microbatch) {
    schedule.rows.push_back({stage, 0, Action::Forward, microbatch});
  };
  auto send = [&](int channel, int microbatch) {
    const Channel &edge = pipeline.channels[channel];
    schedule.rows.push_back({edge.fromStage, 0, Action::Send, microbatch,
                             edge.toStage, 0, channel, 8});
  };
  auto receive = [&](int channel, int microbatch) {
    const Channel &edge = pipeline.channels[channel];
    schedule.rows.push_back({edge.toStage, 0, Action::Receive, microbatch,
                             edge.fromStage, 0, channel, 8});
  };
  const int ab = 0, bc = 1, ac = 2;
  // Stage 0 goes on to send ab of microbatch 1 only after stage 2 has taken ac
  // of microbatch 2, which stage 2 does only after computing microbatch 1,
  // which needs that ab.
  forward(0, 0), forward(0, 1), send(ab, 0), send(ac, 0), send(ac, 1);
  forward(0, 2), send(ac, 2);
  forward(0, 3), send(ab, 1), send(ab, 2), send(ab, 3), send(ac, 3);
  for (int microbatch = 0; microbatch < 4; ++microbatch)
    receive(ab, microbatch), forward(1, microbatch), send(bc, microbatch);
  receive(ac, 0), receive(ac, 1), receive(bc, 0), forward(2, 0), receive(bc, 1),
      forward(2, 1);
  receive(ac, 2), receive(bc, 2), forward(2, 2), receive(ac, 3), receive(bc, 3),
      forward(2, 3);
  EXPECT_EQ(messageOf(schedule, pipeline),
            "stage 0 replica 0: send microbatch 2 on channel 2 to stage 2 "
            "replica 0: ranks must not wait for each other in "
            "a cycle, got: this row waits for 'stage 2 replica 0: receive "
            "microbatch 2 on channel 2 from stage 0 replica "
            "0', which is never reached");
  // The other way about it runs.
  std::swap(schedule.rows[6], schedule.rows[8]);
  EXPECT_EQ(messageOf(schedule, pipeline), "valid");
}

} // namespace

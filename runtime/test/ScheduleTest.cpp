// Ranks, unrolling of schedules, and tables that contradict themselves.
#include "Programs.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Executor.h"
#include "program/Specification.h"
#include "schedule/Emulation.h"

#include <gtest/gtest.h>

using namespace hethub::runtime;
using hethub::runtime::test::pipeline;

namespace {
std::string refusal(const StageSpec &spec) {
  try {
    checkSpec(spec);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Schedule, RanksCountThroughStagesAndReplicas) {
  StageSpec spec = specificationOf(pipeline({2, 1, 3})[0]);
  EXPECT_EQ(worldSize(spec), 6);
  int rank = 0;
  for (int stage : {0, 1, 2})
    for (int replica = 0;
         replica < spec.stages[static_cast<size_t>(stage)].replicas;
         ++replica, ++rank) {
      EXPECT_EQ(rankOf(spec, stage, replica), rank);
      std::vector<Place> places = placesOf(spec, rank);
      ASSERT_EQ(places.size(), 1u);
      EXPECT_EQ(places[0].stage, stage);
      EXPECT_EQ(places[0].replica, replica);
    }
}

TEST(Schedule, MicrobatchesGoRoundTheReplicas) {
  std::vector<hethub::StageProgram> programs = pipeline({2, 3});
  StageSpec first = specificationOf(programs[0]),
            second = specificationOf(programs[1]);
  // Every message that a sender has in its steps is one that its receiver waits
  // for, in the same order.
  std::map<std::tuple<int, int, int>, std::vector<int>> sent, received;
  for (int replica : {0, 1})
    for (const Step &step : expandSchedule(first, replica, 7, 1)) {
      EXPECT_EQ(step.microbatch % 2, replica);
      if (step.action == Action::Send)
        sent[{rankOf(first, 0, replica), step.peerRank, step.channel}]
            .push_back(step.microbatch);
    }
  for (int replica : {0, 1, 2})
    for (const Step &step : expandSchedule(second, replica, 7, 1))
      if (step.action == Action::Receive)
        received[{step.peerRank, rankOf(second, 1, replica), step.channel}]
            .push_back(step.microbatch);
  EXPECT_EQ(sent, received);
  EXPECT_EQ(sent.size(), 12u); // 2 x 3 pairs of ranks, two channels
}

TEST(Schedule, WholeStepSchedulesKeepTheirRows) {
  StageSpec spec = specificationOf(pipeline({1})[0]);
  spec.perMicrobatch = false;
  spec.microbatches = 2;
  spec.rows = {{Action::Forward, -1, 1}, {Action::Forward, -1, 0}};
  std::vector<Step> steps = expandSchedule(spec, 0, 4, 1);
  std::vector<int> order;
  for (const Step &step : steps)
    order.push_back(step.microbatch);
  EXPECT_EQ(order, (std::vector<int>{1, 0, 3, 2}));
  EXPECT_THROW(expandSchedule(spec, 0, 3, 1), Error);
}

TEST(Schedule, RefusesContradictions) {
  StageSpec good = specificationOf(pipeline({1, 1, 1})[1]);
  EXPECT_EQ(refusal(good), "no error");
  StageSpec spec = good;
  std::swap(spec.rows[0], spec.rows[1]);
  EXPECT_EQ(refusal(spec),
            "schedule of stage 1 computes before it has received 'h1'");
  spec = good;
  spec.rows.pop_back();
  spec.rows.pop_back();
  EXPECT_EQ(refusal(spec), "schedule of stage 1 never computes");
  spec = good;
  spec.channels.clear();
  EXPECT_EQ(refusal(spec), "port 'h1' names an unknown channel: 0");
  spec = good;
  spec.rows[0].action = Action::Send;
  EXPECT_EQ(refusal(spec), "schedule row of stage 1 can not send on channel 0");
  spec = good;
  spec.rows[1].action = Action::Backward;
  EXPECT_EQ(refusal(spec),
            "an inference schedule has no row with action: backward");
  spec = good;
  spec.stages[0].replicas = 0;
  EXPECT_EQ(refusal(spec), "replicas must be at least 1, got: 0");
  spec = good;
  spec.channels[0].toStage = 7;
  EXPECT_EQ(refusal(spec),
            "channel 0 'h1' leads to a stage that the plan does not have");
}

TEST(Schedule, EmulatedTimesFollowTheProfile) {
  DeviceSpec device{"t", "cpu", 1, 2.5, 0.4, 0.8, 0.2};
  EXPECT_DOUBLE_EQ(emulatedS(device, Action::Forward, 99), 1.0);
  EXPECT_DOUBLE_EQ(emulatedS(device, Action::Backward, 99), 2.0);
  EXPECT_DOUBLE_EQ(emulatedS(device, Action::Weight, 99), 0.5);
  EXPECT_DOUBLE_EQ(emulatedS({"t", "cpu", 1, 2.0, 0}, Action::Forward, 0.3),
                   0.6);
  auto begin = Clock::now();
  EXPECT_TRUE(sleepOut(begin, 0.05));
  EXPECT_GE(secondsBetween(begin, Clock::now()), 0.05);
  EXPECT_FALSE(sleepOut(begin, 0.01));
  ChannelSpec channel{0, "x", 0, 1, at::kFloat, {1}, 0.02, 1000};
  begin = Clock::now();
  sleepUntilDelivery(channel, nanosecondsNow(), 30); // 0.02 s + 30 / 1000 s
  double lasted = secondsBetween(begin, Clock::now());
  EXPECT_GE(lasted, 0.049);
  EXPECT_LT(lasted, 1.0);
}
} // namespace

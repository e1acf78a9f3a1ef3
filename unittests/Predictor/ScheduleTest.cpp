// The recurrence against the event simulation and against closed forms.
#include "hethub/Predictor/OneForwardOneBackward.h"
#include "hethub/Simulator/Simulator.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace hethub;
using namespace hethub::predictor;

namespace {

double real(std::mt19937 &engine, double high) {
  return high * (double(engine()) / double(engine.max()));
}

double simulated(const std::vector<StageSeconds> &stages,
                 const std::vector<double> &hops, int microbatches) {
  simulator::Pipeline pipeline;
  for (size_t index = 0; index < stages.size(); ++index) {
    simulator::PipelineStage stage;
    stage.forwardSeconds = stages[index].forward;
    stage.backwardSeconds = stages[index].backward;
    stage.inFlight = int(stages.size() - index);
    pipeline.stages.push_back(stage);
  }
  for (size_t index = 0; index < hops.size(); ++index) {
    simulator::Channel channel;
    channel.fromStage = int(index);
    channel.toStage = int(index + 1);
    channel.latencySeconds = hops[index];
    pipeline.channels.push_back(channel);
  }
  simulator::addGradientChannels(pipeline);
  llvm::Expected<simulator::Result> result = simulator::simulate(
      simulator::trainingSchedule(pipeline, microbatches), pipeline);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return 0;
  }
  return result->stepSeconds;
}

TEST(OneForwardOneBackward, EqualsTheEventSimulation) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 engine(seed);
    std::vector<StageSeconds> stages(1 + engine() % 8);
    for (StageSeconds &stage : stages)
      stage = {0.1 + real(engine, 2), 0.1 + real(engine, 4)};
    std::vector<double> hops(stages.size() - 1);
    for (double &hop : hops)
      hop = seed % 2 ? real(engine, 1) : 0;
    int microbatches = 1 + engine() % 20;
    double step = oneForwardOneBackward(stages, hops, microbatches);
    EXPECT_NEAR(step, simulated(stages, hops, microbatches), 1e-9 * step)
        << "seed " << seed;
  }
}

TEST(OneForwardOneBackward, EqualStagesFillAndDrainOnce) {
  for (int count : {1, 2, 5, 16})
    for (int microbatches : {1, 3, 16, 100}) {
      std::vector<StageSeconds> stages(count, {1, 2});
      EXPECT_DOUBLE_EQ(oneForwardOneBackward(stages,
                                             std::vector<double>(count - 1, 0),
                                             microbatches),
                       3.0 * (microbatches + count - 1));
    }
}

TEST(OneForwardOneBackward, OneMicrobatchVisitsAllStagesTwice) {
  EXPECT_DOUBLE_EQ(
      oneForwardOneBackward({{1, 2}, {3, 4}, {5, 6}}, {0.5, 0.25}, 1),
      21 + 2 * 0.75);
}

TEST(OneForwardOneBackward, DeepPipelinesEnd) {
  const int count = 1 << 16;
  std::vector<StageSeconds> stages(count, {1, 2});
  EXPECT_DOUBLE_EQ(
      oneForwardOneBackward(stages, std::vector<double>(count - 1, 0), 4),
      3.0 * (count + 3));
}

} // namespace

// Random pipelines with skips and replicas.
#ifndef HETHUB_UNITTESTS_SIMULATOR_RANDOMPIPELINES_H
#define HETHUB_UNITTESTS_SIMULATOR_RANDOMPIPELINES_H

#include "hethub/Simulator/Simulator.h"

#include <gtest/gtest.h>
#include <random>

namespace hethub::simulator::test {

inline double real(std::mt19937 &engine, double high) {
  return high * (double(engine()) / double(engine.max()));
}

inline Result mustSimulate(const Schedule &schedule, const Pipeline &pipeline) {
  llvm::Expected<Result> result = simulate(schedule, pipeline);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  return *result;
}

/// A chain of up to 6 stages, each connected with the next.
inline Pipeline randomChain(std::mt19937 &engine, double slowestLink) {
  Pipeline pipeline;
  int stages = 1 + engine() % 6;
  for (int stage = 0; stage < stages; ++stage) {
    pipeline.stages.push_back(
        {"stage " + std::to_string(stage), 1, 0.1 + real(engine, 4)});
    if (stage > 0)
      pipeline.channels.push_back({"value" + std::to_string(stage), stage - 1,
                                   stage, 8, real(engine, slowestLink),
                                   real(engine, slowestLink), -1});
  }
  return pipeline;
}

/// These stages, each connected with the next, and their gradients.
inline Pipeline chain(std::vector<PipelineStage> stages, double hopSeconds) {
  Pipeline pipeline;
  pipeline.stages = std::move(stages);
  for (int stage = 1; stage < int(pipeline.stages.size()); ++stage)
    pipeline.channels.push_back({"value" + std::to_string(stage), stage - 1,
                                 stage, 8, hopSeconds, 0, -1});
  addGradientChannels(pipeline);
  return pipeline;
}

/// A random chain with skips and replicas.
inline Pipeline randomPipeline(std::mt19937 &engine) {
  Pipeline pipeline = randomChain(engine, 2);
  int stages = pipeline.stages.size();
  for (PipelineStage &stage : pipeline.stages)
    stage.replicas = 1 + engine() % 3;
  for (int count = engine() % 4; stages > 1 && count > 0; --count) {
    int from = engine() % (stages - 1),
        to = from + 1 + engine() % (stages - from - 1);
    pipeline.channels.push_back({"skip" + std::to_string(count), from, to, 16,
                                 real(engine, 1), real(engine, 1),
                                 engine() % 2 ? 0 : -1});
  }
  return pipeline;
}

/// The same in training, with random limits of microbatches in flight.
inline Pipeline randomTraining(std::mt19937 &engine) {
  Pipeline pipeline = randomPipeline(engine);
  for (PipelineStage &stage : pipeline.stages) {
    stage.backwardSeconds = real(engine, 8);
    stage.overheadSeconds = engine() % 2 ? 0 : real(engine, 0.5);
    stage.weightSeconds = stage.backwardSeconds * real(engine, 1);
    stage.inFlight = engine() % 7;
    if (stage.inFlight > 0 && engine() % 2)
      stage.inFlightLimit = stage.inFlight + engine() % 4;
    stage.hasBackward = engine() % 8 != 0;
    stage.hasWeight = engine() % 8 != 0;
    stage.sharesParameters = engine() % 4 == 0;
    stage.gradientBytes = 64;
    stage.allReduceSeconds = real(engine, 3);
    stage.optimizerSeconds = real(engine, 1);
  }
  for (Channel &channel : pipeline.channels)
    if (engine() % 3 == 0) {
      channel.copyOutSeconds = real(engine, 1);
      channel.sendSeconds = real(engine, 0.2);
      channel.receiveSeconds = real(engine, 0.2);
    }
  addGradientChannels(pipeline);
  return pipeline;
}

} // namespace hethub::simulator::test

#endif

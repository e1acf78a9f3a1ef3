// Laws that a predicted iteration must obey, whatever the constants.
#include "Examples.h"

#include <gtest/gtest.h>

using namespace hethub::predictor;
using namespace hethub::predictor::test;

namespace {

TEST(Iteration, IsTheSumOfItsParts) {
  IterationTime time =
      predictIteration(exampleRun(2, 2, 4), exampleCalibration());
  EXPECT_DOUBLE_EQ(time.seconds, time.pipelineSeconds + time.gradientSeconds +
                                     time.optimizerSeconds + time.fixedSeconds);
  EXPECT_GT(time.gradientSeconds, 0);
  EXPECT_GT(time.layerBackwardSeconds, time.layerForwardSeconds);
}

TEST(Iteration, EachLayerAddsTheSame) {
  Calibration calibration = exampleCalibration();
  TrainingRun run = exampleRun(2, 2, 1);
  std::vector<double> times;
  for (int layers : {4, 8, 12}) {
    run.layers = layers;
    times.push_back(seconds(run, calibration));
  }
  EXPECT_NEAR(times[2] - times[1], times[1] - times[0], 1e-12);
  IterationTime time = predictIteration(run, calibration);
  EXPECT_GT(times[1] - times[0],
            4 * run.microbatches() *
                (time.layerForwardSeconds + time.layerBackwardSeconds));
}

TEST(Iteration, OneTensorRankReducesNothing) {
  Calibration calibration = exampleCalibration();
  const double before = seconds(exampleRun(), calibration);
  calibration.machine.nodeBandwidth /= 100;
  calibration.machine.networkBandwidth /= 100;
  calibration.constants.stragglerSeconds *= 100;
  EXPECT_DOUBLE_EQ(seconds(exampleRun(), calibration), before);
  EXPECT_EQ(predictIteration(exampleRun(), calibration).gradientSeconds, 0);
}

TEST(Iteration, EqualStagesHaveThePublishedBubble) {
  Calibration calibration = exampleCalibration();
  // An output layer without cost, and messages that take no time.
  calibration.machine.vocabulary = 1;
  calibration.machine.nodeBandwidth = 1e30;
  calibration.constants.memoryBandwidth = 8e12;
  calibration.constants.headSeconds = 0;
  TrainingRun run = exampleRun(1, 1, 4);
  IterationTime time = predictIteration(run, calibration);
  const double stage = run.stageLayers() *
                       (time.layerForwardSeconds + time.layerBackwardSeconds);
  EXPECT_NEAR(time.pipelineSeconds, (run.microbatches() + 3) * stage,
              1e-4 * time.pipelineSeconds);
}

TEST(Iteration, SmallLayersTakeTheirLaunch) {
  Calibration calibration = exampleCalibration();
  calibration.constants.launchSeconds = 0.05;
  for (int tensor : {1, 2, 4}) {
    IterationTime time = predictIteration(exampleRun(tensor), calibration);
    double wait = 0;
    for (int rank = 2; rank <= tensor; ++rank)
      wait += 2 * calibration.constants.stragglerSeconds / rank;
    EXPECT_NEAR(time.layerForwardSeconds, 0.05 + wait, 1e-12);
    EXPECT_NEAR(time.layerBackwardSeconds, 0.10 + wait, 1e-12);
  }
}

TEST(Iteration, LargeModelsComputeActivationsAgain) {
  Calibration calibration = exampleCalibration();
  TrainingRun run = exampleRun(2);
  IterationTime kept = predictIteration(run, calibration);
  EXPECT_FALSE(kept.recomputes);
  calibration.machine.memoryBytes = 20e9; // 1.3e9 parameters at 18 bytes
  IterationTime again = predictIteration(run, calibration);
  EXPECT_TRUE(again.recomputes);
  EXPECT_DOUBLE_EQ(again.layerForwardSeconds, kept.layerForwardSeconds);
  EXPECT_NEAR(again.layerBackwardSeconds,
              kept.layerBackwardSeconds + kept.layerForwardSeconds, 1e-12);
  calibration.machine.checkpointing = false;
  EXPECT_FALSE(predictIteration(run, calibration).recomputes);
}

TEST(Iteration, TensorParallelismAcrossNodesPaysTheNetwork) {
  Calibration calibration = exampleCalibration();
  TrainingRun inside = exampleRun(8), across = exampleRun(16);
  EXPECT_GT(seconds(across, calibration), seconds(inside, calibration));
  calibration.machine.acceleratorsPerNode = 16;
  EXPECT_LT(seconds(across, calibration), seconds(inside, calibration));
}

TEST(Iteration, GradientGroupsOfANodeShareItsNetwork) {
  Calibration calibration = exampleCalibration();
  // Half the gradients each, but two groups on one network.
  double one = predictIteration(exampleRun(1, 16), calibration).gradientSeconds;
  double two = predictIteration(exampleRun(2, 16), calibration).gradientSeconds;
  EXPECT_NEAR(one, two, 1e-2 * one);
  // 2 (n - 1) / n bytes over the network, at its efficiency.
  TrainingRun run = exampleRun(1, 16);
  double parameters = 12.0 * 2048 * 2048 * run.layers + 50304.0 * 2048;
  EXPECT_NEAR(one,
              2 * 15.0 / 16 * 2 * parameters /
                  (50e9 * calibration.constants.networkEfficiency),
              1e-9);
}

TEST(Iteration, StagesOnOtherNodesPayTheNetwork) {
  Calibration calibration = exampleCalibration();
  const double before = seconds(exampleRun(4, 2, 2), calibration);
  const double inside = seconds(exampleRun(2, 2, 2), calibration);
  calibration.machine.networkBandwidth /= 1000;
  EXPECT_GT(seconds(exampleRun(4, 2, 2), calibration), before);
  EXPECT_DOUBLE_EQ(seconds(exampleRun(2, 2, 2), calibration), inside);
}

TEST(Iteration, OddVocabulariesAreSlowUntilTheyAreSplit) {
  Calibration calibration = exampleCalibration();
  const double even = seconds(exampleRun(), calibration);
  calibration.machine.vocabulary = 50303;
  EXPECT_GT(seconds(exampleRun(), calibration), 1.01 * even);
  Calibration faster = calibration;
  faster.constants.oddVocabularySlowdown = 1;
  EXPECT_LT(seconds(exampleRun(), faster), even);
  EXPECT_DOUBLE_EQ(seconds(exampleRun(2), calibration),
                   seconds(exampleRun(2), faster));
}

TEST(Iteration, MoreWorkOrASlowerMachineNeverTakesLess) {
  const Calibration calibration = exampleCalibration();
  for (auto [tensor, data, pipeline] :
       {std::tuple{1, 1, 1}, std::tuple{2, 2, 2}, std::tuple{8, 4, 4},
        std::tuple{16, 2, 8}}) {
    const TrainingRun run = exampleRun(tensor, data, pipeline);
    const double base = seconds(run, calibration);
    for (auto [member, factor] : {std::pair{&TrainingRun::layers, 2},
                                  {&TrainingRun::hidden, 2},
                                  {&TrainingRun::sequence, 2},
                                  {&TrainingRun::globalBatch, 2}}) {
      TrainingRun more = run;
      more.*member *= factor;
      EXPECT_GT(seconds(more, calibration), base);
    }
    for (const ConstantInfo &info : constantInfos()) {
      Calibration worse = calibration;
      bool isRate = info.member == &Constants::matmulEfficiency ||
                    info.member == &Constants::memoryBandwidth ||
                    info.member == &Constants::networkEfficiency;
      worse.constants.*info.member *= isRate ? 0.5 : 2;
      EXPECT_GE(seconds(run, worse), base) << info.name.str();
    }
  }
}

} // namespace

// From a layer to the iteration.
#include "hethub/Predictor/Iteration.h"

#include "Communication.h"
#include "Transformer.h"
#include "hethub/Predictor/OneForwardOneBackward.h"

#include <algorithm>

namespace hethub::predictor {

/// Bytes that mixed-precision Adam moves a parameter: reads gradient 2, weight
/// 4 and moments 8, writes weight 4, moments 8 and the 2-byte copy.
static constexpr double optimizerBytes = 28;

/// Bytes that a vocabulary-parallel cross entropy moves a logit, as unfused
/// kernels on float32: forward conversion 6, maximum 4, difference 8,
/// exponential 8, sum 4, quotient 8; backward product 8, conversion 6, and the
/// two reads of its result 4.
static constexpr double lossForwardBytes = 38, lossBackwardBytes = 18;

namespace {

class Model {
public:
  Model(const TrainingRun &run, const Calibration &calibration)
      : run(run), machine(calibration.machine),
        constants(calibration.constants), communication(run, calibration),
        recompute(recomputes(run, machine)) {}

  IterationTime predict() const {
    IterationTime time;
    StageSeconds layer = layerSeconds(), head = headSeconds();
    StageSeconds body{layer.forward * run.stageLayers(),
                      layer.backward * run.stageLayers()};
    std::vector<StageSeconds> stages(run.pipelineParallel, body);
    stages.front().forward += reduceSeconds(); // of the split embedding
    stages.back().forward += head.forward;
    stages.back().backward += head.backward;
    time.pipelineSeconds = oneForwardOneBackward(
        stages, communication.hopSeconds(), run.microbatches());
    double parameters = stageParameters(run, machine);
    time.gradientSeconds =
        communication.dataAllReduceSeconds(machine.valueBytes * parameters) +
        communication.embeddingAllReduceSeconds(
            machine.valueBytes * vocabularySlice(run, machine) * run.hidden);
    time.optimizerSeconds =
        optimizerBytes * parameters / constants.memoryBandwidth;
    time.fixedSeconds = constants.iterationSeconds;
    time.seconds = time.pipelineSeconds + time.gradientSeconds +
                   time.optimizerSeconds + time.fixedSeconds;
    time.layerForwardSeconds = layer.forward;
    time.layerBackwardSeconds = layer.backward;
    time.recomputes = recompute;
    return time;
  }

private:
  double matmulSeconds(double flops) const {
    return flops / (constants.matmulEfficiency * machine.peakFlops);
  }

  /// `passes` times the work of a layer's forward with `reductions` over the
  /// tensor-parallel ranks. The host launches ahead of the device, so the
  /// slower of the two sets the time; each reduction waits for its slowest
  /// rank, whichever that is.
  double layerSeconds(int passes, int reductions) const {
    double work = matmulSeconds(layerFlops(run)) +
                  2 * layerActivationBytes(run) / constants.memoryBandwidth +
                  constants.kernelSeconds;
    double device =
        passes * work + reductions * communication.tensorAllReduceSeconds();
    return std::max(device, passes * constants.launchSeconds) +
           reductions * communication.tensorWaitSeconds();
  }

  /// Backward is twice the work of forward. Forward and backward each have a
  /// reduction after the attention and one after the MLP.
  StageSeconds layerSeconds() const {
    return {layerSeconds(1, 2),
            recompute ? layerSeconds(3, 4) : layerSeconds(2, 2)};
  }

  /// Output layer and loss. Its input's gradient is reduced.
  StageSeconds headSeconds() const {
    double columns = vocabularySlice(run, machine),
           logits = run.tokens() * columns;
    double product = matmulSeconds(2 * logits * run.hidden);
    if (run.tensorParallel == 1 && machine.vocabulary % 8 != 0)
      product *= constants.oddVocabularySlowdown;
    double perByte = 1 / constants.memoryBandwidth;
    return {product + logits * lossForwardBytes * perByte +
                constants.headSeconds / 3,
            2 * product + logits * lossBackwardBytes * perByte +
                constants.headSeconds * 2 / 3 + reduceSeconds()};
  }

  double reduceSeconds() const {
    return communication.tensorAllReduceSeconds() +
           communication.tensorWaitSeconds();
  }

  const TrainingRun &run;
  const Machine &machine;
  const Constants &constants;
  Communication communication;
  bool recompute;
};

} // namespace

IterationTime predictIteration(const TrainingRun &run,
                               const Calibration &calibration) {
  return Model(run, calibration).predict();
}

} // namespace hethub::predictor

// A machine and a run with round figures.
#ifndef HETHUB_UNITTESTS_PREDICTOR_EXAMPLES_H
#define HETHUB_UNITTESTS_PREDICTOR_EXAMPLES_H

#include "hethub/Predictor/Iteration.h"

namespace hethub::predictor::test {

/// No all-reduce table: bandwidths decide.
inline Calibration exampleCalibration() {
  Calibration calibration;
  Machine &machine = calibration.machine;
  machine.peakFlops = 100e12;
  machine.memoryBytes = 80e9;
  machine.acceleratorsPerNode = 8;
  machine.nodeBandwidth = 100e9;
  machine.networkBandwidth = 50e9;
  machine.vocabulary = 50304; // a multiple of 8
  return calibration;
}

inline TrainingRun exampleRun(int tensor = 1, int data = 1, int pipeline = 1) {
  TrainingRun run;
  run.id = "run";
  run.tensorParallel = tensor;
  run.dataParallel = data;
  run.pipelineParallel = pipeline;
  run.gpus = tensor * data * pipeline;
  run.globalBatch = 64;
  run.microBatch = 4;
  run.hidden = 2048;
  run.heads = 16;
  run.layers = 24;
  run.sequence = 1024;
  return run;
}

inline double seconds(const TrainingRun &run, const Calibration &calibration) {
  return predictIteration(run, calibration).seconds;
}

} // namespace hethub::predictor::test

#endif

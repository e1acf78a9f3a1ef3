// Work and memory of a transformer layer, the output layer and the model.
#ifndef HETHUB_LIB_PREDICTOR_TRANSFORMER_H
#define HETHUB_LIB_PREDICTOR_TRANSFORMER_H

#include "hethub/Predictor/Calibration.h"
#include "hethub/Predictor/TrainingRun.h"

namespace hethub::predictor {

/// Of one rank, layer and microbatch, forward: 24 t h^2 + 4 t s h for t tokens
/// of sequences of s (Narayanan et al. 2021, appendix).
double layerFlops(const TrainingRun &run);

/// Of one rank, layer and microbatch, what is kept for backward in 2-byte
/// types: t h (10 + 24 / tp) + 5 t s heads / tp bytes (Korthikanti et al. 2022,
/// equation 2).
double layerActivationBytes(const TrainingRun &run);

/// Of one rank: layers of its stage and its slice of one embedding.
double stageParameters(const TrainingRun &run, const Machine &machine);

/// Columns of the output layer on one rank. Megatron-LM pads the vocabulary
/// to 128 x tp where it has to be split.
double vocabularySlice(const TrainingRun &run, const Machine &machine);

/// Whether activations are computed again. A run does so where the model does
/// not fit on one accelerator: weights, gradients and optimizer state (18 bytes
/// a parameter in mixed precision) with the activations of one sequence. Then
/// it is a setting of the model, whatever the parallelism.
bool recomputes(const TrainingRun &run, const Machine &machine);

} // namespace hethub::predictor

#endif

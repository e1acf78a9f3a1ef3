// Where ranks sit, and what their messages cost.
#ifndef HETHUB_LIB_PREDICTOR_COMMUNICATION_H
#define HETHUB_LIB_PREDICTOR_COMMUNICATION_H

#include "hethub/Predictor/Calibration.h"
#include "hethub/Predictor/TrainingRun.h"

#include <vector>

namespace hethub::predictor {

class Communication {
public:
  Communication(const TrainingRun &run, const Calibration &calibration)
      : run(run), machine(calibration.machine),
        constants(calibration.constants) {}

  /// Of the activations of a microbatch over the tensor-parallel ranks.
  double tensorAllReduceSeconds() const;

  /// Before it, for the slowest of those ranks.
  double tensorWaitSeconds() const;

  /// Of `bytes` of gradients of a rank over the data-parallel ranks.
  double dataAllReduceSeconds(double bytes) const;

  /// Of `bytes` between the ranks of the first and of the last stage that hold
  /// the same slice of a tied embedding.
  double embeddingAllReduceSeconds(double bytes) const;

  /// For each boundary between stages, of the activations of one microbatch
  /// (or of their gradients). Each tensor-parallel rank sends its slice
  /// (Megatron-LM's scatter-gather: Narayanan et al. 2021, section 4.1).
  std::vector<double> hopSeconds() const;

private:
  double activationBytes() const {
    return machine.valueBytes * run.tokens() * run.hidden;
  }
  /// Bandwidth of a node's network for each of `senders` that use it at once.
  double networkShare(int senders) const {
    return machine.networkBandwidth * constants.networkEfficiency / senders;
  }
  double insideNode(int ranks, double bytes) const;
  /// Of `ranks` of which `perNode` share a node, while `groups` others of a
  /// node do the same.
  double allReduce(int ranks, int perNode, int groups, double bytes) const;
  /// The most ranks of one node that have their peer of `distance` ranks on,
  /// beginning with the ranks of `stage`, on another node.
  int sendersLeavingNode(int stage, int distance) const;

  const TrainingRun &run;
  const Machine &machine;
  const Constants &constants;
};

} // namespace hethub::predictor

#endif

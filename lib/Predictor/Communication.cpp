// All-reduces and messages between stages on nodes of several accelerators.
#include "Communication.h"

#include "hethub/Simulator/Pipeline.h"

#include <algorithm>

namespace hethub::predictor {

double Communication::insideNode(int ranks, double bytes) const {
  if (ranks <= 1)
    return 0;
  if (std::optional<double> measured = machine.allReduce.lookUp(ranks, bytes))
    return *measured;
  return simulator::allReduceSeconds(ranks, bytes, 0, machine.nodeBandwidth);
}

double Communication::allReduce(int ranks, int perNode, int groups,
                                double bytes) const {
  double inside = insideNode(std::min(ranks, perNode), bytes);
  if (ranks <= perNode)
    return inside;
  // A ring through all ranks leaves each node once. It is pipelined: its
  // slowest link sets the time.
  return std::max(inside, simulator::allReduceSeconds(ranks, bytes, 0,
                                                      networkShare(groups)));
}

double Communication::tensorAllReduceSeconds() const {
  return allReduce(run.tensorParallel, machine.acceleratorsPerNode, 1,
                   activationBytes());
}

double Communication::tensorWaitSeconds() const {
  // The slowest of n independent exponential delays of mean 1 has mean H_n.
  double slowest = 0;
  for (int rank = 2; rank <= run.tensorParallel; ++rank)
    slowest += 1.0 / rank;
  return constants.stragglerSeconds * slowest;
}

double Communication::dataAllReduceSeconds(double bytes) const {
  // Members of a group stand tensorParallel ranks apart; the groups of the
  // tensor-parallel ranks of a node share its network.
  int perNode = std::max(1, machine.acceleratorsPerNode / run.tensorParallel);
  int groups = std::min(run.tensorParallel, machine.acceleratorsPerNode);
  return allReduce(run.dataParallel, perNode, groups, bytes);
}

double Communication::embeddingAllReduceSeconds(double bytes) const {
  if (run.pipelineParallel == 1)
    return 0;
  int stageRanks = run.tensorParallel * run.dataParallel;
  int leaving = sendersLeavingNode(0, (run.pipelineParallel - 1) * stageRanks);
  if (leaving == 0)
    return insideNode(2, bytes);
  return simulator::allReduceSeconds(2, bytes, 0, networkShare(leaving));
}

std::vector<double> Communication::hopSeconds() const {
  int stageRanks = run.tensorParallel * run.dataParallel;
  double bytes = activationBytes() / run.tensorParallel;
  std::vector<double> seconds;
  for (int stage = 0; stage + 1 < run.pipelineParallel; ++stage) {
    int leaving = sendersLeavingNode(stage, stageRanks);
    seconds.push_back(
        bytes / (leaving == 0 ? machine.nodeBandwidth : networkShare(leaving)));
  }
  return seconds;
}

int Communication::sendersLeavingNode(int stage, int distance) const {
  int stageRanks = run.tensorParallel * run.dataParallel;
  int first = stage * stageRanks, most = 0, node = -1, count = 0;
  for (int rank = first; rank < first + stageRanks; ++rank) {
    int own = rank / machine.acceleratorsPerNode;
    if (own != node) {
      node = own;
      count = 0;
    }
    if ((rank + distance) / machine.acceleratorsPerNode != own)
      most = std::max(most, ++count);
  }
  return most;
}

} // namespace hethub::predictor

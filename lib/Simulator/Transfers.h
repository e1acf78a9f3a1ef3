// When messages travel: links and copy engines in simulated time.
#ifndef HETHUB_LIB_SIMULATOR_TRANSFERS_H
#define HETHUB_LIB_SIMULATOR_TRANSFERS_H

#include "Ranks.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <tuple>

namespace hethub::simulator {

struct Transfer {
  double begin = 0;   ///< Of the copy to host memory, or on the link.
  double taken = 0;   ///< The link is occupied from here
  double free = 0;    ///< to here.
  double arrival = 0; ///< At the receiver, ready for use.
};

/// Messages must come in the order in which they are issued.
class Transfers {
public:
  explicit Transfers(const Pipeline &pipeline)
      : pipeline(pipeline), ranks(pipeline), copyOutFree(ranks.count, 0),
        copyInFree(ranks.count, 0) {}

  /// Of a Send row whose value is there at `seconds`.
  Transfer send(const Row &row, double seconds) {
    const Channel &channel = pipeline.channels[row.channel];
    double ready = seconds;
    if (channel.copyOutSeconds > 0) {
      double &copy = copyOutFree[ranks.of(row.stage, row.replica)];
      ready = copy = std::max(seconds, copy) + channel.copyOutSeconds;
    }
    double &link = linkFree[linkOf(row, channel)];
    link = std::max(ready, link) + channel.transferSeconds;
    double arrival = link + channel.latencySeconds;
    if (channel.copyInSeconds > 0) {
      double &copy = copyInFree[ranks.of(row.peerStage, row.peerReplica)];
      arrival = copy = std::max(arrival, copy) + channel.copyInSeconds;
    }
    double taken = link - channel.transferSeconds;
    return {channel.copyOutSeconds > 0 ? seconds : taken, taken, link, arrival};
  }

private:
  /// The pair of replicas is part of the key unless they share the link.
  std::tuple<int, int, int> linkOf(const Row &row,
                                   const Channel &channel) const {
    int link = channel.link >= 0 ? channel.link : -2 - row.channel;
    if (channel.shared)
      return {link, -1, -1};
    return {link, row.replica, row.peerReplica};
  }

  const Pipeline &pipeline;
  Ranks ranks;
  std::vector<double> copyOutFree, copyInFree; ///< by rank
  llvm::DenseMap<std::tuple<int, int, int>, double> linkFree;
};

} // namespace hethub::simulator

#endif

// Which back end carries a channel between two ranks, and the sums of a group
// of ranks: follows from the device kinds of their stages.
#pragma once

#include "DeviceBackends.h"
#include "hethub/runtime/Stage.h"

#include <map>

namespace hethub::runtime {

class ChannelComms {
public:
  /// `host` carries CPU tensors between all ranks and must outlive this object.
  ChannelComms(const StageSpec &spec, Comm &host, at::Device device,
               Exchange exchange);

  Comm &of(const ChannelSpec &channel, int peerRank);

  /// For the sums over `ranks` (ascending, this rank among them), on this
  /// stage's device. All of them must ask, in the same order where they share
  /// several groups.
  Comm &groupOf(const std::vector<int> &ranks);

private:
  const StageSpec &spec_;
  Comm &host_;
  at::Device device_;
  Exchange exchange_;
  std::map<int64_t, std::unique_ptr<Comm>> staged_; ///< by bytes of a chunk
  std::map<std::string, std::unique_ptr<Comm>> edges_;
  std::map<std::vector<int>, std::unique_ptr<Comm>> hostGroups_, groups_;
};

/// Host: the host back end for two CPUs. Direct: the library of two devices of
/// one kind that has one, unless the plan found the way through host memory to
/// be faster. Else staged.
enum class Route { Host, Direct, Staged };
Route routeOf(const std::string &fromKind, const std::string &toKind,
              bool viaHost = false, int64_t chunkBytes = 0);

} // namespace hethub::runtime

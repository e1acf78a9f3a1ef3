// Which back end carries a channel between two ranks: follows from the device
// kinds of its ends.
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

private:
  const StageSpec &spec_;
  Comm &host_;
  at::Device device_;
  Exchange exchange_;
  std::unique_ptr<Comm> staged_;
  std::map<std::string, std::unique_ptr<Comm>> edges_;
};

/// "gloo" for two CPUs, "direct" for two devices of one kind that has a library
/// of its own, else "host-staged".
enum class Route { Host, Direct, Staged };
Route routeOf(const std::string &fromKind, const std::string &toKind);

} // namespace hethub::runtime

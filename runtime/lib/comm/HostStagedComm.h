// See HostStagedComm.cpp.
#pragma once

#include "DeviceCopies.h"
#include "hethub/runtime/Comm.h"

namespace hethub::runtime {

/// Pieces of messages where the plan does not say how large they are: a copy of
/// one takes about as long as what starts it, over PCIe and most networks.
constexpr int64_t defaultChunkBytes = 1 << 20;

/// Sends tensors of `device` through `host`, which carries CPU tensors and must
/// outlive the result, in chunks of `chunkBytes`, the same at both ends.
/// `copies`: between device and host, null for the device's own. A CPU copies
/// nothing; it is the other end of a device's messages.
std::unique_ptr<Comm>
makeHostStagedComm(Comm &host, at::Device device,
                   int64_t chunkBytes = defaultChunkBytes,
                   std::unique_ptr<DeviceCopies> copies = nullptr);

} // namespace hethub::runtime

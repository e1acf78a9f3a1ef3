// Device tensors over a back end that carries host tensors.
#pragma once

#include "hethub/runtime/Comm.h"

namespace hethub::runtime {

/// `host` must outlive the result. `device` is where received tensors lie; on
/// the CPU the copies are still made, so that the path can be tested without an
/// accelerator.
std::unique_ptr<Comm> makeHostStagedComm(Comm &host, at::Device device);

} // namespace hethub::runtime

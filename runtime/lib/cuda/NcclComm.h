// One directed edge between two CUDA devices over NCCL's own C API (c10d's NCCL
// class follows NCCL's version; the C interface is stable).
#pragma once

#include "comm/DeviceBackends.h"

namespace hethub::runtime {

std::unique_ptr<Comm> makeNcclEdge(at::Device device, const Exchange &exchange,
                                   const std::string &edge, int side);

} // namespace hethub::runtime

// Some CUDA devices over NCCL's own C API (c10d's NCCL class follows NCCL's
// version; the C interface is stable): two for a directed edge, more for sums.
#pragma once

#include "comm/DeviceBackends.h"

namespace hethub::runtime {

std::unique_ptr<Comm> makeNcclGroup(at::Device device, const Exchange &exchange,
                                    const std::string &name, int rank,
                                    int size);

} // namespace hethub::runtime

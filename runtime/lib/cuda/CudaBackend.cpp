// Devices of kind cuda: which one a rank has, and the edges between them.
#include "NcclComm.h"
#include "comm/DeviceBackends.h"
#include "hethub/runtime/Error.h"

#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

using namespace hethub::runtime;

namespace {
at::Device cudaDevice(int localRank) {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    fail("the stage needs a GPU and this machine has none: ",
         status == cudaSuccess ? "no CUDA device" : cudaGetErrorString(status));
  auto index = static_cast<c10::DeviceIndex>(localRank % count);
  c10::cuda::set_device(index);
  return {at::kCUDA, index};
}

const bool registered = registerDeviceBackend({
    "cuda",
    cudaDevice,
    makeNcclGroup,
    [](at::Device) { c10::cuda::device_synchronize(); },
});
} // namespace

// Copies between a device and host memory that run beside everything else.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace hethub::runtime {

class DeviceCopies {
public:
  virtual ~DeviceCopies() = default;

  /// Starts to copy, behind what the calling thread has computed and behind
  /// earlier copies. The result waits for the end, on whatever thread; until
  /// then both tensors must live.
  virtual std::function<void()> toHost(at::Tensor host,
                                       const at::Tensor &value) = 0;
  /// Starts to copy, ahead of what the calling thread computes from now on.
  virtual void toDevice(at::Tensor value, const at::Tensor &host) = 0;
};

/// On a stream of their own, of any kind of device that LibTorch has streams
/// for.
std::unique_ptr<DeviceCopies> makeStreamCopies(at::Device device);

} // namespace hethub::runtime

// Streams and events through LibTorch's interface for all kinds of devices.
#include "DeviceCopies.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

using namespace hethub::runtime;

namespace {
class StreamCopies : public DeviceCopies {
public:
  explicit StreamCopies(at::Device device)
      : device_(device), streams_(device.type()),
        stream_(streams_.getStreamFromGlobalPool(device,
                                                 /*isHighPriority=*/true)) {}

  std::function<void()> toHost(at::Tensor host,
                               const at::Tensor &value) override {
    c10::Event computed(device_.type());
    computed.record(streams_.getStream(device_));
    computed.block(stream_);
    {
      c10::StreamGuard guard(stream_);
      host.copy_(value, /*non_blocking=*/true);
    }
    auto copied = std::make_shared<c10::Event>(device_.type());
    copied->record(stream_);
    return [copied] { copied->synchronize(); };
  }
  void toDevice(at::Tensor value, const at::Tensor &host) override {
    value.copy_(host, /*non_blocking=*/true);
  }

private:
  at::Device device_;
  c10::impl::VirtualGuardImpl streams_;
  c10::Stream stream_;
};
} // namespace

std::unique_ptr<DeviceCopies>
hethub::runtime::makeStreamCopies(at::Device device) {
  return std::make_unique<StreamCopies>(device);
}

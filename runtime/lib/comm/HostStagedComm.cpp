// device -> pinned host -> inner back end -> pinned host -> device. Joins
// vendors that share no library.
#include "HostStagedComm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

using namespace hethub::runtime;

namespace {
/// Waits for the inner operation, then copies what came to the device.
class StagedReceive : public Work {
public:
  StagedReceive(WorkPtr inner, at::Tensor host, at::Tensor target)
      : inner_(std::move(inner)), host_(std::move(host)),
        target_(std::move(target)) {}
  void wait() override {
    inner_->wait();
    target_.copy_(host_);
  }

private:
  WorkPtr inner_;
  at::Tensor host_, target_;
};

/// Keeps the host copy alive until the message has left.
class StagedSend : public Work {
public:
  StagedSend(WorkPtr inner, at::Tensor host)
      : inner_(std::move(inner)), host_(std::move(host)) {}
  void wait() override { inner_->wait(); }
  bool isDone() override { return inner_->isDone(); }

private:
  WorkPtr inner_;
  at::Tensor host_;
};

class HostStagedComm : public Comm {
public:
  HostStagedComm(Comm &host, at::Device device)
      : host_(host), device_(device) {}

  std::string name() const override { return "host-staged " + host_.name(); }
  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  void connect(std::span<const int> peers) override { host_.connect(peers); }
  bool receivesAhead() const override { return host_.receivesAhead(); }

  WorkPtr send(const at::Tensor &tensor, int peer, int tag) override {
    at::Tensor copy = toHost(tensor);
    return std::make_unique<StagedSend>(host_.send(copy, peer, tag), copy);
  }
  WorkPtr receive(at::Tensor &tensor, int peer, int tag) override {
    at::Tensor copy = hostBuffer(tensor);
    WorkPtr inner = host_.receive(copy, peer, tag);
    return std::make_unique<StagedReceive>(std::move(inner), copy, tensor);
  }
  WorkPtr allReduceSum(at::Tensor &tensor) override {
    at::Tensor copy = toHost(tensor);
    WorkPtr inner = host_.allReduceSum(copy);
    return std::make_unique<StagedReceive>(std::move(inner), copy, tensor);
  }
  WorkPtr broadcast(at::Tensor &tensor, int root) override {
    at::Tensor copy = toHost(tensor);
    WorkPtr inner = host_.broadcast(copy, root);
    return std::make_unique<StagedReceive>(std::move(inner), copy, tensor);
  }
  void barrier() override { host_.barrier(); }
  void groupBegin() override { host_.groupBegin(); }
  void groupEnd() override { host_.groupEnd(); }
  void abort(const std::string &reason) override { host_.abort(reason); }

  at::Tensor toHost(const at::Tensor &tensor) override {
    at::Tensor copy = hostBuffer(tensor);
    copy.copy_(tensor);
    return copy;
  }
  at::Tensor fromHost(const at::Tensor &tensor) override {
    return tensor.to(device_);
  }

private:
  at::Tensor hostBuffer(const at::Tensor &like) const {
    // Pinned memory is what a device copies from without a copy in between; it
    // exists only where a device does.
    return at::empty(like.sizes(),
                     at::TensorOptions()
                         .dtype(like.scalar_type())
                         .pinned_memory(device_.type() != at::kCPU));
  }

  Comm &host_;
  at::Device device_;
};
} // namespace

std::unique_ptr<Comm> hethub::runtime::makeHostStagedComm(Comm &host,
                                                          at::Device device) {
  return std::make_unique<HostStagedComm>(host, device);
}

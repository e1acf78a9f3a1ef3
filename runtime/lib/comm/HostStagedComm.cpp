// device -> pinned host -> inner back end -> pinned host -> device. Joins
// vendors that share no library. Messages go in chunks: while one is copied at
// the sender another is on the network, and a third is copied at the receiver.
#include "HostStagedComm.h"
#include "ChunkSender.h"

#include <ATen/ops/empty.h>

#include <algorithm>

using namespace hethub::runtime;

namespace {
/// Pieces of a contiguous tensor, in order; it alone where one will do.
std::vector<at::Tensor> chunksOf(const at::Tensor &tensor, int64_t chunkBytes) {
  int64_t length = std::max<int64_t>(
      1, chunkBytes / static_cast<int64_t>(tensor.element_size()));
  if (tensor.numel() <= length)
    return {tensor};
  std::vector<at::Tensor> chunks;
  at::Tensor flat = tensor.view({-1});
  for (int64_t begin = 0; begin < flat.numel(); begin += length)
    chunks.push_back(
        flat.narrow(0, begin, std::min(length, flat.numel() - begin)));
  return chunks;
}

/// Chunks that need no copies.
class ChunkedWork : public Work {
public:
  void add(WorkPtr work) { works_.push_back(std::move(work)); }
  void wait() override {
    for (const WorkPtr &work : works_)
      work->wait();
  }
  bool isDone() override {
    // All are asked: asking has them watched.
    bool done = true;
    for (const WorkPtr &work : works_)
      done &= work->isDone();
    return done;
  }

private:
  std::vector<WorkPtr> works_;
};

/// Chunks go to the device as they come.
class ChunkedReceive : public Work {
public:
  ChunkedReceive(DeviceCopies &copies, at::Tensor target)
      : copies_(copies), target_(std::move(target)) {}
  void add(WorkPtr inner, at::Tensor host, at::Tensor piece) {
    parts_.push_back({std::move(inner), std::move(host), std::move(piece)});
  }
  void wait() override {
    for (Part &part : parts_) {
      part.inner->wait();
      copies_.toDevice(part.piece, part.host);
    }
  }

private:
  struct Part {
    WorkPtr inner;
    at::Tensor host, piece;
  };
  DeviceCopies &copies_;
  at::Tensor target_;
  std::vector<Part> parts_;
};

/// Waits for a collective, then copies its result to the device.
class CopyBack : public Work {
public:
  CopyBack(WorkPtr inner, at::Tensor host, at::Tensor target)
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

class HostStagedComm : public Comm {
public:
  HostStagedComm(Comm &host, at::Device device, int64_t chunkBytes,
                 std::unique_ptr<DeviceCopies> copies)
      : host_(host), device_(device), chunkBytes_(chunkBytes),
        copies_(std::move(copies)), sender_(host) {}

  std::string name() const override { return "host-staged " + host_.name(); }
  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  void connect(std::span<const int> peers) override { host_.connect(peers); }
  bool receivesAhead() const override { return host_.receivesAhead(); }

  WorkPtr send(const at::Tensor &tensor, int peer, int tag) override {
    at::Tensor value = tensor.contiguous();
    if (!isCopied(value)) {
      auto work = std::make_unique<ChunkedWork>();
      for (const at::Tensor &chunk : chunksOf(value, chunkBytes_))
        work->add(host_.send(chunk, peer, tag));
      return work;
    }
    at::Tensor host = hostBuffer(value);
    std::vector<at::Tensor> from = chunksOf(value, chunkBytes_),
                            to = chunksOf(host, chunkBytes_);
    std::vector<CopiedChunk> chunks;
    for (size_t i = 0; i < from.size(); ++i)
      chunks.push_back({to[i], copies_->toHost(to[i], from[i])});
    return sender_.send(value, std::move(chunks), peer, tag);
  }
  WorkPtr receive(at::Tensor &tensor, int peer, int tag) override {
    std::vector<at::Tensor> pieces = chunksOf(tensor, chunkBytes_);
    if (!isCopied(tensor)) {
      auto work = std::make_unique<ChunkedWork>();
      for (at::Tensor &piece : pieces)
        work->add(host_.receive(piece, peer, tag));
      return work;
    }
    auto work = std::make_unique<ChunkedReceive>(*copies_, tensor);
    std::vector<at::Tensor> chunks = chunksOf(hostBuffer(tensor), chunkBytes_);
    for (size_t i = 0; i < chunks.size(); ++i) {
      WorkPtr inner = host_.receive(chunks[i], peer, tag);
      work->add(std::move(inner), chunks[i], pieces[i]);
    }
    return work;
  }
  // Gradients come in buckets, of which several are under way: whole ones.
  WorkPtr allReduceSum(at::Tensor &tensor) override {
    at::Tensor copy = toHost(tensor);
    WorkPtr inner = host_.allReduceSum(copy);
    return std::make_unique<CopyBack>(std::move(inner), copy, tensor);
  }
  WorkPtr broadcast(at::Tensor &tensor, int root) override {
    at::Tensor copy = toHost(tensor);
    WorkPtr inner = host_.broadcast(copy, root);
    return std::make_unique<CopyBack>(std::move(inner), copy, tensor);
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
  /// Headers of messages are on the host already, and all that a CPU sends.
  bool isCopied(const at::Tensor &tensor) const {
    return copies_ && tensor.device() == device_;
  }
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
  int64_t chunkBytes_;
  std::unique_ptr<DeviceCopies> copies_; ///< null: on the host already
  ChunkSender sender_;
};
} // namespace

std::unique_ptr<Comm>
hethub::runtime::makeHostStagedComm(Comm &host, at::Device device,
                                    int64_t chunkBytes,
                                    std::unique_ptr<DeviceCopies> copies) {
  if (!copies && device.type() != at::kCPU)
    copies = makeStreamCopies(device);
  return std::make_unique<HostStagedComm>(host, device, chunkBytes,
                                          std::move(copies));
}

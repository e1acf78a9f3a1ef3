// A communicator with a stream of its own. Order on the compute
// stream is kept by events, so that a send starts when its tensor is computed
// and a compute starts when its input has come, without stopping the host.
#include "NcclComm.h"
#include "hethub/runtime/Error.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <cstring>

using namespace hethub::runtime;

namespace {
void check(ncclResult_t result, const char *what) {
  if (result != ncclSuccess && result != ncclInProgress)
    fail("NCCL ", what, " failed: ", ncclGetErrorString(result));
}
void check(cudaError_t result, const char *what) {
  if (result != cudaSuccess)
    fail("CUDA ", what, " failed: ", cudaGetErrorString(result));
}

ncclDataType_t byteType() { return ncclUint8; }

ncclDataType_t typeOf(at::ScalarType dtype) {
  switch (dtype) {
  case at::kFloat:
    return ncclFloat32;
  case at::kDouble:
    return ncclFloat64;
  case at::kHalf:
    return ncclFloat16;
  case at::kBFloat16:
    return ncclBfloat16;
  case at::kInt:
    return ncclInt32;
  case at::kLong:
    return ncclInt64;
  case at::kByte:
    return ncclUint8;
  case at::kChar:
    return ncclInt8;
  default:
    fail("NCCL adds no tensors of dtype ", c10::toString(dtype));
  }
}

/// An event after the operation; waiting for it stops the compute stream, not
/// the host.
class NcclWork : public Work {
public:
  NcclWork(at::Tensor tensor, c10::cuda::CUDAStream stream)
      : tensor_(std::move(tensor)) {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event");
    check(cudaEventRecord(event_, stream.stream()), "event");
  }
  ~NcclWork() override { cudaEventDestroy(event_); }
  void wait() override {
    check(
        cudaStreamWaitEvent(
            c10::cuda::getCurrentCUDAStream(tensor_.device().index()).stream(),
            event_, 0),
        "wait");
  }
  bool isDone() override { return cudaEventQuery(event_) == cudaSuccess; }

private:
  at::Tensor tensor_;
  cudaEvent_t event_ = nullptr;
};

class NcclComm : public Comm {
public:
  NcclComm(at::Device device, const ncclUniqueId &id, int rank, int size)
      : rank_(rank), size_(size),
        stream_(c10::cuda::getStreamFromPool(
            /*isHighPriority=*/true, device.index())) {
    c10::cuda::CUDAGuard guard(device);
    int version = 0;
    check(ncclGetVersion(&version), "version query");
    if (version / 10000 != NCCL_VERSION_CODE / 10000)
      fail("NCCL of major version ", NCCL_VERSION_CODE / 10000,
           " is needed, got: ", version / 10000);
    check(ncclCommInitRank(&comm_, size, id, rank), "start");
  }
  ~NcclComm() override {
    if (comm_ && !aborted_)
      ncclCommDestroy(comm_);
  }

  std::string name() const override { return "nccl"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool receivesAhead() const override { return false; }

  // Only edges carry messages: the peer is the other end, and messages keep
  // their order, so that neither peer nor tag is needed.
  WorkPtr send(const at::Tensor &tensor, int, int) override {
    return issue(tensor, "send", [&] {
      return ncclSend(tensor.const_data_ptr(), tensor.nbytes(), byteType(),
                      1 - rank_, comm_, stream_.stream());
    });
  }
  WorkPtr receive(at::Tensor &tensor, int, int) override {
    return issue(tensor, "receive", [&] {
      return ncclRecv(tensor.mutable_data_ptr(), tensor.nbytes(), byteType(),
                      1 - rank_, comm_, stream_.stream());
    });
  }
  WorkPtr allReduceSum(at::Tensor &tensor) override {
    return issue(tensor, "all-reduce", [&] {
      return ncclAllReduce(tensor.const_data_ptr(), tensor.mutable_data_ptr(),
                           static_cast<size_t>(tensor.numel()),
                           typeOf(tensor.scalar_type()), ncclSum, comm_,
                           stream_.stream());
    });
  }
  WorkPtr broadcast(at::Tensor &tensor, int root) override {
    return issue(tensor, "broadcast", [&] {
      return ncclBroadcast(tensor.const_data_ptr(), tensor.mutable_data_ptr(),
                           tensor.nbytes(), byteType(), root, comm_,
                           stream_.stream());
    });
  }
  void barrier() override {
    check(cudaStreamSynchronize(stream_.stream()), "synchronisation");
  }
  void groupBegin() override { check(ncclGroupStart(), "group start"); }
  void groupEnd() override { check(ncclGroupEnd(), "group end"); }
  at::Tensor toHost(const at::Tensor &tensor) override { return tensor.cpu(); }
  at::Tensor fromHost(const at::Tensor &tensor) override {
    return tensor.to(stream_.device());
  }
  void abort(const std::string &) override {
    if (!aborted_.exchange(true))
      ncclCommAbort(comm_);
  }

private:
  template <typename Operation>
  WorkPtr issue(const at::Tensor &tensor, const char *what,
                Operation operation) {
    c10::cuda::CUDAGuard guard(tensor.device());
    // The operation may start when the compute stream has come to this point.
    cudaEvent_t ready;
    check(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), "event");
    check(
        cudaEventRecord(
            ready,
            c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream()),
        "event");
    check(cudaStreamWaitEvent(stream_.stream(), ready, 0), "wait");
    check(cudaEventDestroy(ready), "event");
    // The allocator must not hand the memory on while this stream uses it.
    c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(),
                                                  stream_);
    check(operation(), what);
    return std::make_unique<NcclWork>(tensor, stream_);
  }

  int rank_, size_;
  c10::cuda::CUDAStream stream_;
  ncclComm_t comm_ = nullptr;
  std::atomic<bool> aborted_{false};
};
} // namespace

std::unique_ptr<Comm> hethub::runtime::makeNcclGroup(at::Device device,
                                                     const Exchange &exchange,
                                                     const std::string &name,
                                                     int rank, int size) {
  ncclUniqueId id;
  std::string key = "nccl/" + name;
  if (rank == 0) {
    check(ncclGetUniqueId(&id), "identifier");
    exchange.set(key, std::string(id.internal, sizeof(id.internal)));
  } else {
    std::string text = exchange.get(key);
    if (text.size() != sizeof(id.internal))
      fail("NCCL identifier of ", name, " is damaged");
    std::memcpy(id.internal, text.data(), text.size());
  }
  return std::make_unique<NcclComm>(device, id, rank, size);
}

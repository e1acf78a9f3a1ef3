// Communication between the ranks of a plan. Emitted programs and the executor
// see only this interface; which back end carries a channel follows from the
// device kinds of its two ends (ChannelComms).
//
//   gloo         CPU tensors over TCP, through c10d
//   loop-back    ranks are threads of one process (tests, hh-run --loopback)
//   host-staged  device -> host -> gloo -> host -> device: joins vendors that
//   share no library nccl         CUDA tensors, NCCL's own C API
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hethub::runtime {

/// An operation under way. The tensor that it reads or fills is kept alive by
/// it.
class Work {
public:
  virtual ~Work() = default;
  /// Returns when the tensor is filled (receive) or may be changed (send).
  /// Throws Error after the timeout, when the peer is gone, or after abort().
  virtual void wait() = 0;
  /// Whether wait() would return at once. Of sends only; may be false a little
  /// too long.
  virtual bool isDone() { return false; }
};
using WorkPtr = std::unique_ptr<Work>;

class Comm {
public:
  virtual ~Comm() = default;

  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Opens the connections to `peers` now, so that nothing is opened lazily,
  /// and possibly in a circle, later.
  virtual void connect(std::span<const int> peers) {}

  /// Messages of one (sender, receiver, tag) arrive in order. Sends may need
  /// the receive to be posted before they finish: post all receives before
  /// waiting for a send. Lengths must be equal on both sides; the caller
  /// ensures it.
  virtual WorkPtr send(const at::Tensor &tensor, int peer, int tag) = 0;
  virtual WorkPtr receive(at::Tensor &tensor, int peer, int tag) = 0;
  /// Whether a receive may be posted long before its message is sent without
  /// holding up later operations.
  virtual bool receivesAhead() const { return true; }

  /// A communicator for the collectives of `ranks` alone: in ascending order,
  /// this rank among them. All of them must call it, and in the same order
  /// where they share several groups.
  virtual std::unique_ptr<Comm> group(const std::vector<int> &ranks);

  /// The same bits on all ranks, and in every run. All ranks start the sums of
  /// one communicator in the same order, and wait for them in that order.
  virtual WorkPtr allReduceSum(at::Tensor &tensor) = 0;
  virtual WorkPtr broadcast(at::Tensor &tensor, int root) = 0;
  virtual void barrier() = 0;

  /// Operations between the two are issued as one (NCCL needs it for opposite
  /// sends and receives).
  virtual void groupBegin() {}
  virtual void groupEnd() {}

  /// Copies between the device of this back end's tensors and the host.
  virtual at::Tensor toHost(const at::Tensor &tensor) { return tensor; }
  virtual at::Tensor fromHost(const at::Tensor &tensor) { return tensor; }

  /// Makes all waits of this process return with an error.
  virtual void abort(const std::string &reason) = 0;
};

} // namespace hethub::runtime

// A pipeline that does little but send: what the runtime and its messages cost,
// alone and beside computes.
#include "Programs.h"
#include "hethub/runtime/Trace.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

using namespace hethub::runtime;

namespace {
/// Work that lasts about `seconds` where nothing disturbs it: always the same
/// number of products.
std::function<void()> workOf(double seconds) {
  if (seconds <= 0)
    return [] {};
  constexpr int64_t width = 192;
  at::Tensor a = at::ones({width, width}), b = at::ones({width, width});
  double best = 1;
  for (int trial = 0; trial < 20; ++trial) {
    auto begin = Clock::now();
    at::Tensor product = at::mm(a, b);
    best = std::min(best, secondsBetween(begin, Clock::now()));
  }
  int count = std::max(1, static_cast<int>(seconds / best));
  return [a, b, count] {
    for (int i = 0; i < count; ++i)
      at::Tensor product = at::mm(a, b);
  };
}
} // namespace

PreparedStage hethub::runtime::probeStage(int rank, int64_t bytes,
                                          double workS) {
  ChannelSpec channel{0, "probe", 0, 1, at::kByte, {bytes}};
  PreparedStage prepared;
  StageSpec &spec = prepared.spec;
  spec.model = "probe of " + std::to_string(bytes) + " bytes";
  spec.planHash = spec.model;
  spec.stages = {{"cpu", "cpu"}, {"cpu", "cpu"}};
  spec.stage = rank;
  spec.channels = {channel};
  PortSpec port{"probe", channel.dtype, channel.shape, channel.id};
  if (rank == 0) {
    spec.outputs = {port};
    spec.rows = {{Action::Forward}, {Action::Send, channel.id}};
  } else {
    spec.inputs = {port};
    spec.rows = {{Action::Receive, channel.id}, {Action::Forward}};
  }
  prepared.load = [bytes, workS, rank](WeightsFile &) -> Functions {
    // One value again and again.
    at::Tensor value = at::zeros({bytes}, at::TensorOptions().dtype(at::kByte));
    return {[value, rank, work = workOf(workS)](Tensors) {
      work();
      return rank == 0 ? Tensors{value} : Tensors{};
    }};
  };
  return prepared;
}

// A pipeline that does little but send: what the runtime and its messages cost,
// alone and beside computes, by whatever way two kinds of devices have.
#include "Programs.h"
#include "hethub/runtime/Trace.h"
#include "run/RunRank.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

using namespace hethub::runtime;

namespace {
/// Returns when the device has done all that it was given.
std::function<void()> synchronisation(at::Device device) {
  if (device.is_cpu())
    return [] {};
  // The kinds of the plan are called as LibTorch calls them.
  std::string kind = c10::DeviceTypeName(device.type(), /*lower_case=*/true);
  return [device, kind] { deviceBackend(kind).synchronize(device); };
}

/// Work that lasts about `seconds` where nothing disturbs it: always the same
/// number of products.
std::function<void()> workOf(double seconds, at::Device device) {
  std::function<void()> synchronise = synchronisation(device);
  if (seconds <= 0)
    return synchronise;
  constexpr int64_t width = 192;
  at::Tensor a = at::ones({width, width}, device),
             b = at::ones({width, width}, device);
  double best = 1;
  for (int trial = 0; trial < 20; ++trial) {
    auto begin = Clock::now();
    at::Tensor product = at::mm(a, b);
    synchronise();
    best = std::min(best, secondsBetween(begin, Clock::now()));
  }
  int count = std::max(1, static_cast<int>(seconds / best));
  return [a, b, count, synchronise] {
    for (int i = 0; i < count; ++i)
      at::Tensor product = at::mm(a, b);
    synchronise();
  };
}
} // namespace

PreparedStage hethub::runtime::probeStage(int rank,
                                          const ProbeOptions &options) {
  ChannelSpec channel{0, "probe", 0, 1, at::kByte, {options.bytes}};
  channel.viaHost = options.viaHost;
  channel.chunkBytes = options.chunkBytes;
  PreparedStage prepared;
  StageSpec &spec = prepared.spec;
  spec.model = "probe of " + std::to_string(options.bytes) + " bytes";
  spec.planHash = spec.model;
  for (const std::string &kind : options.kinds)
    spec.stages.push_back({kind, kind});
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
  prepared.load = [options, spec, rank](WeightsFile &) -> Functions {
    at::Device device = deviceOfRank(spec, rank);
    // One value again and again.
    at::Tensor value = at::zeros(
        {options.bytes}, at::TensorOptions().dtype(at::kByte).device(device));
    return {[value, rank, work = workOf(options.workS, device)](Tensors) {
      work();
      return rank == 0 ? Tensors{value} : Tensors{};
    }};
  };
  return prepared;
}

// A pipeline that does nothing but send: what the runtime and its messages
// cost.
#include "Programs.h"

#include <ATen/ops/zeros.h>

using namespace hethub::runtime;

PreparedStage hethub::runtime::probeStage(int rank, int64_t bytes) {
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
    prepared.load = [bytes](WeightsFile &) -> Forward {
      // One value again and again: nothing is computed.
      at::Tensor value =
          at::zeros({bytes}, at::TensorOptions().dtype(at::kByte));
      return [value](Tensors) { return Tensors{value}; };
    };
  } else {
    spec.inputs = {port};
    spec.rows = {{Action::Receive, channel.id}, {Action::Forward}};
    prepared.load = [](WeightsFile &) -> Forward {
      return [](Tensors) { return Tensors{}; };
    };
  }
  return prepared;
}

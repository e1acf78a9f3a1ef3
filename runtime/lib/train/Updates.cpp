#include "Updates.h"

#include <ATen/ops/cat.h>

using namespace hethub::runtime;

Updates::Updates(const StageSpec &spec, WeightsFile &weights,
                 const Gradients::GroupOf &groupOf)
    : spec_(spec) {
  for (const PortSpec &port : spec.outputs)
    if (!port.updateOf.empty()) {
      at::Tensor value = weights.get(port.updateOf, port.dtype, port.shape);
      parameters_.emplace_back(port.updateOf, value);
      byName_[port.updateOf] = value;
    }
  std::vector<int> ranks = ranksOf(spec, {spec.stage});
  if (!parameters_.empty() && ranks.size() > 1)
    group_ = &groupOf(ranks);
}

void Updates::take(const Tensors &outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!spec_.outputs[i].updateOf.empty())
      byName_.at(spec_.outputs[i].updateOf).copy_(outputs[i]);
}

void Updates::average() {
  if (!group_)
    return;
  // One sum for all of a type: these tensors are small.
  std::map<at::ScalarType, std::vector<at::Tensor>> byType;
  for (const auto &[name, value] : parameters_)
    if (at::isFloatingType(value.scalar_type()))
      byType[value.scalar_type()].push_back(value);
  for (const auto &[type, values] : byType) {
    std::vector<at::Tensor> flats;
    for (const at::Tensor &value : values)
      flats.push_back(value.reshape(-1));
    at::Tensor flat = at::cat(flats);
    group_->allReduceSum(flat)->wait();
    flat.div_(group_->size());
    int64_t begin = 0;
    for (const at::Tensor &value : values) {
      value.copy_(flat.narrow(0, begin, value.numel()).view(value.sizes()));
      begin += value.numel();
    }
  }
}

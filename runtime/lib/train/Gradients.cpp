// A parameter on one rank only takes over its first gradient as the buffer of
// the sum. Others lie side by side in buckets, so that few large sums go over
// the network instead of many small ones.
#include "Gradients.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "schedule/Compute.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <tuple>

using namespace hethub::runtime;

namespace {
// Below this, latency decides; above, nothing is gained (as in PyTorch's
// DistributedDataParallel).
constexpr int64_t bucketBytes = 25 << 20;

/// Whether nobody else sees the memory of a tensor, so that it may be changed.
bool isSoleOwner(const at::Tensor &tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1 &&
         tensor.is_contiguous();
}
} // namespace

std::vector<int> hethub::runtime::ranksOf(const StageSpec &spec,
                                          const std::vector<int> &stages) {
  std::vector<int> ranks;
  for (int stage : stages)
    for (int i = 0; i < spec.stages[static_cast<size_t>(stage)].replicas; ++i)
      ranks.push_back(rankOf(spec, stage, i));
  return ranks;
}

Gradients::Gradients(const StageSpec &spec, int rank,
                     const std::vector<Step> &steps,
                     std::vector<at::ScalarType> types, at::Device device,
                     const GroupOf &groupOf)
    : spec_(spec), place_(placeOf(spec, rank)) {
  for (size_t i = 0; i < spec.trained.size(); ++i) {
    positions_[spec.trained[i].name] = i;
    buffers_.push_back({types[i], {}, {}});
  }
  for (const Step &step : steps)
    if (FunctionPorts function = portsOf(spec, step.action))
      for (const PortSpec &port : *function.outputs)
        if (!port.gradientOf.empty())
          ++buffers_[positions_.at(port.gradientOf)].rows;
  for (Buffer &buffer : buffers_)
    buffer.left = buffer.rows;
  makeGroups(groupOf, device);
}

void Gradients::makeGroups(const GroupOf &groupOf, at::Device device) {
  // Every rank has its groups, and each group its buckets, in the same order:
  // by ranks, then by type, then from the last parameter of the program to the
  // first, as backward comes to them, and by name where programs differ.
  std::vector<
      std::tuple<std::vector<int>, at::ScalarType, int64_t, std::string>>
      sorted;
  for (size_t i = 0; i < spec_.trained.size(); ++i) {
    const TrainedSpec &parameter = spec_.trained[i];
    std::vector<int> ranks = ranksOf(spec_, parameter.stages);
    int64_t order = parameter.stages.size() > 1 ? 0 : -static_cast<int64_t>(i);
    if (ranks.size() > 1)
      sorted.emplace_back(std::move(ranks), buffers_[i].type, order,
                          parameter.name);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto &[ranks, type, order, name] : sorted) {
    size_t position = positions_.at(name);
    if (groups_.empty() || groups_.back().ranks != ranks) {
      groups_.push_back({ranks, &groupOf(ranks), {}});
    }
    std::vector<Bucket> &buckets = groups_.back().buckets;
    auto bytesOf = [&](size_t parameter) {
      return byteCount(buffers_[parameter].type,
                       spec_.trained[parameter].shape);
    };
    int64_t bytes = bytesOf(position);
    if (!buckets.empty())
      for (size_t other : buckets.back().parameters)
        bytes += bytesOf(other);
    if (buckets.empty() || bytes > bucketBytes ||
        buffers_[buckets.back().parameters[0]].type != type)
      buckets.emplace_back();
    buckets.back().parameters.push_back(position);
  }
  for (Group &group : groups_)
    for (Bucket &bucket : group.buckets) {
      auto elementsOf = [&](size_t parameter) {
        return byteCount(at::kByte, spec_.trained[parameter].shape);
      };
      int64_t elements = 0, begin = 0;
      for (size_t parameter : bucket.parameters)
        elements += elementsOf(parameter);
      bucket.flat =
          at::empty({elements}, at::TensorOptions()
                                    .dtype(buffers_[bucket.parameters[0]].type)
                                    .device(device));
      for (size_t parameter : bucket.parameters) {
        buffers_[parameter].flat =
            bucket.flat.narrow(0, begin, elementsOf(parameter))
                .view(spec_.trained[parameter].shape);
        begin += elementsOf(parameter);
      }
    }
}

void Gradients::add(Buffer &buffer, at::Tensor gradient) {
  --buffer.left;
  if (buffer.sum.defined()) {
    buffer.sum.add_(gradient);
  } else if (buffer.flat.defined()) {
    buffer.flat.copy_(gradient);
    buffer.sum = buffer.flat;
  } else if (gradient.scalar_type() != buffer.type) {
    buffer.sum = gradient.to(buffer.type);
  } else {
    buffer.sum = isSoleOwner(gradient)
                     ? std::move(gradient)
                     : gradient.clone(at::MemoryFormat::Contiguous);
  }
}

void Gradients::take(Action action, Tensors &outputs) {
  FunctionPorts function = portsOf(spec_, action);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PortSpec &port = (*function.outputs)[i];
    if (!port.gradientOf.empty() && outputs[i].defined())
      add(buffers_[positions_.at(port.gradientOf)], std::move(outputs[i]));
  }
  startReady();
}

bool Gradients::wantsEarly(Action action) const {
  if (groups_.empty())
    return false;
  for (const PortSpec &port : *portsOf(spec_, action).outputs)
    if (!port.gradientOf.empty())
      return buffers_[positions_.at(port.gradientOf)].left == 1;
  return false;
}

void Gradients::takeEarly(Action action, size_t output, at::Tensor gradient) {
  const PortSpec &port = (*portsOf(spec_, action).outputs)[output];
  checkOutput(spec_, port, gradient);
  add(buffers_[positions_.at(port.gradientOf)], std::move(gradient));
  startReady();
}

void Gradients::startReady() {
  // In one order over all groups: a rank that stands in two of them never
  // starts the later one first.
  for (Group &group : groups_)
    for (; group.started < group.buckets.size(); ++group.started) {
      Bucket &bucket = group.buckets[group.started];
      for (size_t parameter : bucket.parameters) {
        Buffer &buffer = buffers_[parameter];
        if (buffer.left > 0)
          return;
        if (buffer.rows == 0)
          buffer.flat.zero_(); // fewer microbatches than replicas
      }
      bucket.work = group.comm->allReduceSum(bucket.flat);
    }
}

void Gradients::finish() {
  startReady();
  for (Group &group : groups_) {
    for (Bucket &bucket : group.buckets)
      if (bucket.work) {
        bucket.work->wait();
        bucket.work.reset();
        for (size_t parameter : bucket.parameters)
          buffers_[parameter].sum = buffers_[parameter].flat;
      }
    group.started = 0;
  }
}

std::vector<at::Tensor> Gradients::handOver() {
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Buffer &buffer = buffers_[i];
    if (!buffer.sum.defined())
      fail("parameter '", spec_.trained[i].name, "' of stage ", spec_.stage,
           " has got no gradient in this step");
    gradients.push_back(std::move(buffer.sum));
    buffer.left = buffer.rows;
  }
  return gradients;
}

bool Gradients::answersFor(const TrainedSpec &parameter) const {
  return parameter.stages[0] == place_.stage && place_.replica == 0;
}

double Gradients::squares(const std::vector<at::Tensor> &gradients) const {
  double sum = 0;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (answersFor(spec_.trained[i]) && gradients[i].numel() > 0) {
      double norm = at::linalg_vector_norm(gradients[i]).item<double>();
      sum += norm * norm;
    }
  return sum;
}

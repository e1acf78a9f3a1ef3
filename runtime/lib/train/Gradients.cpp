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
#include <limits>
#include <set>
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
  std::set<int> ranks;
  for (int stage : stages)
    for (int i = 0; i < spec.stages[static_cast<size_t>(stage)].replicas; ++i)
      ranks.insert(rankOf(spec, stage, i));
  return {ranks.begin(), ranks.end()};
}

std::vector<TrainedSpec> hethub::runtime::trainedOf(const RankStages &stages) {
  std::vector<TrainedSpec> trained;
  std::set<std::string> names;
  for (const StageSpec *stage : stages)
    for (const TrainedSpec &parameter : stage->trained)
      if (names.insert(parameter.name).second)
        trained.push_back(parameter);
  return trained;
}

Gradients::Gradients(RankStages stages, int rank,
                     const std::vector<Step> &steps,
                     const std::vector<at::ScalarType> &types,
                     at::Device device, const GroupOf &groupOf)
    : stages_(std::move(stages)), places_(placesOf(*stages_[0], rank)) {
  for (TrainedSpec &trained : trainedOf(stages_)) {
    positions_[trained.name] = parameters_.size();
    at::ScalarType type = types[parameters_.size()];
    parameters_.push_back({std::move(trained), type, {}, {}});
  }
  for (size_t place = 0; place < stages_.size(); ++place)
    for (const TrainedSpec &trained : stages_[place]->trained)
      parameters_[positions_.at(trained.name)].shares.push_back({place, {}});
  for (const Step &step : steps)
    if (FunctionPorts function = portsOf(*stages_[step.place], step.action))
      for (const PortSpec &port : *function.outputs)
        if (!port.gradientOf.empty())
          ++shareOf(step.place, port.gradientOf).rows;
  for (Parameter &parameter : parameters_)
    for (Share &share : parameter.shares)
      share.left = share.rows;
  makeGroups(groupOf, device);
}

Gradients::Share &Gradients::shareOf(size_t place,
                                     const std::string &parameter) {
  std::vector<Share> &shares = parameters_[positions_.at(parameter)].shares;
  return *std::find_if(shares.begin(), shares.end(), [&](const Share &share) {
    return share.place == place;
  });
}

const Gradients::Share &Gradients::shareOf(size_t place,
                                           const std::string &parameter) const {
  return const_cast<Gradients *>(this)->shareOf(place, parameter);
}

bool Gradients::Parameter::isReady() const {
  return std::all_of(shares.begin(), shares.end(),
                     [](const Share &share) { return share.left == 0; });
}

void Gradients::makeGroups(const GroupOf &groupOf, at::Device device) {
  // Every rank has its groups, and each group its buckets, in the same order:
  // by ranks, then by type, then stage by stage from the last parameter of the
  // program to the first, as backward comes to them. Those of several stages
  // come last, by name since programs differ.
  std::vector<
      std::tuple<std::vector<int>, at::ScalarType, int, int64_t, std::string>>
      sorted;
  for (const StageSpec *stage : stages_)
    for (size_t i = 0; i < stage->trained.size(); ++i) {
      const TrainedSpec &trained = stage->trained[i];
      std::vector<int> ranks = ranksOf(*stage, trained.stages);
      bool isShared = trained.stages.size() > 1;
      if (ranks.size() > 1)
        sorted.emplace_back(
            std::move(ranks), parameters_[positions_.at(trained.name)].type,
            isShared ? std::numeric_limits<int>::max() : stage->stage,
            isShared ? 0 : -static_cast<int64_t>(i), trained.name);
    }
  std::sort(sorted.begin(), sorted.end());
  // Once, however many stages of this rank have it.
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const auto &[ranks, type, stage, order, name] : sorted) {
    size_t position = positions_.at(name);
    if (groups_.empty() || groups_.back().ranks != ranks) {
      groups_.push_back({ranks, &groupOf(ranks), {}});
    }
    std::vector<Bucket> &buckets = groups_.back().buckets;
    auto bytesOf = [&](size_t parameter) {
      return byteCount(parameters_[parameter].type,
                       parameters_[parameter].spec.shape);
    };
    int64_t bytes = bytesOf(position);
    if (!buckets.empty())
      for (size_t other : buckets.back().parameters)
        bytes += bytesOf(other);
    if (buckets.empty() || bytes > bucketBytes ||
        parameters_[buckets.back().parameters[0]].type != type)
      buckets.emplace_back();
    buckets.back().parameters.push_back(position);
  }
  for (Group &group : groups_)
    for (Bucket &bucket : group.buckets) {
      auto elementsOf = [&](size_t parameter) {
        return byteCount(at::kByte, parameters_[parameter].spec.shape);
      };
      int64_t elements = 0, begin = 0;
      for (size_t parameter : bucket.parameters)
        elements += elementsOf(parameter);
      bucket.flat = at::empty({elements},
                              at::TensorOptions()
                                  .dtype(parameters_[bucket.parameters[0]].type)
                                  .device(device));
      for (size_t parameter : bucket.parameters) {
        parameters_[parameter].flat =
            bucket.flat.narrow(0, begin, elementsOf(parameter))
                .view(parameters_[parameter].spec.shape);
        begin += elementsOf(parameter);
      }
    }
}

void Gradients::add(size_t place, const std::string &name,
                    at::Tensor gradient) {
  Parameter &parameter = parameters_[positions_.at(name)];
  Share &share = shareOf(place, name);
  --share.left;
  if (share.sum.defined()) {
    share.sum.add_(gradient);
  } else if (parameter.flat.defined() && &share == &parameter.shares[0]) {
    parameter.flat.copy_(gradient);
    share.sum = parameter.flat;
  } else if (gradient.scalar_type() != parameter.type) {
    share.sum = gradient.to(parameter.type);
  } else {
    share.sum = isSoleOwner(gradient)
                    ? std::move(gradient)
                    : gradient.clone(at::MemoryFormat::Contiguous);
  }
}

void Gradients::take(size_t place, Action action, Tensors &outputs) {
  FunctionPorts function = portsOf(*stages_[place], action);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PortSpec &port = (*function.outputs)[i];
    if (!port.gradientOf.empty() && outputs[i].defined())
      add(place, port.gradientOf, std::move(outputs[i]));
  }
  startReady();
}

bool Gradients::wantsEarly(size_t place, Action action) const {
  const std::vector<PortSpec> &ports =
      *portsOf(*stages_[place], action).outputs;
  return std::any_of(ports.begin(), ports.end(), [](const PortSpec &port) {
    return !port.gradientOf.empty();
  });
}

void Gradients::takeEarly(size_t place, Action action, size_t output,
                          at::Tensor gradient) {
  const PortSpec &port = (*portsOf(*stages_[place], action).outputs)[output];
  checkOutput(*stages_[place], port, gradient);
  add(place, port.gradientOf, std::move(gradient));
  startReady();
}

/// Over the stages of the rank, in their order; undefined where none has one.
at::Tensor Gradients::sumOfShares(Parameter &parameter) {
  at::Tensor sum = std::move(parameter.shares[0].sum);
  for (size_t i = 1; i < parameter.shares.size(); ++i) {
    at::Tensor other = std::move(parameter.shares[i].sum);
    if (sum.defined() && other.defined())
      sum.add_(other);
    else if (other.defined())
      sum = std::move(other);
  }
  return sum;
}

void Gradients::startReady() {
  // In one order over all groups: a rank that stands in two of them never
  // starts the later one first.
  for (Group &group : groups_)
    for (; group.started < group.buckets.size(); ++group.started) {
      Bucket &bucket = group.buckets[group.started];
      for (size_t index : bucket.parameters)
        if (!parameters_[index].isReady())
          return;
      for (size_t index : bucket.parameters) {
        Parameter &parameter = parameters_[index];
        at::Tensor sum = sumOfShares(parameter);
        if (!sum.defined())
          parameter.flat.zero_(); // fewer microbatches than replicas
        else if (!sum.is_same(parameter.flat))
          parameter.flat.copy_(sum);
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
          parameters_[parameter].shares[0].sum = parameters_[parameter].flat;
      }
    group.started = 0;
  }
}

std::vector<at::Tensor> Gradients::handOver() {
  std::vector<at::Tensor> gradients;
  for (Parameter &parameter : parameters_) {
    at::Tensor sum = sumOfShares(parameter);
    if (!sum.defined())
      fail("parameter '", parameter.spec.name, "' of stage ",
           stages_[parameter.shares[0].place]->stage,
           " has got no gradient in this step");
    gradients.push_back(std::move(sum));
    for (Share &share : parameter.shares)
      share.left = share.rows;
  }
  return gradients;
}

bool Gradients::answersFor(const TrainedSpec &parameter) const {
  return std::any_of(places_.begin(), places_.end(), [&](const Place &place) {
    return place.stage == parameter.stages[0] && place.replica == 0;
  });
}

double Gradients::squares(const std::vector<at::Tensor> &gradients) const {
  double sum = 0;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (answersFor(parameters_[i].spec) && gradients[i].numel() > 0) {
      double norm = at::linalg_vector_norm(gradients[i]).item<double>();
      sum += norm * norm;
    }
  return sum;
}

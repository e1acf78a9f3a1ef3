// What the optimizer keeps is made before the first step, in its first step's
// form: so a checkpoint finds the same tensors at any time, and memory does not
// grow when training has begun.
#include "Optimizer.h"
#include "hethub/runtime/Error.h"

#include <ATen/ops/zeros_like.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

using namespace hethub::runtime;
namespace optim = torch::optim;

void hethub::runtime::checkOptimizer(const OptimizerOptions &options) {
  if (options.name != "sgd" && (options.momentum > 0 || options.nesterov))
    fail("--momentum and --nesterov are for sgd, got: --optimizer ",
         options.name);
  if (options.nesterov && options.momentum <= 0)
    fail("--nesterov needs a --momentum of more than 0, got: ",
         options.momentum);
}

namespace {
/// Parameters of several axes, and the rest, which weight decay leaves out.
std::vector<optim::OptimizerParamGroup>
groupsOf(const std::vector<at::Tensor> &parameters) {
  std::vector<at::Tensor> matrices, others;
  for (const at::Tensor &parameter : parameters)
    (parameter.dim() > 1 ? matrices : others).push_back(parameter);
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::move(matrices));
  groups.emplace_back(std::move(others));
  return groups;
}

double weightDecayOf(const OptimizerOptions &options) {
  if (options.weightDecay >= 0)
    return options.weightDecay;
  return options.name == "adamw" ? 0.01 : 0;
}

template <typename Options>
void setWeightDecay(optim::Optimizer &optimizer,
                    const OptimizerOptions &options) {
  // Set after the groups have taken the common options: torch would take a
  // group's value that equals torch's default for one that was not given.
  std::vector<optim::OptimizerParamGroup> &groups = optimizer.param_groups();
  double decay = weightDecayOf(options);
  static_cast<Options &>(groups[0].options()).weight_decay(decay);
  static_cast<Options &>(groups[1].options())
      .weight_decay(options.decayAll ? decay : 0);
}

template <typename Options>
Options adamOptions(const OptimizerOptions &options) {
  return Options(options.learningRate)
      .betas({options.beta1, options.beta2})
      .eps(options.epsilon);
}

template <typename State>
std::unique_ptr<optim::OptimizerParamState>
adamState(const at::Tensor &parameter) {
  auto state = std::make_unique<State>();
  state->step(0);
  state->exp_avg(at::zeros_like(parameter));
  state->exp_avg_sq(at::zeros_like(parameter));
  return state;
}

template <typename State>
std::vector<std::pair<std::string, at::Tensor>>
adamTensors(const optim::OptimizerParamState &state) {
  const auto &adam = static_cast<const State &>(state);
  return {{"exp_avg", adam.exp_avg()}, {"exp_avg_sq", adam.exp_avg_sq()}};
}

using StateTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// A row for each optimizer of torch::optim.
struct Kind {
  const char *name;
  std::unique_ptr<optim::Optimizer> (*make)(const OptimizerOptions &,
                                            const std::vector<at::Tensor> &);
  /// State before the first step; null: none is kept.
  std::unique_ptr<optim::OptimizerParamState> (*state)(const at::Tensor &);
  StateTensors (*tensors)(const optim::OptimizerParamState &);
  void (*setSteps)(optim::OptimizerParamState &, int64_t);
};

const Kind kinds[] = {
    {"sgd",
     [](const OptimizerOptions &options, const std::vector<at::Tensor> &of)
         -> std::unique_ptr<optim::Optimizer> {
       auto made = std::make_unique<optim::SGD>(
           groupsOf(of), optim::SGDOptions(options.learningRate)
                             .momentum(options.momentum)
                             .nesterov(options.nesterov));
       setWeightDecay<optim::SGDOptions>(*made, options);
       return made;
     },
     [](const at::Tensor &parameter)
         -> std::unique_ptr<optim::OptimizerParamState> {
       auto state = std::make_unique<optim::SGDParamState>();
       state->momentum_buffer(at::zeros_like(parameter));
       return state;
     },
     [](const optim::OptimizerParamState &state) {
       return StateTensors{
           {"momentum_buffer", static_cast<const optim::SGDParamState &>(state)
                                   .momentum_buffer()}};
     },
     [](optim::OptimizerParamState &, int64_t) {}},
    {"adam",
     [](const OptimizerOptions &options, const std::vector<at::Tensor> &of)
         -> std::unique_ptr<optim::Optimizer> {
       auto made = std::make_unique<optim::Adam>(
           groupsOf(of), adamOptions<optim::AdamOptions>(options));
       setWeightDecay<optim::AdamOptions>(*made, options);
       return made;
     },
     adamState<optim::AdamParamState>, adamTensors<optim::AdamParamState>,
     [](optim::OptimizerParamState &state, int64_t steps) {
       static_cast<optim::AdamParamState &>(state).step(steps);
     }},
    {"adamw",
     [](const OptimizerOptions &options, const std::vector<at::Tensor> &of)
         -> std::unique_ptr<optim::Optimizer> {
       auto made = std::make_unique<optim::AdamW>(
           groupsOf(of), adamOptions<optim::AdamWOptions>(options));
       setWeightDecay<optim::AdamWOptions>(*made, options);
       return made;
     },
     adamState<optim::AdamWParamState>, adamTensors<optim::AdamWParamState>,
     [](optim::OptimizerParamState &state, int64_t steps) {
       static_cast<optim::AdamWParamState &>(state).step(steps);
     }},
};

const Kind &kindOf(const std::string &name) {
  for (const Kind &kind : kinds)
    if (name == kind.name)
      return kind;
  fail("no optimizer is called '", name, "'");
}

bool needsMaster(const at::Tensor &parameter) {
  return parameter.scalar_type() == at::kHalf ||
         parameter.scalar_type() == at::kBFloat16;
}
} // namespace

struct Optimizer::Impl {
  const Kind &kind;
  std::vector<at::Tensor> parameters, trained; ///< masters, or the same tensors
  std::unique_ptr<optim::Optimizer> optimizer;
  bool keepsState;

  optim::OptimizerParamState &stateOf(size_t index) const {
    return *optimizer->state().at(trained[index].unsafeGetTensorImpl());
  }
};

Optimizer::Optimizer(const OptimizerOptions &options,
                     std::vector<at::Tensor> parameters)
    : impl_(new Impl{kindOf(options.name), std::move(parameters), {}, {}, {}}) {
  for (const at::Tensor &parameter : impl_->parameters)
    impl_->trained.push_back(needsMaster(parameter) ? parameter.to(at::kFloat)
                                                    : parameter);
  impl_->optimizer = impl_->kind.make(options, impl_->trained);
  impl_->keepsState = options.name != "sgd" || options.momentum > 0;
  if (impl_->keepsState)
    for (const at::Tensor &parameter : impl_->trained)
      impl_->optimizer->state()[parameter.unsafeGetTensorImpl()] =
          impl_->kind.state(parameter);
}
Optimizer::~Optimizer() = default;

at::ScalarType Optimizer::gradientType(size_t index) const {
  return impl_->trained[index].scalar_type();
}

void Optimizer::step(double learningRate, std::vector<at::Tensor> gradients) {
  for (optim::OptimizerParamGroup &group : impl_->optimizer->param_groups())
    group.options().set_lr(learningRate);
  for (size_t i = 0; i < gradients.size(); ++i)
    impl_->trained[i].mutable_grad() = std::move(gradients[i]);
  impl_->optimizer->step();
  for (size_t i = 0; i < impl_->trained.size(); ++i) {
    impl_->trained[i].mutable_grad().reset();
    if (!impl_->trained[i].is_same(impl_->parameters[i]))
      impl_->parameters[i].copy_(impl_->trained[i]);
  }
}

std::vector<std::pair<std::string, at::Tensor>>
Optimizer::state(size_t index) const {
  StateTensors tensors;
  if (impl_->keepsState)
    tensors = impl_->kind.tensors(impl_->stateOf(index));
  if (!impl_->trained[index].is_same(impl_->parameters[index]))
    tensors.emplace_back("master", impl_->trained[index]);
  return tensors;
}

void Optimizer::setSteps(int64_t steps) {
  for (size_t i = 0; impl_->keepsState && i < impl_->trained.size(); ++i)
    impl_->kind.setSteps(impl_->stateOf(i), steps);
}

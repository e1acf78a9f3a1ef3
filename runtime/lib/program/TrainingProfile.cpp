// The kernels and buffers that train/Gradients.cpp and train/Optimizer.cpp use
// too.
#include "TrainingProfile.h"
#include "Specification.h"
#include "hethub/runtime/Trace.h"
#include "train/Optimizer.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <map>

using namespace hethub;
using namespace hethub::runtime;

GradientSums::GradientSums(const StageProgram &program,
                           const std::string &function) {
  const Function *found = findFunction(program, function);
  if (!found)
    return;
  std::map<int, int> originOf;
  for (const Instruction &instruction : found->body())
    for (int value : instruction.call().results())
      originOf[value] = instruction.call().origin();
  for (int i = 0; i < found->outputs_size(); ++i) {
    const Port &port = found->outputs(i);
    auto origin = originOf.find(port.value());
    if (!port.gradient_of().empty())
      gradients_.push_back({static_cast<size_t>(i),
                            origin == originOf.end() ? -1 : origin->second});
  }
}

void GradientSums::add(
    const Tensors &outputs,
    const std::function<void(int origin, double seconds)> &told) {
  bool first = sums_.empty();
  for (size_t i = 0; i < gradients_.size(); ++i) {
    const at::Tensor &gradient = outputs[gradients_[i].output];
    if (first) {
      sums_.push_back(gradient.clone(at::MemoryFormat::Contiguous));
      continue;
    }
    auto begin = Clock::now();
    sums_[i].add_(gradient);
    told(gradients_[i].origin, secondsBetween(begin, Clock::now()));
  }
}

double hethub::runtime::optimizerSecondsPerByte(
    const std::vector<at::Tensor> &parameters) {
  constexpr int steps = 5;
  double bytes = 0;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor &parameter : parameters) {
    bytes += static_cast<double>(parameter.nbytes());
    gradients.push_back(at::zeros_like(parameter));
  }
  if (bytes == 0)
    return 0;
  OptimizerOptions options;
  options.name = "adam";
  Optimizer optimizer(options, parameters);
  std::vector<double> seconds;
  // The first one meets memory that was not touched yet.
  for (int step = 0; step <= steps; ++step) {
    auto begin = Clock::now();
    optimizer.step(/*learningRate=*/0, gradients);
    if (step > 0)
      seconds.push_back(secondsBetween(begin, Clock::now()));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2] / bytes;
}

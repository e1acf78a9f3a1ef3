// Calls are timed one by one and summed over the operation that they came from:
// what the planner weighs.
#include "Profile.h"
#include "Specification.h"
#include "hethub/runtime/Error.h"
#include "run/ComputeSettings.h"
#include "run/Inputs.h"
#include "run/Stats.h"

#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <ATen/ops/normal.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace hethub;
using namespace hethub::runtime;

namespace {
constexpr double leastSeconds = 1;
constexpr int mostRuns = 1000;

Tensors madeUpInputs(const StageSpec &spec, int64_t integer) {
  Tensors inputs;
  for (const PortSpec &port : spec.inputs) {
    for (int64_t size : port.shape)
      if (size < 0)
        runtime::fail(
            "input '", port.name,
            "' has a size that is known only at run time: give --inputs");
    at::TensorOptions options = at::TensorOptions().dtype(port.dtype);
    if (at::isFloatingType(port.dtype))
      inputs.push_back(
          at::zeros(port.shape, at::TensorOptions().dtype(at::kFloat))
              .normal_()
              .to(port.dtype));
    else
      inputs.push_back(at::full(port.shape, integer, options));
  }
  return inputs;
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Nodes of the model that take the same time.
struct Operation {
  std::string name, op;
  int count = 0;
};

/// The nodes of a program by signature.
struct Operations {
  std::map<std::string, Operation> bySignature;
  std::vector<const Operation *> ofOrigin;

  explicit Operations(const StageProgram &program) {
    for (const Origin &origin : program.origins()) {
      Operation &operation = bySignature[origin.signature()];
      if (operation.count++ == 0) {
        operation.name = origin.name();
        operation.op = origin.op();
      }
      ofOrigin.push_back(&operation);
    }
  }
};

/// Times of one function of the program.
class Timed {
public:
  Timed(Interpreter &interpreter, std::string name,
        const Operations &operations)
      : interpreter(interpreter), name(std::move(name)),
        operations(operations) {}

  /// One run without and one with the timer, so that what else the machine does
  /// meets both. Gives the outputs.
  Tensors run(const Tensors &inputs, bool counts) {
    auto begin = Clock::now();
    Tensors outputs = interpreter.run(name, inputs);
    double whole = secondsBetween(begin, Clock::now());
    std::map<const Operation *, double> sums;
    calls.clear();
    CallTimer timer = [&](int origin, double seconds) {
      auto index = static_cast<size_t>(origin);
      if (origin < 0 || index >= operations.ofOrigin.size())
        return;
      sums[operations.ofOrigin[index]] += seconds;
      ++calls[operations.ofOrigin[index]];
    };
    interpreter.run(name, inputs, &timer);
    if (!counts)
      return outputs;
    wholes.push_back(whole);
    for (const auto &[signature, operation] : operations.bySignature)
      runs[&operation].push_back(sums[&operation] / operation.count);
    return outputs;
  }

  double whole() const { return median(wholes); }

  /// What a whole run takes beyond the sum of its calls (or less: clocks cost
  /// time), of one call.
  double beyond() const {
    double timed = 0;
    int called = 0;
    for (const auto &[operation, seconds] : runs)
      timed += median(seconds) * operation->count;
    for (const auto &[operation, count] : calls)
      called += count;
    return called > 0 ? (whole() - timed) / called : 0;
  }

  /// Seconds of one node.
  double seconds(const Operation &operation, double beyond) const {
    auto called = calls.find(&operation);
    double share =
        called == calls.end() ? 0 : beyond * called->second / operation.count;
    return std::max(0.0, median(runs.at(&operation)) + share);
  }

private:
  Interpreter &interpreter;
  std::string name;
  const Operations &operations;
  std::vector<double> wholes;
  std::map<const Operation *, std::vector<double>> runs; ///< mean of the nodes
  std::map<const Operation *, int> calls;                ///< of one run
};

/// The inputs of the backward pass: what the forward pass has saved.
Tensors savedInputs(const StageSpec &spec, const Tensors &outputs) {
  std::map<int, at::Tensor> slots;
  for (size_t port = 0; port < spec.outputs.size(); ++port)
    if (spec.outputs[port].saved >= 0)
      slots[spec.outputs[port].saved] = outputs[port];
  Tensors inputs;
  for (const PortSpec &port : spec.backward.inputs)
    inputs.push_back(slots.at(port.saved));
  return inputs;
}
} // namespace

std::string hethub::runtime::profileProgram(
    std::shared_ptr<const StageProgram> program, const std::string &weightsPath,
    const std::string &inputsPath, int repeats, int threads) {
  if (program->stages_size() != 1)
    runtime::fail("a profile needs a program of one stage, got: ",
                  program->stages_size());
  c10::InferenceMode inference;
  applyComputeSettings(threads);
  StageSpec spec = specificationOf(*program);
  int64_t base = maxResidentBytes();
  WeightsFile weights(weightsPath);
  Interpreter interpreter(program);
  interpreter.load(weights);
  if (interpreter.has("weight"))
    runtime::fail("a profile needs a backward pass of one part, got: two");
  Tensors inputs;
  if (inputsPath.empty()) {
    // Ones suit masks, but an index of one may be too large.
    inputs = madeUpInputs(spec, 1);
    try {
      interpreter.forward(inputs);
    } catch (const Error &) {
      inputs = madeUpInputs(spec, 0);
      interpreter.forward(inputs);
    }
  } else {
    InputFeed feed(spec, inputsPath, 1, at::kCPU);
    for (const PortSpec &port : spec.inputs)
      inputs.push_back(feed.get(port, 0));
    interpreter.forward(inputs);
  }

  Operations operations(*program);
  Timed forward(interpreter, "forward", operations),
      backward(interpreter, "backward", operations);
  bool trains = interpreter.has("backward");
  // The first run is a warm-up. Small models run more often: a few milliseconds
  // say little of a shared machine.
  auto start = Clock::now();
  auto isEnough = [&](int run) {
    return run >= repeats &&
           (run >= mostRuns ||
            secondsBetween(start, Clock::now()) > leastSeconds);
  };
  for (int run = -1; !isEnough(run); ++run) {
    Tensors outputs = forward.run(inputs, run >= 0);
    if (trains)
      backward.run(savedInputs(spec, outputs), run >= 0);
  }
  nlohmann::json result = {{"forward_s", forward.whole()},
                           {"call_s", forward.beyond()},
                           {"base_bytes", base},
                           {"process_bytes", maxResidentBytes()}};
  if (trains)
    result["backward_s"] = backward.whole();
  nlohmann::json &ops = result["ops"] = nlohmann::json::object();
  double beyondForward = forward.beyond(),
         beyondBackward = trains ? backward.beyond() : 0;
  for (const auto &[signature, operation] : operations.bySignature) {
    ops[signature] = {{"name", operation.name},
                      {"op", operation.op},
                      {"forward_s", forward.seconds(operation, beyondForward)},
                      {"count", operation.count}};
    if (trains)
      ops[signature]["backward_s"] =
          backward.seconds(operation, beyondBackward);
  }
  return result.dump(1) + "\n";
}

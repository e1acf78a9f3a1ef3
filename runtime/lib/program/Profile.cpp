// Calls are timed one by one and summed over the operation that they came from:
// what the planner weighs.
#include "Profile.h"
#include "Specification.h"
#include "TrainingProfile.h"
#include "hethub/runtime/Error.h"
#include "run/ComputeSettings.h"
#include "run/Inputs.h"
#include "run/Stats.h"

#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/full.h>
#include <ATen/ops/normal.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>

using namespace hethub;
using namespace hethub::runtime;

namespace {
constexpr double leastSeconds = 1;
constexpr int mostRuns = 1000;
constexpr int plainRuns = 2; ///< before clocks and their records

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

  /// Null: of no operation of the model.
  const Operation *of(int origin) const {
    auto index = static_cast<size_t>(origin);
    return origin < 0 || index >= ofOrigin.size() ? nullptr : ofOrigin[index];
  }

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

/// Times of one function of the program, with the sums of the gradients that it
/// gives.
class Timed {
public:
  Timed(Interpreter &interpreter, std::string name,
        const Operations &operations)
      : interpreter(interpreter), name(std::move(name)), operations(operations),
        gradients(interpreter.program(), this->name) {}

  bool exists() const { return interpreter.has(name); }

  Tensors runPlain(const Tensors &inputs) {
    Tensors outputs = interpreter.run(name, inputs);
    gradients.add(outputs, [](int, double) {});
    return outputs;
  }

  /// One run without and one with the timer, so that what else the machine does
  /// meets both. Gives the outputs.
  Tensors run(const Tensors &inputs, bool counts) {
    auto begin = Clock::now();
    Tensors outputs = interpreter.run(name, inputs);
    double whole = secondsBetween(begin, Clock::now());
    std::map<const Operation *, double> sums, adding;
    calls.clear();
    CallTimer timer = [&](int origin, double seconds) {
      if (const Operation *operation = operations.of(origin)) {
        sums[operation] += seconds;
        ++calls[operation];
      }
    };
    outputs.clear(); // A rank has them once.
    outputs = interpreter.run(name, inputs, &timer);
    gradients.add(outputs, [&](int origin, double seconds) {
      if (const Operation *operation = operations.of(origin))
        adding[operation] += seconds;
    });
    if (!counts)
      return outputs;
    wholes.push_back(whole);
    for (const auto &[signature, operation] : operations.bySignature) {
      runs[&operation].push_back(sums[&operation] / operation.count);
      added[&operation].push_back(adding[&operation] / operation.count);
    }
    return outputs;
  }

  double whole() const { return median(wholes); }

  /// All of the gradients' sums.
  double adding() const {
    double seconds = 0;
    for (const auto &[operation, each] : added)
      seconds += median(each) * operation->count;
    return seconds;
  }

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

  /// Seconds of one node, adding its gradients up included.
  double seconds(const Operation &operation, double beyond) const {
    auto called = calls.find(&operation);
    double share =
        called == calls.end() ? 0 : beyond * called->second / operation.count;
    return std::max(0.0, median(runs.at(&operation)) + share) +
           median(added.at(&operation));
  }

  int64_t sumBytes() const {
    int64_t bytes = 0;
    for (const at::Tensor &sum : gradients.sums())
      bytes += static_cast<int64_t>(sum.nbytes());
    return bytes;
  }

private:
  Interpreter &interpreter;
  std::string name;
  const Operations &operations;
  GradientSums gradients;
  std::vector<double> wholes;
  /// By run, means of the nodes.
  std::map<const Operation *, std::vector<double>> runs, added;
  std::map<const Operation *, int> calls; ///< of one run
};

/// What functions save for the ones behind them.
class Slots {
public:
  void put(const std::vector<PortSpec> &ports, const Tensors &outputs) {
    for (size_t port = 0; port < ports.size(); ++port)
      if (ports[port].saved >= 0)
        values[ports[port].saved] = outputs[port];
  }
  Tensors get(const std::vector<PortSpec> &ports) const {
    Tensors inputs;
    for (const PortSpec &port : ports)
      inputs.push_back(values.at(port.saved));
    return inputs;
  }

private:
  std::map<int, at::Tensor> values;
};

/// As ranks compute that run a program of this kind.
class ThreadSettings {
public:
  ThreadSettings(bool trains, int threads) {
    if (trains) {
      noGradients.emplace();
      noAutograd.emplace();
      computeDeterministically();
    } else {
      inference.emplace();
    }
    applyComputeSettings(threads);
  }

private:
  std::optional<c10::InferenceMode> inference;
  std::optional<c10::NoGradGuard> noGradients;
  std::optional<at::AutoDispatchBelowADInplaceOrView> noAutograd;
};
} // namespace

std::string hethub::runtime::profileProgram(
    std::shared_ptr<const StageProgram> program, const std::string &weightsPath,
    const std::string &inputsPath, int repeats, int threads) {
  if (program->stages_size() != 1)
    runtime::fail("a profile needs a program of one stage, got: ",
                  program->stages_size());
  bool trains = findFunction(*program, "backward") != nullptr;
  ThreadSettings settings(trains, threads);
  StageSpec spec = specificationOf(*program);
  int64_t base = maxResidentBytes();
  WeightsFile weights(weightsPath);
  Interpreter interpreter(program);
  interpreter.load(weights);
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
      backward(interpreter, "backward", operations),
      weight(interpreter, "weight", operations);
  // Memory as in a run: what is recorded below stands between large tensors in
  // the heap, and keeps it from being used again.
  for (int run = 0; run < plainRuns; ++run) {
    Slots slots;
    slots.put(spec.outputs, forward.runPlain(inputs));
    if (trains)
      slots.put(spec.backward.outputs,
                backward.runPlain(slots.get(spec.backward.inputs)));
    if (weight.exists())
      weight.runPlain(slots.get(spec.weight.inputs));
  }
  int64_t processBytes = maxResidentBytes();
  // The first run is a warm-up. Small models run more often: a few milliseconds
  // say little of a shared machine.
  auto start = Clock::now();
  auto isEnough = [&](int run) {
    return run >= repeats &&
           (run >= mostRuns ||
            secondsBetween(start, Clock::now()) > leastSeconds);
  };
  for (int run = -1; !isEnough(run); ++run) {
    Slots slots;
    slots.put(spec.outputs, forward.run(inputs, run >= 0));
    if (trains)
      slots.put(spec.backward.outputs,
                backward.run(slots.get(spec.backward.inputs), run >= 0));
    if (weight.exists())
      weight.run(slots.get(spec.weight.inputs), run >= 0);
  }
  nlohmann::json result = {{"forward_s", forward.whole()},
                           {"call_s", forward.beyond()},
                           {"base_bytes", base},
                           {"process_bytes", processBytes}};
  if (trains) {
    result["backward_s"] = backward.whole() + backward.adding();
    if (weight.exists())
      result["backward_s"] = backward.whole() + backward.adding() +
                             weight.whole() + weight.adding();
    result["gradient_bytes"] = backward.sumBytes() + weight.sumBytes();
    std::vector<at::Tensor> trained;
    for (const TrainedSpec &parameter : spec.trained)
      trained.push_back(
          weights.get(parameter.name, parameter.dtype, parameter.shape));
    result["optimizer_s_per_byte"] = optimizerSecondsPerByte(trained);
  }
  nlohmann::json &ops = result["ops"] = nlohmann::json::object();
  auto secondsOf = [](const Timed &timed) {
    return [&timed, beyond = timed.exists() ? timed.beyond()
                                            : 0](const Operation &operation) {
      return timed.exists() ? timed.seconds(operation, beyond) : 0.0;
    };
  };
  auto ofForward = secondsOf(forward), ofBackward = secondsOf(backward),
       ofWeight = secondsOf(weight);
  for (const auto &[signature, operation] : operations.bySignature) {
    ops[signature] = {{"name", operation.name},
                      {"op", operation.op},
                      {"forward_s", ofForward(operation)},
                      {"count", operation.count}};
    if (weight.exists()) {
      ops[signature]["input_gradient_s"] = ofBackward(operation);
      ops[signature]["weight_gradient_s"] = ofWeight(operation);
    } else if (trains) {
      ops[signature]["backward_s"] = ofBackward(operation);
    }
  }
  return result.dump(1) + "\n";
}

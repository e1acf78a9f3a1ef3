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

  size_t origins = static_cast<size_t>(program->origins_size());
  std::vector<double> sums(origins);
  std::vector<int> calls(origins);
  CallTimer timer = [&](int origin, double seconds) {
    if (origin >= 0 && static_cast<size_t>(origin) < origins) {
      sums[static_cast<size_t>(origin)] += seconds;
      ++calls[static_cast<size_t>(origin)];
    }
  };
  struct Operation {
    std::string name, op;
    std::vector<double>
        runs; ///< per run: mean over the nodes of this signature
    int count = 0;
  };
  std::map<std::string, Operation> operations;
  std::vector<Operation *> operationOf;
  for (const Origin &origin : program->origins()) {
    Operation &operation = operations[origin.signature()];
    if (operation.count++ == 0) {
      operation.name = origin.name();
      operation.op = origin.op();
    }
    operationOf.push_back(&operation);
  }
  // Runs with and without the timer in turns, so that what else the machine
  // does meets both; the first pair is a warm-up. What a whole run takes beyond
  // the sum of its calls (or less: clocks cost time) is the calls' alike. Small
  // models run more often: a few milliseconds say little of a shared machine.
  std::vector<double> wholes;
  auto start = Clock::now();
  auto isEnough = [&](int run) {
    return run >= repeats &&
           (run >= mostRuns ||
            secondsBetween(start, Clock::now()) > leastSeconds);
  };
  for (int run = -1; !isEnough(run); ++run) {
    auto begin = Clock::now();
    interpreter.forward(inputs);
    double whole = secondsBetween(begin, Clock::now());
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(calls.begin(), calls.end(), 0);
    interpreter.forward(inputs, &timer);
    if (run < 0)
      continue;
    wholes.push_back(whole);
    for (auto &[signature, operation] : operations)
      operation.runs.push_back(0);
    for (size_t origin = 0; origin < origins; ++origin)
      operationOf[origin]->runs[static_cast<size_t>(run)] +=
          sums[origin] / operationOf[origin]->count;
  }
  double whole = median(wholes), timed = 0;
  int called = 0;
  for (const auto &[signature, operation] : operations)
    timed += median(operation.runs) * operation.count;
  std::map<const Operation *, int> callsOf;
  for (size_t origin = 0; origin < origins; ++origin) {
    callsOf[operationOf[origin]] += calls[origin];
    called += calls[origin];
  }
  double beyond = called > 0 ? (whole - timed) / called : 0;
  nlohmann::json ops = nlohmann::json::object();
  for (const auto &[signature, operation] : operations)
    ops[signature] = {
        {"name", operation.name},
        {"op", operation.op},
        {"forward_s",
         std::max(0.0, median(operation.runs) +
                           beyond * callsOf[&operation] / operation.count)},
        {"count", operation.count}};
  nlohmann::json result = {{"forward_s", whole},
                           {"call_s", beyond},
                           {"base_bytes", base},
                           {"process_bytes", maxResidentBytes()},
                           {"ops", std::move(ops)}};
  return result.dump(1) + "\n";
}

#include "Compute.h"
#include "Emulation.h"
#include "comm/DeviceBackends.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"

using namespace hethub::runtime;

namespace {
// A run of many steps must not grow: these are enough for a median.
constexpr size_t mostComputeTimes = 1 << 16;
} // namespace

void hethub::runtime::checkOutputs(const StageSpec &spec,
                                   const FunctionPorts &function,
                                   const Tensors &outputs) {
  if (outputs.size() != function.outputs->size())
    fail(function.name, " of stage ", spec.stage, " must give ",
         function.outputs->size(), " outputs, got: ", outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined() || (*function.outputs)[i].gradientOf.empty())
      checkOutput(spec, (*function.outputs)[i], outputs[i]);
}

void hethub::runtime::checkOutput(const StageSpec &spec, const PortSpec &port,
                                  const at::Tensor &output) {
  if (!output.defined())
    fail("output '", port.name, "' of stage ", spec.stage, " must be ",
         typeName(port.dtype, port.shape), ", got: nothing");
  if (port.isOpen)
    return;
  if (output.scalar_type() != port.dtype ||
      !shapeFits(output.sizes(), port.shape))
    fail("output '", port.name, "' of stage ", spec.stage, " must be ",
         typeName(port.dtype, port.shape),
         ", got: ", typeName(output.scalar_type(), output.sizes()));
}

Compute::Compute(const StageSpec &spec, at::Device device, Recorder &recorder)
    : spec_(spec), deviceSpec_(spec.stages[static_cast<size_t>(spec.stage)]),
      device_(device), recorder_(recorder) {
  recorder_.stats.emulated = isEmulated(spec);
  if (recorder_.stats.emulated)
    sleepPrecisely();
}

void Compute::synchronize() const {
  if (device_.type() != at::kCPU)
    deviceBackend(deviceSpec_.kind).synchronize(device_);
}

Tensors Compute::run(Action action, const Forward &function, Tensors inputs,
                     int64_t microbatch, double &busyS) {
  RunStats &stats = recorder_.stats;
  auto begin = Clock::now();
  Tensors outputs = function(std::move(inputs));
  synchronize();
  double measured = secondsBetween(begin, Clock::now());
  if (deviceSpec_.emulatedSlowdown > 0 &&
      !sleepOut(begin, emulatedS(deviceSpec_, action, measured)))
    ++stats.overruns;
  busyS += secondsBetween(begin, Clock::now());
  if (stats.computeS.size() < mostComputeTimes)
    stats.computeS.push_back(measured);
  ++stats.computes;
  if (recorder_.trace)
    recorder_.trace->add(
        {Trace::Compute,
         std::string(nameOf(action)) + " " + std::to_string(microbatch), begin,
         Clock::now(), static_cast<int>(microbatch), 0, 0,
         recorder_.stageOf(spec_)});
  return outputs;
}

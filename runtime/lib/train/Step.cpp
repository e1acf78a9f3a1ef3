// A value waits in a slot, for a message or for its function, and leaves with
// its last reader.
#include "Step.h"
#include "SampleOrder.h"

#include <ATen/Context.h>

#include <mutex>

using namespace hethub::runtime;

TrainingStep::TrainingStep(const StageSpec &spec, int rank,
                           const std::vector<Step> &steps, Functions functions,
                           Messages &messages, Compute &compute,
                           Gradients &gradients, Updates &updates,
                           at::Device device, Recorder &recorder)
    : spec_(spec), steps_(steps), functions_(std::move(functions)),
      messages_(messages), compute_(compute), gradients_(gradients),
      updates_(updates), device_(device), recorder_(recorder) {
  for (Action action : {Action::Backward, Action::Weight})
    for (const PortSpec &port : *portsOf(spec, action).inputs)
      if (port.saved >= 0)
        lastReader_[port.saved] = action;
}

Tensors TrainingStep::inputsOf(const Step &row, const Feed &feed) {
  Tensors inputs;
  for (const PortSpec &port : *portsOf(spec_, row.action).inputs)
    if (port.channel >= 0)
      inputs.push_back(received_.take(port.channel, row.microbatch));
    else if (port.saved < 0)
      inputs.push_back(feed(port, row.microbatch));
    else if (lastReader_.at(port.saved) == row.action)
      inputs.push_back(slots_.take(port.saved, row.microbatch));
    else
      inputs.push_back(slots_.get(port.saved, row.microbatch));
  return inputs;
}

Forward TrainingStep::functionOf(Action action) {
  if (action == Action::Forward)
    return functions_.forward;
  bool isBackward = action == Action::Backward;
  const auto &early =
      isBackward ? functions_.earlyBackward : functions_.earlyWeight;
  if (!early || !gradients_.wantsEarly(action))
    return isBackward ? functions_.backward : functions_.weight;
  return [this, action, &early](Tensors inputs) {
    return early(std::move(inputs), [&](size_t output, at::Tensor gradient) {
      gradients_.takeEarly(action, output, std::move(gradient));
    });
  };
}

void TrainingStep::compute(const Step &row, int64_t step, uint64_t seed,
                           const Feed &feed, Losses &losses, double &busyS) {
  // Adding up gradients is the device's work like the rest: an emulated one
  // sleeps behind it.
  Forward function = [&, called = functionOf(row.action)](Tensors inputs) {
    Tensors outputs = called(std::move(inputs));
    checkOutputs(spec_, portsOf(spec_, row.action), outputs);
    gradients_.take(row.action, outputs);
    return outputs;
  };
  Tensors inputs = inputsOf(row, feed);
  int64_t microbatch = step * spec_.microbatches + row.microbatch;
  std::unique_lock<std::mutex> turn;
  if (functions_.isRandom) {
    // LibTorch has one generator a process: ranks that are threads take turns.
    static std::mutex mutex;
    turn = std::unique_lock(mutex);
    at::Generator generator = at::globalContext().defaultGenerator(device_);
    {
      std::lock_guard inside(generator.mutex());
      generator.set_current_seed(
          mixSeed({seed, static_cast<uint64_t>(step),
                   static_cast<uint64_t>(spec_.stage),
                   static_cast<uint64_t>(row.microbatch)}));
    }
  }
  Tensors outputs =
      compute_.run(row.action, function, std::move(inputs), microbatch, busyS);
  turn = {};
  const std::vector<PortSpec> &ports = *portsOf(spec_, row.action).outputs;
  if (row.action == Action::Forward)
    updates_.take(outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ports[i].channel >= 0)
      toSend_.put(ports[i].channel, row.microbatch, std::move(outputs[i]));
    else if (ports[i].saved >= 0)
      slots_.put(ports[i].saved, row.microbatch, std::move(outputs[i]));
    else if (ports[i].isLoss)
      losses[row.microbatch] = std::move(outputs[i]);
  }
}

void TrainingStep::run(int64_t step, uint64_t seed, const Feed &feed,
                       const std::function<void()> &optimize, Losses &losses,
                       double &busyS) {
  int64_t first = step * spec_.microbatches;
  messages_.expect(steps_, first);
  bool averaged = false;
  for (const Step &row : steps_) {
    auto begin = Clock::now();
    switch (row.action) {
    case Action::Receive:
      received_.put(row.channel, row.microbatch, messages_.receive(row, first));
      continue;
    case Action::Send:
      messages_.send(row, first, toSend_.take(row.channel, row.microbatch));
      continue;
    case Action::AllReduce:
      gradients_.finish();
      updates_.average();
      averaged = true;
      break;
    case Action::OptimizerStep:
      if (!averaged)
        updates_.average();
      optimize();
      compute_.synchronize();
      break;
    default:
      if (hasFunction(spec_, row.action)) {
        compute(row, step, seed, feed, losses, busyS);
        continue;
      }
    }
    if (recorder_.trace)
      recorder_.trace->add({Trace::Compute, nameOf(row.action), begin,
                            Clock::now(), static_cast<int>(first)});
  }
  messages_.finish();
}

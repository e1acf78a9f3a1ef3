// A value waits in a slot, for a message or for its function, and leaves with
// its last reader.
#include "Step.h"
#include "SampleOrder.h"

#include <ATen/Context.h>

#include <algorithm>
#include <mutex>

using namespace hethub::runtime;

TrainingStage::TrainingStage(const StageSpec &spec, Functions functions,
                             Updates updates, at::Device device,
                             Recorder &recorder)
    : spec(spec), functions(std::move(functions)), updates(std::move(updates)),
      compute(spec, device, recorder) {
  for (Action action : {Action::Backward, Action::Weight})
    for (const PortSpec &port : *portsOf(spec, action).inputs)
      if (port.saved >= 0)
        lastReader[port.saved] = action;
}

Tensors TrainingStep::inputsOf(const Step &row, const Feed &feed) {
  TrainingStage &stage = stages_[row.place];
  Tensors inputs;
  for (const PortSpec &port : *portsOf(stage.spec, row.action).inputs)
    if (port.channel >= 0)
      inputs.push_back(received_.take(port.channel, row.microbatch));
    else if (port.saved < 0)
      inputs.push_back(feed(port, row.microbatch));
    else if (stage.lastReader.at(port.saved) == row.action)
      inputs.push_back(stage.slots.take(port.saved, row.microbatch));
    else
      inputs.push_back(stage.slots.get(port.saved, row.microbatch));
  return inputs;
}

Forward TrainingStep::functionOf(size_t place, Action action) {
  const Functions &functions = stages_[place].functions;
  if (action == Action::Forward)
    return functions.forward;
  bool isBackward = action == Action::Backward;
  const auto &early =
      isBackward ? functions.earlyBackward : functions.earlyWeight;
  if (!early || !gradients_.wantsEarly(place, action))
    return isBackward ? functions.backward : functions.weight;
  return [this, place, action, &early](Tensors inputs) {
    return early(std::move(inputs), [&](size_t output, at::Tensor gradient) {
      gradients_.takeEarly(place, action, output, std::move(gradient));
    });
  };
}

void TrainingStep::compute(const Step &row, int64_t step, uint64_t seed,
                           const Feed &feed, Losses &losses, double &busyS) {
  TrainingStage &stage = stages_[row.place];
  FunctionPorts ports = portsOf(stage.spec, row.action);
  // Adding up gradients is the device's work like the rest: an emulated one
  // sleeps behind it.
  Forward function =
      [&, called = functionOf(row.place, row.action)](Tensors inputs) {
        Tensors outputs = called(std::move(inputs));
        checkOutputs(stage.spec, ports, outputs);
        gradients_.take(row.place, row.action, outputs);
        return outputs;
      };
  Tensors inputs = inputsOf(row, feed);
  int64_t microbatch = step * stage.spec.microbatches + row.microbatch;
  std::unique_lock<std::mutex> turn;
  if (stage.functions.isRandom) {
    // LibTorch has one generator a process: ranks that are threads take turns.
    static std::mutex mutex;
    turn = std::unique_lock(mutex);
    at::Generator generator = at::globalContext().defaultGenerator(device_);
    {
      std::lock_guard inside(generator.mutex());
      generator.set_current_seed(
          mixSeed({seed, static_cast<uint64_t>(step),
                   static_cast<uint64_t>(stage.spec.stage),
                   static_cast<uint64_t>(row.microbatch)}));
    }
  }
  Tensors outputs = stage.compute.run(row.action, function, std::move(inputs),
                                      microbatch, busyS);
  turn = {};
  if (row.action == Action::Forward)
    stage.updates.take(outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PortSpec &port = (*ports.outputs)[i];
    if (port.channel >= 0)
      toSend_.put(port.channel, row.microbatch, std::move(outputs[i]));
    else if (port.saved >= 0)
      stage.slots.put(port.saved, row.microbatch, std::move(outputs[i]));
    else if (port.isLoss)
      losses[row.microbatch] = std::move(outputs[i]);
  }
}

/// What the rank's stages share with other ranks, once all of them are done.
void TrainingStep::sumOverRanks() {
  gradients_.finish();
  for (TrainingStage &stage : stages_)
    stage.updates.average();
}

void TrainingStep::run(int64_t step, uint64_t seed, const Feed &feed,
                       const std::function<void()> &optimize, Losses &losses,
                       double &busyS) {
  int64_t first = step * stages_[0].spec.microbatches;
  messages_.expect(steps_, first);
  // Sums and optimizer belong to the rank: the last of its stages' rows does
  // them for all.
  auto isLast = [&](const Step &row) {
    return std::none_of(
        &row + 1, steps_.data() + steps_.size(),
        [&](const Step &later) { return later.action == row.action; });
  };
  bool summed = false;
  for (const Step &row : steps_) {
    auto begin = Clock::now();
    TrainingStage &stage = stages_[row.place];
    switch (row.action) {
    case Action::Receive:
      received_.put(row.channel, row.microbatch, messages_.receive(row, first));
      continue;
    case Action::Send:
      messages_.send(row, first, toSend_.take(row.channel, row.microbatch));
      continue;
    case Action::AllReduce:
      if (isLast(row)) {
        sumOverRanks();
        summed = true;
      }
      break;
    case Action::OptimizerStep:
      if (!isLast(row))
        break;
      if (!summed)
        sumOverRanks();
      optimize();
      stage.compute.synchronize();
      break;
    default:
      if (hasFunction(stage.spec, row.action)) {
        compute(row, step, seed, feed, losses, busyS);
        continue;
      }
    }
    if (recorder_.trace)
      recorder_.trace->add({Trace::Compute, nameOf(row.action), begin,
                            Clock::now(), static_cast<int>(first), 0, 0,
                            recorder_.stageOf(stage.spec)});
  }
  messages_.finish();
}

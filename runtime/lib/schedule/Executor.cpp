// The loop over the steps of one rank.
#include "hethub/runtime/Executor.h"
#include "Compute.h"

#include <utility>

using namespace hethub::runtime;

Executor::Executor(const StageSpec &spec, int rank,
                   std::function<Comm &(const ChannelSpec &, int)> commOf,
                   Forward forward, at::Device device,
                   const RunOptions &options, Trace *trace)
    : spec_(spec), rank_(rank), commOf_(std::move(commOf)),
      forward_(std::move(forward)), device_(device), options_(options),
      trace_(trace) {}

void Executor::run(const Feed &feed, const Sink &sink,
                   const std::function<void()> &meet, RunStats &stats) {
  std::vector<Step> steps = expandSchedule(
      spec_, placesOf(spec_, rank_)[0].replica, options_.microbatches,
      options_.drain ? 1 : options_.repeats);
  int first = 0; // microbatch of this round
  Recorder recorder{trace_, stats};
  Compute compute(spec_, device_, recorder);
  Waiting received, toSend; // by channel
  auto repeatOf = [&](const Step &step) {
    return static_cast<size_t>((first + step.microbatch) /
                               options_.microbatches);
  };

  auto forward = [&](const Step &step) {
    Tensors inputs;
    for (const PortSpec &port : spec_.inputs)
      inputs.push_back(port.channel < 0
                           ? feed(port, step.microbatch % options_.microbatches)
                           : received.take(port.channel, step.microbatch));
    Tensors outputs =
        compute.run(step.action, forward_, std::move(inputs),
                    first + step.microbatch, stats.repeatBusyS[repeatOf(step)]);
    checkOutputs(spec_, portsOf(spec_, step.action), outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const PortSpec &port = spec_.outputs[i];
      if (port.channel >= 0)
        toSend.put(port.channel, step.microbatch, std::move(outputs[i]));
      else if (repeatOf(step) + 1 == static_cast<size_t>(options_.repeats))
        sink(port, step.microbatch % options_.microbatches,
             std::move(outputs[i]));
    }
  };

  stats.repeatBusyS.assign(static_cast<size_t>(options_.repeats), 0);
  stats.repeatEndS.assign(static_cast<size_t>(options_.repeats), 0);
  Clock::time_point start;
  Messages messages({&spec_}, rank_, device_, options_.ahead, commOf_,
                    recorder);
  auto runSteps = [&] {
    messages.expect(steps, first);
    if (options_.drain)
      meet();
    if (first == 0)
      start = Clock::now();
    if (options_.drain)
      stats.repeatBeginS.push_back(secondsBetween(start, Clock::now()));
    for (const Step &step : steps) {
      if (step.action == Action::Receive)
        received.put(step.channel, step.microbatch,
                     messages.receive(step, first));
      else if (step.action == Action::Send)
        messages.send(step, first, toSend.take(step.channel, step.microbatch));
      else
        forward(step);
      stats.repeatEndS[repeatOf(step)] = secondsBetween(start, Clock::now());
    }
    messages.finish();
  };
  runSteps();
  while (options_.drain && (first += options_.microbatches) <
                               options_.microbatches * options_.repeats)
    runSteps();
  stats.startS =
      std::chrono::duration<double>(start.time_since_epoch()).count();
  stats.wallS = secondsBetween(start, Clock::now());
}

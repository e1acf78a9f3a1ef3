// The loop over the steps of one rank.
#include "hethub/runtime/Executor.h"
#include "ChannelEnds.h"
#include "Emulation.h"
#include "comm/DeviceBackends.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"

#include <map>
#include <utility>

using namespace hethub::runtime;

Executor::Executor(const StageSpec &spec, int rank,
                   std::function<Comm &(const ChannelSpec &, int)> commOf,
                   Forward forward, at::Device device,
                   const RunOptions &options, Trace *trace)
    : spec_(spec), rank_(rank), commOf_(std::move(commOf)),
      forward_(std::move(forward)), device_(device), options_(options),
      trace_(trace) {}

namespace {
using EndKey = std::pair<int, int>; ///< channel, peer

/// Equal at both ends of a message, and different for all messages of a run.
uint64_t flowOf(int channel, int microbatch) {
  return (static_cast<uint64_t>(channel) + 1) << 32 |
         static_cast<uint64_t>(microbatch);
}

/// State of one run: the ends of the channels and the values that wait to be
/// used or sent.
class Run {
public:
  Run(const StageSpec &spec, const std::vector<Step> &steps, at::Device device,
      int depth,
      const std::function<Comm &(const ChannelSpec &, int)> &commOf) {
    for (const ChannelSpec &channel : spec.channels)
      channels_.emplace(channel.id, &channel);
    std::map<EndKey, std::vector<int>> order;
    for (const Step &step : steps)
      if (step.action == Action::Receive)
        order[{step.channel, step.peerRank}].push_back(step.microbatch);
      else if (step.action == Action::Send)
        sends_.try_emplace({step.channel, step.peerRank},
                           commOf(channel(step.channel), step.peerRank),
                           channel(step.channel), step.peerRank, depth);
    for (auto &[key, microbatches] : order)
      receives_.try_emplace(key, commOf(channel(key.first), key.second),
                            channel(key.first), key.second, depth, device,
                            std::move(microbatches));
  }

  void postAhead() {
    for (auto &[key, end] : receives_)
      end.postAhead();
  }
  SendEnd &sendEnd(const Step &step) {
    return sends_.at({step.channel, step.peerRank});
  }
  ReceiveEnd &receiveEnd(const Step &step) {
    return receives_.at({step.channel, step.peerRank});
  }
  const ChannelSpec &channel(int id) const { return *channels_.at(id); }
  void finish() {
    for (auto &[key, end] : sends_)
      end.finish();
  }

  std::map<EndKey, at::Tensor> received, toSend; ///< by channel and microbatch

private:
  std::map<int, const ChannelSpec *> channels_;
  std::map<EndKey, SendEnd> sends_;
  std::map<EndKey, ReceiveEnd> receives_;
};
} // namespace

void Executor::run(const Feed &feed, const Sink &sink,
                   const std::function<void()> &meet, RunStats &stats) {
  Place place = placeOf(spec_, rank_);
  const DeviceSpec &device = spec_.stages[static_cast<size_t>(place.stage)];
  std::vector<Step> steps =
      expandSchedule(spec_, place.replica, options_.microbatches,
                     options_.drain ? 1 : options_.repeats);
  int first = 0; // microbatch of this round
  stats.emulated = isEmulated(spec_);
  if (stats.emulated)
    sleepPrecisely();
  auto record = [&](Trace::Track track, const std::string &name,
                    Clock::time_point begin, const Step &step, int64_t bytes) {
    int microbatch = first + step.microbatch;
    if (trace_)
      trace_->add({track, name, begin, Clock::now(), microbatch, bytes,
                   step.channel >= 0 ? flowOf(step.channel, microbatch) : 0});
  };

  auto compute = [&](const Step &step, Run &run) {
    Tensors inputs;
    for (const PortSpec &port : spec_.inputs) {
      if (port.channel < 0) {
        inputs.push_back(feed(port, step.microbatch % options_.microbatches));
        continue;
      }
      auto found = run.received.find({port.channel, step.microbatch});
      inputs.push_back(std::move(found->second));
      run.received.erase(found);
    }
    auto begin = Clock::now();
    Tensors outputs = forward_(std::move(inputs));
    if (device_.type() != at::kCPU)
      deviceBackend(device.kind).synchronize(device_);
    double measured = secondsBetween(begin, Clock::now());
    if (device.emulatedSlowdown > 0 &&
        !sleepOut(begin, emulatedForwardS(device, measured)))
      ++stats.overruns;
    double busy = secondsBetween(begin, Clock::now());
    int repeat = (first + step.microbatch) / options_.microbatches;
    stats.repeatBusyS[static_cast<size_t>(repeat)] += busy;
    stats.computeS.push_back(measured);
    ++stats.computes;
    record(Trace::Compute, "forward " + std::to_string(first + step.microbatch),
           begin, step, 0);
    if (outputs.size() != spec_.outputs.size())
      fail("forward of stage ", spec_.stage, " must give ",
           spec_.outputs.size(), " outputs, got: ", outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const PortSpec &port = spec_.outputs[i];
      if (outputs[i].scalar_type() != port.dtype ||
          !shapeFits(outputs[i].sizes(), port.shape))
        fail("output '", port.name, "' of stage ", spec_.stage, " must be ",
             typeName(port.dtype, port.shape),
             ", got: ", typeName(outputs[i].scalar_type(), outputs[i].sizes()));
      if (port.channel >= 0)
        run.toSend[{port.channel, step.microbatch}] = std::move(outputs[i]);
      else if (repeat + 1 == options_.repeats)
        sink(port, step.microbatch % options_.microbatches,
             std::move(outputs[i]));
    }
  };

  stats.repeatBusyS.assign(static_cast<size_t>(options_.repeats), 0);
  stats.repeatEndS.assign(static_cast<size_t>(options_.repeats), 0);
  Clock::time_point start;
  auto runSteps = [&] {
    Run run(spec_, steps, device_, options_.ahead, commOf_);
    run.postAhead();
    if (options_.drain)
      meet();
    if (first == 0)
      start = Clock::now();
    if (options_.drain)
      stats.repeatBeginS.push_back(secondsBetween(start, Clock::now()));
    for (const Step &step : steps) {
      auto begin = Clock::now();
      switch (step.action) {
      case Action::Receive: {
        at::Tensor value = run.receiveEnd(step).take(step.microbatch);
        int64_t bytes = static_cast<int64_t>(value.nbytes());
        run.received[{step.channel, step.microbatch}] = std::move(value);
        run.receiveEnd(step).postAhead();
        stats.waitS += secondsBetween(begin, Clock::now());
        stats.bytesReceived += bytes;
        if (trace_)
          record(Trace::Receive, run.channel(step.channel).name, begin, step,
                 bytes);
        break;
      }
      case Action::Send: {
        auto found = run.toSend.find({step.channel, step.microbatch});
        int64_t bytes = run.sendEnd(step).send(found->second, step.microbatch);
        run.toSend.erase(found);
        stats.sendS += secondsBetween(begin, Clock::now());
        stats.bytesSent += bytes;
        if (trace_)
          record(Trace::Send, run.channel(step.channel).name, begin, step,
                 bytes);
        break;
      }
      default:
        compute(step, run);
      }
      stats.repeatEndS[static_cast<size_t>((first + step.microbatch) /
                                           options_.microbatches)] =
          secondsBetween(start, Clock::now());
    }
    run.finish();
  };
  runSteps();
  while (options_.drain && (first += options_.microbatches) <
                               options_.microbatches * options_.repeats)
    runSteps();
  stats.startS =
      std::chrono::duration<double>(start.time_since_epoch()).count();
  stats.wallS = secondsBetween(start, Clock::now());
}

// One rank of a run.
#include "RunRank.h"
#include "ComputeSettings.h"
#include "comm/Agreement.h"
#include "comm/ChannelComms.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Weights.h"
#include "run/Inputs.h"
#include "run/TrainRank.h"

#include <c10/core/InferenceMode.h>

#include <cstdlib>

using namespace hethub::runtime;

std::string hethub::runtime::rankName(const StageSpec &spec, int rank) {
  std::vector<Place> places = placesOf(spec, rank);
  std::string stages;
  for (const Place &place : places)
    stages += (stages.empty() ? "" : ", ") + std::to_string(place.stage);
  int replica = places[0].replica;
  return "rank " + std::to_string(rank) +
         (places.size() > 1 ? " (stages " : " (stage ") + stages + " on " +
         spec.stages[static_cast<size_t>(places[0].stage)].type +
         (replica > 0 ? ", replica " + std::to_string(replica) : "") + ")";
}

RankStages hethub::runtime::stagesOf(const RankProgram &program) {
  RankStages stages;
  for (const PreparedStage &stage : program)
    stages.push_back(&stage.spec);
  return stages;
}

namespace {
int localRank() {
  for (const char *name : {"LOCAL_RANK", "SLURM_LOCALID"})
    if (const char *value = std::getenv(name))
      return std::atoi(value);
  return 0;
}

} // namespace

at::Device hethub::runtime::deviceOfRank(const StageSpec &spec, int rank) {
  const std::string &kind =
      spec.stages[static_cast<size_t>(placesOf(spec, rank)[0].stage)].kind;
  return kind == "cpu" ? at::Device(at::kCPU)
                       : deviceBackend(kind).device(localRank());
}

Exchange hethub::runtime::exchangeOf(const Connection &connection) {
  return {[store = connection.store](const std::string &key,
                                     const std::string &value) {
            store->set(key, value);
          },
          [store = connection.store](const std::string &key) {
            return store->get_to_str(key);
          }};
}

RunStats hethub::runtime::runRank(const RankProgram &program, int rank,
                                  const RunOptions &options,
                                  const Connection &connection,
                                  Outputs &outputs, Trace *trace) {
  // In inference there is no other: checkSpec.
  const auto &[spec, load, weightsPath] = program[0];
  if (spec.training)
    return trainRank(program, rank, options, connection, trace);
  if (options.train.given)
    fail("the program of '", spec.model,
         "' does not train: compile the model with --train");
  // A property of the thread.
  c10::InferenceMode inference;
  applyComputeSettings(options.threads);

  RunStats stats;
  at::Device device = deviceOfRank(spec, rank);
  InputFeed inputs(spec, options.inputs, options.microbatches, device);
  std::vector<Step> steps =
      expandSchedule(spec, placesOf(spec, rank)[0].replica,
                     options.microbatches, options.repeats);

  auto begin = Clock::now();
  Forward forward;
  {
    // Goes with what only start-up has read.
    WeightsFile weights(weightsPath, device);
    forward = load(weights).forward;
    stats.weightsBytes = weights.totalBytes();
  }
  stats.loadS = secondsBetween(begin, Clock::now());

  if (connection.store) {
    agree(*connection.store, {&spec}, rank, options.microbatches,
          options.repeats, steps);
    connection.barrier("first microbatch");
  }
  std::unique_ptr<ChannelComms> comms;
  if (connection.host)
    comms = std::make_unique<ChannelComms>(spec, *connection.host, device,
                                           exchangeOf(connection));
  Executor executor(
      spec, rank,
      [&](const ChannelSpec &channel, int peer) -> Comm & {
        return comms->of(channel, peer);
      },
      std::move(forward), device, options, trace);
  bool keepsOutputs = !options.outputs.empty();
  auto meet = [&] {
    if (connection.host)
      connection.host->barrier();
  };
  executor.run([&](const PortSpec &port,
                   int microbatch) { return inputs.get(port, microbatch); },
               [&](const PortSpec &port, int microbatch, at::Tensor value) {
                 if (keepsOutputs)
                   outputs.add(port, microbatch, std::move(value));
               },
               meet, stats);
  return stats;
}

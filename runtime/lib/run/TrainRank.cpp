// Puts the parts of a training rank together.
#include "TrainRank.h"
#include "ComputeSettings.h"
#include "comm/Agreement.h"
#include "comm/ChannelComms.h"
#include "comm/SumOverRanks.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Weights.h"
#include "train/Checkpoint.h"
#include "train/Trainer.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

using namespace hethub::runtime;

RunStats hethub::runtime::trainRank(const RankProgram &program, int rank,
                                    const RunOptions &options,
                                    const Connection &connection,
                                    Trace *trace) {
  // Properties of the thread. Backward is a function of the program: nothing
  // may record one beside it. (Inference mode would do as much, but its tensors
  // can have no gradient for torch::optim.)
  c10::NoGradGuard noGradients;
  at::AutoDispatchBelowADInplaceOrView noAutograd;
  applyComputeSettings(options.threads);
  computeDeterministically();

  RankStages stages = stagesOf(program);
  const StageSpec &spec = *stages[0];
  checkTrainOptions(spec, options);
  RunStats stats;
  at::Device device = deviceOfRank(spec, rank);
  TrainData data(stages, options.train.data, options.train.seed, device);
  auto begin = Clock::now();
  // Stages of one rank share the tensors of parameters that both have.
  std::vector<std::string> manifests;
  for (const PreparedStage &stage : program)
    manifests.push_back(stage.weightsPath);
  WeightsFile weights(manifests, device);
  std::vector<Functions> functions;
  for (const PreparedStage &stage : program)
    functions.push_back(stage.load(weights));
  stats.weightsBytes = weights.totalBytes();
  stats.loadS = secondsBetween(begin, Clock::now());

  if (connection.store) {
    agree(*connection.store, stages, rank, spec.microbatches, 1,
          stepOfRank(stages, rank), {trainSettings(options), data.samples()});
    connection.barrier("first step");
  }
  std::unique_ptr<ChannelComms> channels;
  TrainerComms comms;
  if (connection.host) {
    channels = std::make_unique<ChannelComms>(spec, *connection.host, device,
                                              exchangeOf(connection));
    comms.host = connection.host;
    comms.of = [&](const ChannelSpec &channel, int peer) -> Comm & {
      return channels->of(channel, peer);
    };
    comms.groupOf = [&](const std::vector<int> &ranks) -> Comm & {
      return channels->groupOf(ranks);
    };
  }
  Trainer trainer(stages, rank, options, weights, std::move(functions), data,
                  std::move(comms), device, trace, stats);
  trainer.run(checkpointHooks(
      options.train.checkpoint, stages, rank,
      [&](int64_t number) { return sumOverRanks(connection.host, number); }));
  return stats;
}

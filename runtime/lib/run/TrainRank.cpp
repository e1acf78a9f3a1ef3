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

RunStats hethub::runtime::trainRank(const StageSpec &spec, const Load &load,
                                    int rank, const RunOptions &options,
                                    const std::string &weightsPath,
                                    const Connection &connection,
                                    Trace *trace) {
  // Properties of the thread. Backward is a function of the program: nothing
  // may record one beside it. (Inference mode would do as much, but its tensors
  // can have no gradient for torch::optim.)
  c10::NoGradGuard noGradients;
  at::AutoDispatchBelowADInplaceOrView noAutograd;
  applyComputeSettings(options.threads);
  computeDeterministically();

  checkTrainOptions(spec, options);
  RunStats stats;
  at::Device device = deviceOfRank(spec, rank);
  TrainData data(spec, options.train.data, options.train.seed, device);
  auto begin = Clock::now();
  WeightsFile weights(weightsPath, device);
  Functions functions = load(weights);
  stats.weightsBytes = weights.totalBytes();
  stats.loadS = secondsBetween(begin, Clock::now());

  if (connection.store) {
    agree(
        *connection.store, spec, rank, spec.microbatches, 1,
        expandSchedule(spec, placeOf(spec, rank).replica, spec.microbatches, 1),
        {trainSettings(options), data.samples()});
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
  Trainer trainer(spec, rank, options, weights, std::move(functions), data,
                  std::move(comms), device, trace, stats);
  trainer.run(checkpointHooks(
      options.train.checkpoint, spec, rank,
      [&](int64_t number) { return sumOverRanks(connection.host, number); }));
  return stats;
}

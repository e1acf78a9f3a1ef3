// All ranks as threads of one process over the loop-back back end.
#include "comm/Control.h"
#include "comm/LoopbackComm.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"
#include "hethub/runtime/Run.h"
#include "io/FileWriter.h"
#include "run/RunRank.h"
#include "run/Stats.h"

#include <exception>
#include <thread>

using namespace hethub::runtime;

namespace {
/// The first failure of any rank; the others only follow.
class FirstFailure {
public:
  void set(const std::string &message) {
    std::lock_guard lock(mutex_);
    if (message_.empty())
      message_ = message;
  }
  std::string get() const { return message_; }

private:
  std::mutex mutex_;
  std::string message_;
};

void checkStages(const std::vector<PreparedStage> &stages) {
  if (stages.empty())
    fail("no stages to run");
  for (size_t i = 0; i < stages.size(); ++i) {
    checkSpec(stages[i].spec);
    if (stages[i].spec.stages.size() != stages.size() ||
        stages[i].spec.stage != static_cast<int>(i))
      fail("the plan of '", stages[i].spec.model, "' has ",
           stages[i].spec.stages.size(), " stages, got ", stages.size(),
           " programs, number ", i, " of stage ", stages[i].spec.stage);
  }
}
} // namespace

void hethub::runtime::runTogether(const std::vector<PreparedStage> &stages,
                                  const RunOptions &options) {
  checkStages(stages);
  int size = worldSize(stages[0].spec);
  LoopbackHub hub(size, options.timeoutS);
  StorePtr store = openLocalStore();
  store->setTimeout(milliseconds(options.timeoutS));
  FirstFailure failure;
  Outputs outputs;
  std::vector<std::unique_ptr<Comm>> comms;
  std::vector<std::unique_ptr<Trace>> traces;
  std::vector<RunStats> stats(static_cast<size_t>(size));
  std::vector<RankProgram> programs(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    comms.push_back(hub.comm(rank));
    traces.push_back(
        std::make_unique<Trace>(rank, rankName(stages[0].spec, rank)));
    RankProgram &program = programs[static_cast<size_t>(rank)];
    for (const Place &place : placesOf(stages[0].spec, rank))
      program.push_back(stages[static_cast<size_t>(place.stage)]);
    checkRank(stagesOf(program), rank);
  }

  auto runOne = [&](int rank) {
    auto index = static_cast<size_t>(rank);
    std::string name = rankName(stages[0].spec, rank);
    try {
      Connection connection;
      if (size > 1)
        connection = {comms[index].get(), store.get(),
                      [&](const std::string &) { comms[index]->barrier(); }};
      stats[index] =
          runRank(programs[index], rank, options, connection, outputs,
                  options.trace.empty() ? nullptr : traces[index].get());
      return;
    } catch (const AbortedError &) {
      return;
    } catch (const PeerError &error) {
      failure.set(rankName(stages[0].spec, error.peer) +
                  " failed: " + error.what());
    } catch (const std::exception &error) {
      failure.set(size == 1 ? messageOf(error)
                            : name + " failed: " + messageOf(error));
    }
    // Ranks that wait for this one's description in the store must not wait for
    // its timeout.
    store->set("agree/" + std::to_string(rank),
               std::string("{\"name\": \"\"}"));
    hub.abort("another rank failed");
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < size; ++rank)
    threads.emplace_back(runOne, rank);
  // A run of one rank stays on the caller's thread.
  std::thread first;
  if (size == 1)
    runOne(0);
  else
    first = std::thread(runOne, 0);
  if (first.joinable())
    first.join();
  for (std::thread &thread : threads)
    thread.join();
  if (!failure.get().empty())
    throw Error(failure.get());

  if (!options.outputs.empty())
    writeNpz(options.outputs, outputs.joined(options.positional));
  std::string lines;
  for (int rank = 0; rank < size; ++rank) {
    auto index = static_cast<size_t>(rank);
    lines += statsLine(stages[0].spec, rank, options, stats[index]);
    if (!options.trace.empty())
      traces[index]->write(partName(options.trace, rank, size));
  }
  if (!options.stats.empty())
    writeFile(options.stats, lines);
}

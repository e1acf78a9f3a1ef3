// A stage program as one process of a run.
#include "comm/Control.h"
#include "comm/GlooComm.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"
#include "hethub/runtime/Run.h"
#include "io/FileWriter.h"
#include "run/RunRank.h"
#include "run/Stats.h"
#include "schedule/Emulation.h"

#include <cstdio>
#include <filesystem>
#include <thread>

using namespace hethub::runtime;

namespace {
void say(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(stderr);
}

void checkWorld(const RankProgram &program, const Launch &launch) {
  const StageSpec &spec = program[0].spec;
  int needed = worldSize(spec);
  if (launch.size != needed)
    fail("the plan of '", spec.model, "' needs ", needed,
         " ranks, got: ", launch.size,
         launch.size == 1 ? " (start it with `hethub run`, torchrun or srun)"
                          : "");
  checkRank(stagesOf(program), launch.rank);
}

void warnOfFalseEmulation(const StageSpec &spec) {
  double cores = std::thread::hardware_concurrency();
  if (isEmulated(spec) && busyShares(spec) > cores)
    say("warning: emulated times mean nothing here: the stages keep " +
        std::to_string(busyShares(spec)) + " cores busy, this machine has " +
        std::to_string(static_cast<int>(cores)));
}

void writeReports(const StageSpec &spec, int rank, int size,
                  const RunOptions &options, const RunStats &stats,
                  const Trace &trace) {
  if (!options.trace.empty())
    trace.write(partName(options.trace, rank, size));
  if (!options.stats.empty())
    writeFile(partName(options.stats, rank, size),
              statsLine(spec, rank, options, stats));
}

int runAlone(const RankProgram &program, const RunOptions &options) {
  const StageSpec &spec = program[0].spec;
  Outputs outputs;
  Trace trace(0, rankName(spec, 0));
  RunStats stats = runRank(program, 0, options, {}, outputs,
                           options.trace.empty() ? nullptr : &trace);
  if (!options.outputs.empty())
    writeNpz(options.outputs, outputs.joined(options.positional));
  writeReports(spec, 0, 1, options, stats, trace);
  return 0;
}

/// Rank 0 joins the part files of all ranks, where it can see them.
void joinParts(const RunOptions &options, int size) {
  Outputs outputs;
  for (int rank = 0; rank < size; ++rank) {
    std::string part = partName(options.outputs, rank, size);
    if (!std::filesystem::exists(part)) {
      say("note: outputs stay in part files " + options.outputs +
          ".rankN: rank 0 does not see that of rank " + std::to_string(rank));
      return;
    }
    outputs.readPart(part);
  }
  writeNpz(options.outputs, outputs.joined(options.positional));
  for (int rank = 0; rank < size; ++rank)
    std::filesystem::remove(partName(options.outputs, rank, size));
}

void runWithOthers(const RankProgram &program, const RunOptions &options,
                   const Launch &launch, Control &control, StorePtr store) {
  const StageSpec &spec = program[0].spec;
  std::unique_ptr<Comm> gloo =
      makeGlooComm(store, "world", launch.rank, launch.size, launch.address,
                   options.timeoutS);
  Outputs outputs;
  Trace trace(launch.rank, rankName(spec, launch.rank));
  Connection connection{gloo.get(), store.get(), [&](const std::string &place) {
                          control.barrier(place);
                        }};
  if (launch.rank == 0)
    warnOfFalseEmulation(spec);
  RunStats stats = runRank(program, launch.rank, options, connection, outputs,
                           options.trace.empty() ? nullptr : &trace);
  // Nothing is written before all ranks have succeeded.
  control.barrier("last microbatch");
  writeReports(spec, launch.rank, launch.size, options, stats, trace);
  if (!options.outputs.empty()) {
    outputs.writePart(partName(options.outputs, launch.rank, launch.size));
    control.barrier("output");
    if (launch.rank == 0)
      joinParts(options, launch.size);
  }
  control.finish();
}

/// A failure before the rank had joined the others: leaves them a note so that
/// they need not wait for it.
void announceFailure(const Launch &launch, const std::string &message,
                     double timeoutS) {
  try {
    // Long enough for ranks that start a little later to read it.
    double patience = std::min(timeoutS, 5.0);
    StorePtr store = openStore(launch, patience);
    store->compareSet("failure", std::string(), message);
    for (double waited = 0; launch.hostsStore() && waited < patience;
         waited += 0.05) {
      if (store->add("failure/read", 0) >= launch.size - 1)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  } catch (const std::exception &) {
    // They find out by their own timeout.
  }
}
} // namespace

int hethub::runtime::runProcess(
    const std::function<RankProgram(int rank)> &prepare,
    const RunOptions &options) {
  Launch launch;
  RankProgram program;
  try {
    launch = readLaunch();
    program = prepare(launch.rank);
    for (const PreparedStage &stage : program)
      checkSpec(stage.spec);
    checkWorld(program, launch);
    if (launch.size == 1)
      return runAlone(program, options);
  } catch (const std::exception &error) {
    std::string message = messageOf(error);
    if (launch.size > 1)
      message = "rank " + std::to_string(launch.rank) + " failed: " + message;
    say(launch.size > 1 ? message : "error: " + message);
    if (launch.size > 1)
      announceFailure(launch, message, options.timeoutS);
    return 1;
  }

  std::unique_ptr<Control> control;
  std::string me = rankName(program[0].spec, launch.rank);
  std::string message;
  try {
    StorePtr store = openStore(launch, options.timeoutS);
    std::vector<std::string> names;
    for (int rank = 0; rank < launch.size; ++rank)
      names.push_back(rankName(program[0].spec, rank));
    control = std::make_unique<Control>(store, launch, names, options.timeoutS);
    control->start();
    runWithOthers(program, options, launch, *control, store);
    return 0;
  } catch (const PeerError &error) {
    // The peer may have said why itself, or have stopped for another's sake.
    std::optional<std::string> known = control->failureBehind(error.peer);
    message =
        me + " stopped: " +
        (known ? *known : control->reportFailure(error.peer, error.what()));
  } catch (const GroupError &error) {
    message = control->groupFailure(messageOf(error));
    if (!message.starts_with(me + " failed: "))
      message = me + " stopped: " + message;
  } catch (const std::exception &error) {
    std::string reason = messageOf(error);
    std::optional<std::string> known =
        control ? control->knownFailure(0) : std::nullopt;
    message = known     ? me + " stopped: " + *known
              : control ? control->reportFailure(launch.rank, reason)
                        : me + " failed: " + reason;
  }
  if (control)
    control->fail(message);
  say(message);
  return 1; // never connected: no thread is left behind
}

namespace {
/// weights.json of the executable's folder or of the one above it, which is
/// that of the first stage; of another one, in the folder beside.
std::string findManifest(const RunOptions &options, int stage, bool isFirst) {
  if (!options.weights.empty())
    return options.weights;
  std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (std::filesystem::path candidate : {folder, folder.parent_path()}) {
    if (!isFirst)
      candidate = candidate.parent_path() / ("stage_" + std::to_string(stage));
    if (std::filesystem::exists(candidate / "weights.json"))
      return (candidate / "weights.json").string();
  }
  return "";
}
} // namespace

int hethub::runtime::runStage(const StageSpec &spec, const Load &load, int argc,
                              char **argv) {
  return runStages({{spec, load}}, argc, argv);
}

int hethub::runtime::runStages(const std::vector<EmittedStage> &stages,
                               int argc, char **argv) {
  const StageSpec &spec = stages[0].spec;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    RunOptions options = takeRunOptions(arguments);
    if (!arguments.empty() &&
        (arguments[0] == "--help" || arguments[0] == "-h")) {
      std::string names;
      for (const EmittedStage &stage : stages)
        names += (names.empty() ? "" : ", ") + std::to_string(stage.spec.stage);
      std::printf("usage: %s [options]\n\nStage %s of %zu of '%s'. Rank and "
                  "number of ranks come from the environment "
                  "(torchrun, srun, hethub run).\n\noptions:\n%s",
                  argv[0], names.c_str(), spec.stages.size(),
                  spec.model.c_str(), runOptionsHelp().c_str());
      return 0;
    }
    if (!arguments.empty())
      fail("unknown argument, see --help: ", arguments[0]);
    return runProcess(
        [&](int) {
          RankProgram program;
          for (const EmittedStage &stage : stages)
            program.push_back(
                {stage.spec, stage.load,
                 findManifest(options, stage.spec.stage, program.empty())});
          return program;
        },
        options);
  } catch (const std::exception &error) {
    say("error: " + messageOf(error));
    return 1;
  }
}

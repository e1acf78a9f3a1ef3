// hh-run: executes program files through LibTorch's dispatcher, as one rank,
// all ranks, a suite, or for a profile.
#include "Programs.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Executor.h"
#include "io/FileWriter.h"
#include "program/Profile.h"
#include "program/ProgramFile.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

using namespace hethub::runtime;

namespace {
constexpr const char *usage =
    R"(usage: hh-run PROGRAM [options]            one rank: PROGRAM is OUT/stage_K/program.pb, or OUT
       hh-run --loopback OUT [options]      all stages in this process, a thread for each rank
       hh-run --suite DIR [options]         every case folder DIR/*/ with stage_K/program.pb and inputs.npz:
                                            writes outputs.npz or error.txt into it
       hh-run --profile OUT --profile-out FILE [--repeats N] [--inputs FILE.npz] [--threads N]
                                            times of the operations of a one-stage program, as JSON
       hh-run --probe BYTES [--probe-work SECONDS] [--probe-kinds FROM,TO] [--probe-via host|direct]
              [--probe-chunk BYTES] [options]
                                            one of two ranks that send BYTES a microbatch and compute as long
       hh-run --probe-sum BYTES [options]   one of several ranks that sum BYTES over all of them

Rank and number of ranks come from the environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun, hethub run)
or SLURM_PROCID, SLURM_NTASKS (srun).

options:
)";

/// Takes "--name VALUE" or "--name=VALUE" out of the arguments.
bool takeOption(std::vector<std::string> &arguments, const std::string &name,
                std::string &value) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(name + "=")) {
      value = arguments[i].substr(name.size() + 1);
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    if (arguments[i] != name)
      continue;
    if (i + 1 == arguments.size())
      fail(name, " needs a value");
    value = arguments[i + 1];
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i),
                    arguments.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    return true;
  }
  return false;
}

/// A number from 0 to `most`.
double numberOf(const std::string &name, const std::string &text, double most) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= 0 && value <= most))
    fail(name, " must be a number from 0 to ", most, ", got: ", text);
  return value;
}

/// Takes what describes a probe; nothing where none is asked for.
std::optional<ProbeOptions> takeProbe(std::vector<std::string> &arguments) {
  constexpr double most = 4294967296.0;
  ProbeOptions options;
  std::string text;
  bool probes = takeOption(arguments, "--probe", text);
  if (probes)
    options.bytes = static_cast<int64_t>(numberOf("--probe", text, most));
  if (takeOption(arguments, "--probe-work", text))
    options.workS = numberOf("--probe-work", text, 60);
  if (takeOption(arguments, "--probe-kinds", text)) {
    size_t comma = text.find(',');
    if (comma == std::string::npos || comma == 0 || comma + 1 == text.size())
      fail("--probe-kinds must be two kinds of devices with a comma between, "
           "got: ",
           text);
    options.kinds[0] = text.substr(0, comma);
    options.kinds[1] = text.substr(comma + 1);
  }
  if (takeOption(arguments, "--probe-via", text)) {
    if (text != "host" && text != "direct")
      fail("--probe-via must be host or direct, got: ", text);
    options.viaHost = text == "host";
  }
  if (takeOption(arguments, "--probe-chunk", text))
    options.chunkBytes =
        static_cast<int64_t>(numberOf("--probe-chunk", text, most));
  return probes ? std::optional(options) : std::nullopt;
}

int run(std::vector<std::string> arguments) {
  for (const std::string &argument : arguments)
    if (argument == "--help" || argument == "-h") {
      std::printf("%s%s", usage, runOptionsHelp().c_str());
      return 0;
    }
  RunOptions options = takeRunOptions(arguments);
  std::string folder, profileOut;
  bool together = takeOption(arguments, "--loopback", folder);
  bool suite = !together && takeOption(arguments, "--suite", folder);
  bool profile =
      !together && !suite && takeOption(arguments, "--profile", folder);
  takeOption(arguments, "--profile-out", profileOut);
  std::optional<ProbeOptions> probe = takeProbe(arguments);
  std::string summed;
  bool probesSum = takeOption(arguments, "--probe-sum", summed);
  size_t expected = together || suite || profile || probe || probesSum ? 0 : 1;
  if (arguments.size() > expected)
    fail("unknown argument, see --help: ", arguments[expected]);
  if (arguments.size() < expected)
    fail("no program given, see --help");

  if (together) {
    runTogether(prepareFolder(folder), options);
    return 0;
  }
  if (suite)
    return runSuite(folder, options) == 0 ? 0 : 1;
  if (profile) {
    if (profileOut.empty())
      fail("--profile needs --profile-out FILE");
    std::string path = programPath(folder, 0);
    auto program =
        std::make_shared<const hethub::StageProgram>(readProgramFile(path));
    writeFile(profileOut,
              profileProgram(program,
                             options.weights.empty() ? manifestBeside(path)
                                                     : options.weights,
                             options.inputs, options.repeats, options.threads));
    return 0;
  }
  if (probesSum)
    return probeSum(
        static_cast<int64_t>(numberOf("--probe-sum", summed, 4294967296.0)),
        options);
  if (probe)
    return runProcess(
        [&](int rank) { return RankProgram{probeStage(rank, *probe)}; },
        options);
  return runProcess(
      [&](int rank) {
        return prepareRank(arguments[0], rank, options.weights);
      },
      options);
}
} // namespace

int main(int argc, char **argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", messageOf(error).c_str());
    return 1;
  }
}

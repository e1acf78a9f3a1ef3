//===- hh-plan.cpp - plans published instances ----------------------------===//

#include "Formats.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>

using namespace llvm;
using namespace hethub::plan;

static cl::OptionCategory category("hh-plan options");
static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("FILE (- reads stdin)"),
                                      cl::cat(category));
static cl::opt<std::string> formatName("format", cl::Required,
                                       cl::desc("format of the file"),
                                       cl::value_desc("NAME"),
                                       cl::cat(category));
static cl::opt<bool> printJSON("json", cl::desc("print JSON, not a table"),
                               cl::cat(category));
static cl::opt<std::string> mode(
    "mode",
    cl::desc("contiguous (default): devices can be ordered so that no data "
             "flows backwards; free: any assignment"),
    cl::value_desc("MODE"), cl::init("contiguous"), cl::cat(category));
static cl::opt<std::string> objective(
    "objective",
    cl::desc("throughput (default): load of the busiest device; latency: "
             "finish of one sample"),
    cl::value_desc("NAME"), cl::init("throughput"), cl::cat(category));
static cl::opt<unsigned>
    accelerators("accelerators", cl::desc("this many, whatever the file says"),
                 cl::value_desc("n"), cl::cat(category));
static cl::opt<unsigned>
    cpus("cpus", cl::desc("this many CPUs, whatever the file says"),
         cl::value_desc("n"), cl::cat(category));
static cl::opt<unsigned> devices("devices",
                                 cl::desc("this many, whatever the file says"),
                                 cl::value_desc("n"), cl::cat(category));
static cl::opt<unsigned>
    microbatches("microbatches",
                 cl::desc("this many in a batch, whatever the file says"),
                 cl::value_desc("n"), cl::cat(category));
static cl::opt<double>
    bandwidth("bandwidth", cl::desc("of the links, whatever the file says"),
              cl::value_desc("bytes/s"), cl::cat(category));
static cl::opt<double>
    memory("memory", cl::desc("memory of one device, whatever the file says"),
           cl::value_desc("bytes"), cl::cat(category));
static cl::opt<double> timeLimit(
    "time-limit",
    cl::desc("end the search after this long with the best plan so far"),
    cl::value_desc("seconds"), cl::cat(category));
static cl::opt<unsigned> seed("seed", cl::desc("of the randomised searches"),
                              cl::value_desc("n"), cl::init(0),
                              cl::cat(category));

static int fail(const Twine &message) {
  WithColor::error(errs(), "hh-plan") << message << "\n";
  return 1;
}

/// The option's value if it was given.
template <typename T>
static std::optional<T> given(const cl::opt<T> &option) {
  if (option.getNumOccurrences() == 0)
    return std::nullopt;
  return option.getValue();
}

static std::string formatNames() {
  std::string names;
  for (const Format &format : formats())
    names += (names.empty() ? "" : ", ") + format.name.str();
  return names;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  std::string overview = "plans published instances, with a proof of how good "
                         "the plan is\n\nFormats:\n";
  for (const Format &format : formats())
    overview += ("  " + format.name + ": " + format.description + "\n").str();
  cl::ParseCommandLineOptions(argc, argv, overview);

  const Format *format = nullptr;
  for (const Format &known : formats())
    if (known.name == formatName)
      format = &known;
  if (!format)
    return fail("--format must be among " + formatNames() +
                ", got: " + formatName);
  const cl::Option *const special[] = {&mode,     &objective, &accelerators,
                                       &cpus,     &devices,   &microbatches,
                                       &bandwidth};
  for (const cl::Option *option : special)
    if (option->getNumOccurrences() &&
        !is_contained(format->options, option->ArgStr))
      return fail("--" + option->ArgStr + " must not be given with format " +
                  format->name);
  if (mode != "contiguous" && mode != "free")
    return fail("--mode must be contiguous or free, got: " + mode);
  if (objective != "throughput" && objective != "latency")
    return fail("--objective must be throughput or latency, got: " + objective);
  for (const auto *option : {&bandwidth, &memory, &timeLimit})
    if (option->getNumOccurrences() && !(option->getValue() >= 0))
      return fail(formatv("--{0} must be at least 0, got: {1}", option->ArgStr,
                          option->getValue()));

  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFileOrSTDIN(inputFile);
  if (std::error_code error = file.getError())
    return fail(inputFile + ": " + error.message());
  Request request;
  request.accelerators = given(accelerators);
  request.cpus = given(cpus);
  request.devices = given(devices);
  request.microbatches = given(microbatches);
  request.memoryBytes = given(memory);
  request.bandwidth = given(bandwidth);
  request.mode = mode;
  request.objective = objective;
  request.seed = seed;
  if (timeLimit.getNumOccurrences())
    request.timeLimitSeconds = timeLimit;

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Expected<Answer> answer =
      format->solve((*file)->getBuffer(), inputFile, request);
  if (!answer)
    return fail(toString(answer.takeError()));
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  if (printJSON) {
    answer->json["seconds"] = seconds;
    outs() << formatv("{0:2}", json::Value(std::move(answer->json))) << "\n";
  } else if (answer->failure.empty()) {
    outs() << answer->table << formatv("planned in {0:f3} s\n", seconds);
  }
  return answer->failure.empty() ? 0 : fail(answer->failure);
}

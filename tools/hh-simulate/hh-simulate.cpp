//===- hh-simulate.cpp - runs a plan's table in simulated time ------------===//

#include "hethub/Simulator/PipelineFile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace hethub::simulator;

static cl::OptionCategory category("hh-simulate options");
static cl::opt<std::string> planFile(cl::Positional, cl::Required,
                                     cl::desc("PLAN.json"), cl::cat(category));
static cl::opt<unsigned>
    microbatches("microbatches",
                 cl::desc("of a step (default: what the plan was made for)"),
                 cl::value_desc("m"), cl::cat(category));
static cl::opt<std::string>
    schedule("schedule",
             cl::desc("of a training step: gpipe, 1f1b or zero-bubble "
                      "(default: the plan's)"),
             cl::value_desc("KIND"), cl::cat(category));
static cl::opt<std::string>
    traceFile("trace", cl::desc("write a Chrome trace of the step"),
              cl::value_desc("FILE"), cl::cat(category));

static int fail(const Twine &message) {
  WithColor::error(errs(), "hh-simulate") << message << "\n";
  return 1;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Predicts the step time of a plan by its schedule table and prints it as "
      "JSON\n\n  hh-simulate plan.json --microbatches 16 --trace trace.json\n");
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFileOrSTDIN(planFile);
  if (!buffer)
    return fail(planFile + ": " + buffer.getError().message());
  Expected<PlannedStep> step =
      parsePlannedStep((*buffer)->getBuffer(), planFile);
  if (!step)
    return fail(toString(step.takeError()));
  if (!schedule.empty()) {
    std::optional<ScheduleKind> kind = scheduleKindOf(schedule);
    if (!kind)
      return fail("schedule must be " + scheduleKindNames() +
                  ", got: " + schedule);
    if (!step->training)
      return fail(planFile + ": schedule is one of a training step, got a plan "
                             "for inference");
    step->kind = *kind;
  }
  // A table has two rows and two messages a microbatch and stage.
  constexpr unsigned most = 1 << 20;
  if (microbatches.getNumOccurrences() &&
      (microbatches < 1 || microbatches > most))
    return fail("microbatches must be from 1 to " + Twine(most) +
                ", got: " + Twine(microbatches));
  int count = microbatches ? int(microbatches) : step->microbatches;
  Expected<Result> result = simulate(scheduleOf(*step, count), step->pipeline);
  if (!result)
    return fail(planFile + ": " + toString(result.takeError()));
  if (!traceFile.empty()) {
    std::error_code error;
    raw_fd_ostream os(traceFile, error);
    if (!error) {
      os << formatv("{0}\n", chromeTrace(*result, step->pipeline));
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      return fail(traceFile + ": " + error.message());
  }
  outs() << formatv("{0:2}\n", predictionToJSON(*step, count, *result));
  return 0;
}

//===- hh-predict.cpp - iteration times of training runs ------------------===//

#include "hethub/Predictor/Iteration.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace hethub::predictor;

static cl::OptionCategory category("hh-predict options");
static cl::opt<std::string> runsFile(cl::Positional,
                                     cl::desc("RUNS.csv (- reads stdin)"),
                                     cl::cat(category));
static cl::opt<std::string>
    constantsFile("constants", cl::desc("machine and fitted constants, JSON"),
                  cl::value_desc("FILE"), cl::cat(category));
static cl::opt<std::string> candidatesFile(
    "candidates",
    cl::desc("JSON array of constants: one column of predictions for each, in "
             "place of those of --constants"),
    cl::value_desc("FILE"), cl::cat(category));
static cl::opt<bool>
    breakdown("breakdown",
              cl::desc("also print what the iteration consists of"),
              cl::cat(category));
static cl::opt<bool> listConstants(
    "list-constants",
    cl::desc("print name, unit, bounds and meaning of each constant as JSON"),
    cl::cat(category));
static cl::opt<std::string> outputFile("o",
                                       cl::desc("write there, not to "
                                                "standard output"),
                                       cl::value_desc("FILE"), cl::init("-"),
                                       cl::cat(category));

static int fail(const Twine &message) {
  WithColor::error(errs(), "hh-predict") << message << "\n";
  return 1;
}

static Expected<std::unique_ptr<MemoryBuffer>> read(StringRef file) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFileOrSTDIN(file);
  if (std::error_code error = buffer.getError())
    return createStringError(error, file + ": " + error.message());
  return std::move(*buffer);
}

static Expected<json::Value> readJSON(StringRef file) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = read(file);
  if (!buffer)
    return buffer.takeError();
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return createStringError(
        inconvertibleErrorCode(),
        file + ": must be JSON, got: " + toString(value.takeError()));
  return value;
}

static json::Value describeConstants() {
  json::Array list;
  for (const ConstantInfo &info : constantInfos())
    list.push_back(json::Object{{"name", info.name},
                                {"unit", info.unit},
                                {"expected", info.expected},
                                {"lowest", info.lowest},
                                {"highest", info.highest},
                                {"spread", info.spread},
                                {"meaning", info.meaning}});
  return list;
}

/// The constants to predict with: those of the file, or all candidates.
static Expected<std::vector<Calibration>> readCalibrations() {
  auto inFile = [](StringRef file, Error error) {
    return createStringError(inconvertibleErrorCode(),
                             file + ": " + toString(std::move(error)));
  };
  Expected<json::Value> value = readJSON(constantsFile);
  if (!value)
    return value.takeError();
  Expected<Calibration> base = calibrationFromJSON(*value);
  if (!base)
    return inFile(constantsFile, base.takeError());
  if (candidatesFile.empty())
    return std::vector<Calibration>{*base};
  Expected<json::Value> candidates = readJSON(candidatesFile);
  if (!candidates)
    return candidates.takeError();
  const json::Array *array = candidates->getAsArray();
  if (!array || array->empty())
    return createStringError(inconvertibleErrorCode(),
                             candidatesFile +
                                 ": must be an array of constants");
  std::vector<Calibration> calibrations(array->size(), *base);
  for (size_t index = 0; index < array->size(); ++index) {
    Expected<Constants> constants = constantsFromJSON((*array)[index]);
    if (!constants)
      return inFile(candidatesFile, constants.takeError());
    calibrations[index].constants = *constants;
  }
  return calibrations;
}

static void printHeader(raw_ostream &os, size_t columns) {
  os << "id";
  if (columns == 1)
    os << ",predicted_ms";
  else
    for (size_t column = 0; column < columns; ++column)
      os << ",predicted_ms_" << column;
  if (breakdown)
    os << ",pipeline_ms,gradient_ms,optimizer_ms,fixed_ms,layer_forward_ms,"
          "layer_backward_ms,recomputes";
  os << "\n";
}

static void printRun(raw_ostream &os, const TrainingRun &run,
                     ArrayRef<Calibration> calibrations) {
  os << run.id;
  IterationTime time;
  for (const Calibration &calibration : calibrations) {
    time = predictIteration(run, calibration);
    // All digits: a fit takes differences of these.
    os << formatv(",{0:f9}", time.seconds * 1e3);
  }
  if (breakdown)
    os << formatv(",{0:f6},{1:f6},{2:f6},{3:f6},{4:f6},{5:f6},{6}",
                  time.pipelineSeconds * 1e3, time.gradientSeconds * 1e3,
                  time.optimizerSeconds * 1e3, time.fixedSeconds * 1e3,
                  time.layerForwardSeconds * 1e3,
                  time.layerBackwardSeconds * 1e3, int(time.recomputes));
  os << "\n";
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "predicts how long iterations of transformer training take\n");
  if (listConstants) {
    outs() << formatv("{0:2}", describeConstants()) << "\n";
    return 0;
  }
  if (runsFile.empty() || constantsFile.empty())
    return fail("a table of runs and --constants must be given, got: " +
                (runsFile.empty() ? Twine("no table") : "no --constants"));
  if (breakdown && !candidatesFile.empty())
    return fail("--breakdown and --candidates must not be given together");

  Expected<std::unique_ptr<MemoryBuffer>> text = read(runsFile);
  if (!text)
    return fail(toString(text.takeError()));
  Expected<std::vector<TrainingRun>> runs =
      parseTrainingRuns((*text)->getBuffer(), runsFile);
  if (!runs)
    return fail(toString(runs.takeError()));
  Expected<std::vector<Calibration>> calibrations = readCalibrations();
  if (!calibrations)
    return fail(toString(calibrations.takeError()));

  std::error_code error;
  raw_fd_ostream os(outputFile, error);
  if (error)
    return fail(outputFile + ": " + error.message());
  printHeader(os, calibrations->size());
  for (const TrainingRun &run : *runs)
    printRun(os, run, *calibrations);
  os.flush();
  if (os.has_error()) {
    std::string message = outputFile + ": " + os.error().message();
    os.clear_error();
    return fail(message);
  }
  return 0;
}

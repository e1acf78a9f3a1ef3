// Strict about what it reads: a figure that is missing must not count as 0.
#include "hethub/Simulator/PipelineFile.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace llvm;

namespace hethub::simulator {

namespace {

/// Buffers of a channel that wait for messages: the runtime's --ahead.
constexpr int64_t receivesAhead = 4;

/// Reads fields of one object; the first failure stays.
class Fields {
public:
  Fields(const json::Object *object, std::string where, std::string &failure)
      : object(object), where(std::move(where)), failure(failure) {
    if (!object)
      fail("must be an object");
  }

  void seconds(StringRef name, double &value, bool required = false) {
    const json::Value *field = find(name, required);
    if (!field)
      return;
    std::optional<double> number = field->getAsNumber();
    if (!number || !std::isfinite(*number) || *number < 0)
      return fail(name + " must be a number of at least 0, got: " +
                  formatv("{0}", *field).str());
    value = *number;
  }

  template <typename Integer>
  void integer(StringRef name, Integer &value, int64_t least,
               bool required = false) {
    const json::Value *field = find(name, required);
    if (!field)
      return;
    std::optional<int64_t> number = field->getAsInteger();
    constexpr int64_t most = std::min<int64_t>(
        std::numeric_limits<Integer>::max(), int64_t(1) << 53);
    if (!number || *number < least || *number > most)
      return fail(name + " must be a whole number from " + Twine(least) +
                  ", got: " + formatv("{0}", *field).str());
    value = Integer(*number);
  }

  void flag(StringRef name, bool &value) {
    const json::Value *field = find(name, false);
    if (!field)
      return;
    if (std::optional<bool> found = field->getAsBoolean())
      value = *found;
    else
      fail(name +
           " must be true or false, got: " + formatv("{0}", *field).str());
  }

  void text(StringRef name, std::string &value) {
    const json::Value *field = find(name, false);
    if (!field)
      return;
    if (std::optional<StringRef> found = field->getAsString())
      value = found->str();
    else
      fail(name + " must be a string, got: " + formatv("{0}", *field).str());
  }

  void fail(const Twine &message) {
    if (failure.empty())
      failure = (where.empty() ? "" : where + ": ") + message.str();
  }

private:
  const json::Value *find(StringRef name, bool required) {
    if (!object)
      return nullptr;
    const json::Value *field = object->get(name);
    if (!field && required)
      fail(name + " is missing: a plan of `hethub plan` has it");
    return field;
  }

  const json::Object *object;
  std::string where;
  std::string &failure;
};

void readStage(Fields &fields, PlannedStep &step) {
  PipelineStage stage;
  std::string type;
  int64_t limit = 0, memory = 0, live = 0, library = 0;
  fields.text("device_type", type);
  fields.integer("replicas", stage.replicas, 1);
  fields.integer("first_rank", stage.firstRank, 0);
  fields.seconds("forward_seconds", stage.forwardSeconds, true);
  fields.seconds("overhead_seconds", stage.overheadSeconds);
  fields.integer("parameter_bytes", stage.gradientBytes, 0);
  fields.integer("trained_bytes", stage.gradientBytes, 0);
  fields.integer("workspace_bytes", stage.workspaceBytes, 0);
  fields.integer("memory_bytes", memory, 0);
  fields.integer("memory_limit_bytes", limit, 0);
  fields.integer("live_bytes", live, 0);
  fields.integer("library_bytes", library, 0);
  int ranks = 0; // of the stages so far
  std::vector<int> first = firstRanks(step.pipeline);
  for (size_t index = 0; index < first.size(); ++index)
    ranks =
        std::max(ranks, first[index] + step.pipeline.stages[index].replicas);
  if (stage.firstRank > ranks)
    fields.fail(
        "first_rank must be at most " + Twine(ranks) +
        ", so that no rank is left out, got: " + Twine(stage.firstRank));
  int inFlight = 1;
  fields.integer("in_flight", inFlight, 1);
  if (step.training) {
    fields.seconds("backward_seconds", stage.backwardSeconds, true);
    fields.seconds("weight_seconds", stage.weightSeconds);
    fields.seconds("all_reduce_seconds", stage.allReduceSeconds);
    fields.seconds("optimizer_seconds", stage.optimizerSeconds);
    fields.integer("activation_bytes", stage.activationBytes, 0);
    stage.inFlight = inFlight;
  }
  int64_t kept = (int64_t(inFlight) + stage.replicas - 1) / stage.replicas *
                 stage.activationBytes;
  stage.residentBytes = memory - stage.workspaceBytes - kept;
  if (stage.residentBytes < 0)
    fields.fail("memory_bytes must be at least those of workspace and "
                "activations, got: " +
                Twine(memory));
  stage.inFlightLimit = inFlightLimitOf(stage, limit);
  // What plans are held against is the largest operation; values that others
  // read later are alive beside it.
  if (!step.training)
    stage.workspaceBytes = std::max(stage.workspaceBytes, live);
  stage.name = "stage " + std::to_string(step.pipeline.stages.size());
  if (!type.empty())
    stage.name += " (" + type + ")";
  step.deviceTypes.push_back(std::move(type));
  step.memoryLimitBytes.push_back(limit);
  step.libraryBytes.push_back(library);
  step.pipeline.stages.push_back(std::move(stage));
}

/// Stages of one rank share its memory: what is left of it is divided evenly.
void limitRanks(PlannedStep &step) {
  std::map<int, std::vector<size_t>> ranks;
  std::vector<int> first = firstRanks(step.pipeline);
  for (size_t index = 0; index < first.size(); ++index)
    ranks[first[index]].push_back(index);
  for (const auto &[rank, places] : ranks) {
    int64_t limit = step.memoryLimitBytes[places.front()];
    if (places.size() < 2 || limit == 0)
      continue;
    int64_t bytes = 0, workspace = 0;
    for (size_t index : places) {
      const PipelineStage &stage = step.pipeline.stages[index];
      bytes += stage.residentBytes + stage.inFlight * stage.activationBytes;
      workspace = std::max(workspace, stage.workspaceBytes);
    }
    int64_t share = std::max<int64_t>(0, limit - bytes - workspace) /
                    int64_t(places.size());
    for (size_t index : places) {
      PipelineStage &stage = step.pipeline.stages[index];
      if (stage.activationBytes > 0)
        stage.inFlightLimit = int(
            std::min<int64_t>(std::numeric_limits<int>::max(),
                              stage.inFlight + share / stage.activationBytes));
    }
  }
}

void readMessage(Fields &fields, PlannedStep &step) {
  Channel channel;
  bool cloned = false;
  double seconds = 0;
  int stages = int(step.pipeline.stages.size());
  fields.text("value", channel.name);
  fields.integer("from_stage", channel.fromStage, 0, true);
  fields.integer("to_stage", channel.toStage, 0, true);
  fields.integer("bytes", channel.bytes, 0);
  fields.seconds("seconds", seconds, true);
  fields.flag("cloned", cloned);
  // Without its parts the whole message occupies the link.
  channel.transferSeconds = seconds;
  fields.seconds("latency_seconds", channel.latencySeconds);
  fields.seconds("transfer_seconds", channel.transferSeconds);
  fields.seconds("copy_out_seconds", channel.copyOutSeconds);
  fields.seconds("copy_in_seconds", channel.copyInSeconds);
  fields.seconds("send_seconds", channel.sendSeconds);
  fields.seconds("receive_work_seconds", channel.receiveSeconds);
  if (channel.fromStage >= channel.toStage || channel.toStage >= stages)
    return fields.fail("must go from a stage to a later one, got: " +
                       Twine(channel.fromStage) + " to " +
                       Twine(channel.toStage) + " of " + Twine(stages) +
                       " stages");
  if (cloned) {
    step.pipeline.stages[channel.toStage].forwardSeconds += seconds;
    return;
  }
  channel.link = channel.fromStage * stages + channel.toStage;
  if (!step.training)
    step.pipeline.stages[channel.toStage].residentBytes +=
        receivesAhead * channel.bytes;
  step.pipeline.channels.push_back(std::move(channel));
}

} // namespace

Expected<PlannedStep> parsePlannedStep(StringRef text, StringRef fileName) {
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(),
                             fileName + ": " + message);
  };
  Expected<json::Value> root = json::parse(text);
  if (!root)
    return fail("not JSON: " + toString(root.takeError()));
  PlannedStep step;
  std::string failure;
  const json::Object *object = root->getAsObject();
  Fields plan(object, "", failure);
  const json::Array *stages = object ? object->getArray("stages") : nullptr;
  if (!stages || stages->empty())
    return fail("a plan must have a list of at least one stage");
  plan.flag("training", step.training);
  plan.integer("microbatches", step.microbatches, 1);
  std::string kind(toString(step.kind));
  plan.text("schedule", kind);
  if (std::optional<ScheduleKind> known = scheduleKindOf(kind))
    step.kind = *known;
  else
    plan.fail("schedule must be " + scheduleKindNames() + ", got: " + kind);
  plan.integer("microbatch_size", step.microbatchSize, 0);
  for (const json::Value &value : *stages) {
    Fields fields(value.getAsObject(),
                  "stage " + std::to_string(step.pipeline.stages.size()),
                  failure);
    readStage(fields, step);
  }
  if (isInterleaved(step.pipeline)) {
    if (!step.training)
      plan.fail("first_rank must be left out in a plan for inference: stages "
                "have ranks of their own there");
    limitRanks(step);
  }
  if (const json::Value *value = object->get("messages")) {
    const json::Array *messages = value->getAsArray();
    if (!messages)
      return fail("messages must be a list");
    for (size_t index = 0; index < messages->size(); ++index) {
      Fields fields((*messages)[index].getAsObject(),
                    "message " + std::to_string(index), failure);
      readMessage(fields, step);
    }
  }
  if (!failure.empty())
    return fail(failure);
  if (step.training)
    addGradientChannels(step.pipeline);
  return step;
}

Schedule scheduleOf(const PlannedStep &step, int microbatches) {
  return step.training
             ? trainingSchedule(step.pipeline, microbatches, step.kind)
             : inferenceSchedule(step.pipeline, microbatches);
}

double steadyStepSeconds(const PlannedStep &step, int microbatches) {
  auto secondsOf = [&](int steps) {
    Schedule schedule = scheduleOf(step, steps * microbatches);
    return simulateGenerated(schedule, step.pipeline).stepSeconds;
  };
  if (step.training)
    return secondsOf(1);
  // After so many microbatches each replica has met each of its neighbours and
  // the pipeline is full.
  int warmUp = 2;
  for (const PipelineStage &stage : step.pipeline.stages)
    warmUp += 2 * stage.replicas;
  int steps = (warmUp + microbatches - 1) / microbatches;
  return (secondsOf(2 * steps) - secondsOf(steps)) / steps;
}

json::Value predictionToJSON(const PlannedStep &step, int microbatches,
                             const Result &result) {
  double steady = steadyStepSeconds(step, microbatches);
  json::Array stages;
  size_t bottleneck = 0;
  for (size_t index = 0; index < result.stages.size(); ++index) {
    const PipelineStage &stage = step.pipeline.stages[index];
    const StageTimes &times = result.stages[index];
    if (times.imbalance < result.stages[bottleneck].imbalance)
      bottleneck = index;
    double share = result.stepSeconds * stage.replicas;
    int64_t limit = step.memoryLimitBytes[index];
    stages.push_back(json::Object{
        {"device_type", step.deviceTypes[index]},
        {"replicas", stage.replicas},
        {"forward_seconds", stage.forwardSeconds},
        {"backward_seconds", stage.backwardSeconds},
        {"weight_seconds", stage.weightSeconds},
        {"overhead_seconds", stage.overheadSeconds},
        {"busy_seconds", times.busySeconds},
        {"busy_share", share > 0 ? times.busySeconds / share : 0},
        {"imbalance", times.imbalance},
        {"fill_seconds", times.fillSeconds},
        {"drain_seconds", times.drainSeconds},
        {"idle_seconds", times.idleSeconds},
        {"receive_seconds", times.receiveSeconds},
        {"all_reduce_seconds", times.allReduceSeconds},
        {"optimizer_seconds", stage.optimizerSeconds},
        {"in_flight", times.mostInFlight},
        {"peak_bytes", times.peakBytes},
        {"process_bytes", times.peakBytes + step.libraryBytes[index]},
        {"memory_limit_bytes", limit},
        {"fits", limit == 0 || times.peakBytes <= limit}});
    if (stage.firstRank >= 0)
      (*stages.back().getAsObject())["first_rank"] = stage.firstRank;
  }
  double samples =
      double(std::max<int64_t>(1, step.microbatchSize)) * double(microbatches);
  json::Object prediction{
      {"training", step.training},
      {"microbatches", microbatches},
      {"microbatch_size", step.microbatchSize},
      {"step_seconds", result.stepSeconds},
      {"steady_step_seconds", steady},
      {"samples_per_second", steady > 0 ? samples / steady : 0},
      {"bottleneck_stage", int64_t(bottleneck)},
      {"stages", std::move(stages)}};
  if (step.training)
    prediction["schedule"] = toString(step.kind);
  return prediction;
}

} // namespace hethub::simulator

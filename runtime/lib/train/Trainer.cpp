// The loop over steps: data in, rows, optimizer, what people and checkpoints
// see.
#include "Trainer.h"
#include "LearningRate.h"
#include "StopSignal.h"
#include "comm/SumOverRanks.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"
#include "run/Outputs.h"
#include "schedule/Emulation.h"

#include <cmath>
#include <sstream>

using namespace hethub::runtime;

namespace {
// A run of many steps must not grow: times of single steps are kept for these.
constexpr size_t mostStepTimes = 1 << 12;

/// As the functions read them.
std::vector<at::Tensor> tensorsOf(const std::vector<TrainedSpec> &trained,
                                  WeightsFile &weights) {
  std::vector<at::Tensor> tensors;
  for (const TrainedSpec &parameter : trained)
    tensors.push_back(
        weights.get(parameter.name, parameter.dtype, parameter.shape));
  return tensors;
}

std::vector<at::ScalarType> gradientTypes(const Optimizer &optimizer,
                                          size_t count) {
  std::vector<at::ScalarType> types;
  for (size_t i = 0; i < count; ++i)
    types.push_back(optimizer.gradientType(i));
  return types;
}

void checkFunctions(const StageSpec &spec, const Functions &functions) {
  if (!functions.forward ||
      (hasFunction(spec, Action::Backward) && !functions.backward) ||
      (hasFunction(spec, Action::Weight) && !functions.weight))
    fail("the program of stage ", spec.stage,
         " must have all functions that its tables describe");
}

std::vector<TrainingStage>
trainingStages(const RankStages &specs, std::vector<Functions> functions,
               WeightsFile &weights, const Gradients::GroupOf &groupOf,
               at::Device device, Recorder &recorder) {
  std::vector<TrainingStage> stages;
  for (size_t i = 0; i < specs.size(); ++i) {
    checkFunctions(*specs[i], functions[i]);
    stages.emplace_back(*specs[i], std::move(functions[i]),
                        Updates(*specs[i], weights, groupOf), device, recorder);
  }
  return stages;
}
} // namespace

void hethub::runtime::checkTrainOptions(const StageSpec &spec,
                                        const RunOptions &options) {
  const TrainOptions &train = options.train;
  if (train.steps < 1)
    fail("the program of '", spec.model, "' trains: give --steps N");
  if (options.microbatches != 1 && options.microbatches != spec.microbatches)
    fail("the schedule is of ", spec.microbatches,
         " microbatches, got: --microbatches ", options.microbatches);
  if (!options.inputs.empty() || !options.outputs.empty())
    fail("the program of '", spec.model,
         "' trains: it reads --data and has no --outputs");
  if (options.repeats != 1 || options.drain)
    fail("--repeats and --drain are for inference, and the program of '",
         spec.model, "' trains: it has --steps");
  checkOptimizer(train.optimizer);
  checkLearningRate(train.learningRate, train.optimizer.learningRate,
                    train.steps);
}

std::string hethub::runtime::trainSettings(const RunOptions &options) {
  const TrainOptions &train = options.train;
  const OptimizerOptions &optimizer = train.optimizer;
  const LearningRateOptions &rate = train.learningRate;
  std::ostringstream text;
  text.precision(17);
  text << train.steps << " steps, seed " << train.seed << ", " << optimizer.name
       << " " << optimizer.learningRate << " " << optimizer.momentum << " "
       << optimizer.nesterov << " " << optimizer.beta1 << " " << optimizer.beta2
       << " " << optimizer.epsilon << " " << optimizer.weightDecay << " "
       << optimizer.decayAll << " " << optimizer.clipNorm << ", "
       << rate.schedule << " " << rate.warmupSteps << " " << rate.minimum
       << ", " << (train.data.inOrder ? "in order" : "shuffled")
       << ", checkpoint " << train.checkpoint.folder << " every "
       << train.checkpoint.every << (train.checkpoint.resume ? " resumed" : "")
       << (train.log.empty() && !train.progress ? "" : ", logged")
       << (train.ignoreNonFinite ? ", any loss" : "");
  return text.str();
}

Trainer::Trainer(const RankStages &stages, int rank, const RunOptions &options,
                 WeightsFile &weights, std::vector<Functions> functions,
                 TrainData &data, TrainerComms comms, at::Device device,
                 Trace *trace, RunStats &stats)
    : spec_(*stages[0]), rank_(rank), options_(options), train_(options.train),
      data_(data), comms_(std::move(comms)), trace_(trace), stats_(stats),
      recorder_{trace, stats, stages.size() > 1},
      steps_(stepOfRank(stages, rank)), trained_(trainedOf(stages)),
      parameters_(tensorsOf(trained_, weights)),
      optimizer_(options.train.optimizer, parameters_),
      gradients_(stages, rank, steps_,
                 gradientTypes(optimizer_, parameters_.size()), device,
                 comms_.groupOf),
      stages_(trainingStages(stages, std::move(functions), weights,
                             comms_.groupOf, device, recorder_)),
      messages_(stages, rank, device, options.ahead, comms_.of, recorder_),
      step_(stages_, steps_, messages_, gradients_, device, recorder_),
      talk_(comms_.host, spec_.microbatches) {
  state_.seed = train_.seed;
  state_.optimizer = train_.optimizer.name;
  for (size_t i = 0; i < parameters_.size(); ++i)
    state_.parameters.push_back(
        {trained_[i].name, parameters_[i], optimizer_.state(i)});
  for (const TrainingStage &stage : stages_)
    for (const auto &[name, value] : stage.updates.parameters())
      state_.parameters.push_back({name, value, {}});
}

bool Trainer::needsNorm() const {
  return train_.optimizer.clipNorm > 0 || !train_.log.empty() ||
         train_.progress;
}

void Trainer::checkLosses() const {
  if (train_.ignoreNonFinite)
    return;
  for (const auto &[microbatch, loss] : losses_)
    if (!std::isfinite(loss.item<double>()))
      fail("the loss of step ", state_.step + 1, " is ", loss.item<double>(),
           " in microbatch ", microbatch,
           "; nothing of this step was learnt (--ignore-nonfinite goes on)");
}

void Trainer::writeGradients(const std::vector<at::Tensor> &gradients) const {
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients_.answersFor(trained_[i]))
      arrays.emplace_back(trained_[i].name, gradients[i]);
  // The other replicas of a stage have nothing to say.
  if (arrays.empty())
    return;
  writeNpz(partName(train_.gradients, rank_, worldSize(spec_)), arrays);
}

void Trainer::optimize() {
  checkLosses();
  std::vector<at::Tensor> gradients = gradients_.handOver();
  if (!train_.gradients.empty() && state_.step == firstStep_)
    writeGradients(gradients);
  squares_ = needsNorm() ? gradients_.squares(gradients) : 0;
  if (double most = train_.optimizer.clipNorm; most > 0) {
    // As torch.nn.utils.clip_grad_norm_, over all stages.
    double squares = sumOverRanks(comms_.host, squares_);
    double scale = std::min(1.0, most / (std::sqrt(squares) + 1e-6));
    for (at::Tensor &gradient : gradients)
      gradient.mul_(scale);
  }
  auto begin = Clock::now();
  optimizer_.step(learningRateAt(train_.learningRate,
                                 train_.optimizer.learningRate, state_.step,
                                 train_.steps),
                  std::move(gradients));
  sleepInProportion(spec_.stages[static_cast<size_t>(spec_.stage)], begin);
}

void Trainer::oneStep() {
  int64_t firstSample = state_.samples;
  int64_t perMicrobatch = samplesPerStep(spec_) / spec_.microbatches;
  recorder_.trace =
      state_.step - firstStep_ < train_.traceSteps ? trace_ : nullptr;
  auto begin = Clock::now();
  double busyS = 0;
  losses_.clear();
  step_.run(
      state_.step, state_.seed,
      [&](const PortSpec &port, int microbatch) {
        return data_.get(port, firstSample + microbatch * perMicrobatch);
      },
      [&] { optimize(); }, losses_, busyS);
  auto end = Clock::now();
  if (stats_.repeatEndS.size() < mostStepTimes) {
    auto sinceStart = [&](Clock::time_point time) {
      return std::chrono::duration<double>(time.time_since_epoch()).count() -
             stats_.startS;
    };
    stats_.repeatBeginS.push_back(sinceStart(begin));
    stats_.repeatEndS.push_back(sinceStart(end));
    stats_.repeatBusyS.push_back(busyS);
  }
  if (talk_.isFirstRank())
    ends_.push_back(end);
  ++stats_.steps;
  ++state_.step;
  state_.samples += samplesPerStep(spec_);
}

void Trainer::log(size_t keep) {
  while (std::optional<StepReport> report = talk_.collect(keep)) {
    StepLine line;
    for (double loss : report->losses)
      line.loss += loss;
    line.loss /= static_cast<double>(report->losses.size());
    line.learningRate =
        learningRateAt(train_.learningRate, train_.optimizer.learningRate,
                       logged_, train_.steps);
    if (needsNorm())
      line.gradientNorm = std::sqrt(report->squares);
    line.step = ++logged_;
    line.end = ends_.front();
    ends_.pop_front();
    log_->add(line);
    stopReported_ |= report->wantsStop;
  }
}

void Trainer::run(const TrainHooks &hooks) {
  if (hooks.restore)
    hooks.restore(state_);
  optimizer_.setSteps(state_.step);
  data_.setSeed(state_.seed);
  firstStep_ = logged_ = state_.step;
  if (talk_.isFirstRank())
    log_ =
        std::make_unique<TrainLog>(train_, samplesPerStep(spec_), state_.step);
  catchStopSignal();
  auto start = Clock::now();
  stats_.startS =
      std::chrono::duration<double>(start.time_since_epoch()).count();
  for (bool isLast = state_.step >= train_.steps; !isLast;) {
    talk_.begin(state_.step + 1 >= train_.steps || stopReported_ ||
                stopIsRequested());
    oneStep();
    StepReport report;
    report.losses.resize(static_cast<size_t>(spec_.microbatches));
    for (const auto &[microbatch, loss] : losses_)
      report.losses[static_cast<size_t>(microbatch)] = loss.item<double>();
    report.squares = squares_;
    report.wantsStop = stopIsRequested();
    isLast = talk_.end(report);
    // A step late: the other ranks' reports are there by then.
    if (talk_.isFirstRank())
      log(isLast ? 0 : 1);
    if (hooks.afterStep)
      hooks.afterStep(state_, isLast);
  }
  talk_.finish();
  stats_.wallS = secondsBetween(start, Clock::now());
}

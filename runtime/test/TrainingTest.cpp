// Whole training runs on the loop-back back end and in processes, against
// LibTorch's autograd and torch::optim in one process.
#include "Processes.h"
#include "TrainingPrograms.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Executor.h"
#include "hethub/runtime/Npz.h"
#include "hethub/runtime/Weights.h"
#include "program/Interpreter.h"
#include "program/Specification.h"
#include "train/CheckpointFiles.h"
#include "train/LearningRate.h"
#include "train/SampleOrder.h"
#include "weights/SafetensorsWriter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <csignal>
#include <fstream>
#include <thread>

using namespace hethub;
using namespace hethub::runtime;
using namespace hethub::runtime::test;
using nlohmann::json;

namespace {
using Named = std::map<std::string, at::Tensor>;

/// |a - b| / |b|, over all elements.
double relative(const at::Tensor &a, const at::Tensor &b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

class Training : public testing::Test {
protected:
  void SetUp() override {
    initial = net.parameters(7);
    NamedTensors tensors(initial.begin(), initial.end());
    writeSafetensors(folder / "weights.safetensors", tensors);
    x = at::randn({samples, net.width});
    labels = at::rand({samples, net.width});
    writeNpz(folder / "data.npz", {{"x", x}, {"labels", labels}});
    options.timeoutS = 60;
    TrainOptions &train = options.train;
    train.steps = 20;
    train.data = {folder / "data.npz", 0, "uint16", true};
    train.log = folder / "log.jsonl";
    train.gradients = folder / "gradients.npz";
    train.checkpoint.folder = folder / "checkpoint";
    train.optimizer = {.name = "sgd", .learningRate = 0.1};
  }

  std::vector<PreparedStage>
  prepare(const std::vector<StageProgram> &programs) {
    std::vector<PreparedStage> stages;
    for (const StageProgram &program : programs)
      stages.push_back({specificationOf(program),
                        loaderOf(std::make_shared<StageProgram>(program)),
                        folder / "weights.safetensors"});
    return stages;
  }

  std::string refusal(const std::vector<StageProgram> &programs) {
    try {
      runTogether(prepare(programs), options);
    } catch (const std::exception &error) {
      return error.what();
    }
    return "no error";
  }

  struct Outcome {
    Named gradients; ///< of the first step
    Named parameters;
    std::vector<double> losses, norms;
  };

  Outcome outcome(int ranks) {
    Outcome result;
    for (int rank = 0; rank < ranks; ++rank) {
      std::string part = options.train.gradients +
                         (ranks == 1 ? "" : ".rank" + std::to_string(rank));
      // A rank that answers for no parameter writes nothing.
      if (!std::filesystem::exists(part))
        continue;
      NpzReader reader(part);
      for (const std::string &name : reader.names()) {
        EXPECT_FALSE(result.gradients.count(name)) << name << " counts twice";
        result.gradients[name] = reader.read(name);
      }
      std::filesystem::remove(part);
    }
    std::ifstream log(options.train.log);
    for (std::string line; std::getline(log, line);) {
      json step = json::parse(line);
      EXPECT_EQ(step["step"], static_cast<int>(result.losses.size()) + 1);
      result.losses.push_back(step["loss"]);
      result.norms.push_back(step["gradient_norm"]);
    }
    result.parameters = saved();
    return result;
  }
  Named saved() {
    Named result;
    auto newest = newestCheckpoint(options.train.checkpoint.folder);
    if (!newest)
      return result;
    for (int stage = 0;
         std::filesystem::exists(*newest + "/" + parameterFile(stage));
         ++stage) {
      WeightsFile file(*newest + "/" + parameterFile(stage));
      for (const std::string &name : file.names())
        result[name] =
            file.get(name, at::kFloat, initial.at(name).sizes()).clone();
    }
    return result;
  }

  Outcome train(const NetPlan &plan) {
    std::filesystem::remove_all(options.train.checkpoint.folder);
    runTogether(prepare(trainingPrograms(net, plan)), options);
    int ranks = 0;
    for (size_t i = 0; i < plan.replicas.size(); ++i) {
      int first = plan.firstRanks.empty() ? ranks : plan.firstRanks[i];
      ranks = std::max(ranks, first + plan.replicas[i]);
    }
    return outcome(ranks);
  }

  /// The same in plain LibTorch.
  Outcome oracle(int microbatches,
                 const std::function<int64_t(int64_t)> &sampleAt = {}) {
    Outcome result;
    Named parameters;
    std::vector<at::Tensor> matrices, vectors;
    for (const auto &[name, value] : initial) {
      parameters[name] = value.clone().set_requires_grad(true);
      (value.dim() > 1 ? matrices : vectors).push_back(parameters[name]);
    }
    const OptimizerOptions &with = options.train.optimizer;
    double decay = std::max(0.0, with.weightDecay);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(matrices);
    groups.emplace_back(vectors);
    std::unique_ptr<torch::optim::Optimizer> optimizer;
    auto decayMatrices = [&](auto &made, auto kind) {
      using Kind = decltype(kind);
      for (int i : {0, 1})
        static_cast<Kind &>(made->param_groups()[i].options())
            .weight_decay(i == 0 || with.decayAll ? decay : 0);
      optimizer = std::move(made);
    };
    if (with.name == "sgd") {
      auto made = std::make_unique<torch::optim::SGD>(
          groups, torch::optim::SGDOptions(with.learningRate)
                      .momentum(with.momentum)
                      .nesterov(with.nesterov));
      decayMatrices(made, torch::optim::SGDOptions(0));
    } else if (with.name == "adam") {
      auto made = std::make_unique<torch::optim::Adam>(
          groups, torch::optim::AdamOptions(with.learningRate));
      decayMatrices(made, torch::optim::AdamOptions());
    } else {
      auto made = std::make_unique<torch::optim::AdamW>(
          groups, torch::optim::AdamWOptions(with.learningRate));
      decayMatrices(made, torch::optim::AdamWOptions());
    }
    int64_t position = 0;
    for (int64_t step = 0; step < options.train.steps; ++step) {
      optimizer->zero_grad();
      double total = 0;
      for (int j = 0; j < microbatches; ++j) {
        std::vector<int64_t> chosen;
        for (int64_t i = 0; i < net.batch; ++i, ++position)
          chosen.push_back(sampleAt ? sampleAt(position) : position % samples);
        at::Tensor rows = at::tensor(chosen, at::kLong);
        at::Tensor loss = net.loss(parameters, x.index_select(0, rows),
                                   labels.index_select(0, rows));
        total += loss.item<double>();
        (loss / microbatches).backward();
      }
      result.losses.push_back(total / microbatches);
      at::NoGradGuard noGradients;
      double squares = 0;
      for (auto &[name, value] : parameters) {
        squares += value.grad().square().sum().item<double>();
        if (step == 0)
          result.gradients[name] = value.grad().clone();
      }
      result.norms.push_back(std::sqrt(squares));
      if (with.clipNorm > 0)
        for (auto &[name, value] : parameters)
          value.mutable_grad().mul_(
              std::min(1.0, with.clipNorm / (std::sqrt(squares) + 1e-6)));
      for (auto &group : optimizer->param_groups())
        group.options().set_lr(learningRateAt(options.train.learningRate,
                                              with.learningRate, step,
                                              options.train.steps));
      optimizer->step();
    }
    for (auto &[name, value] : parameters)
      result.parameters[name] = value.detach();
    return result;
  }

  void expectEqual(const Outcome &ours, const Outcome &torch,
                   const std::string &label) {
    SCOPED_TRACE(label);
    ASSERT_EQ(ours.gradients.size(), torch.gradients.size());
    for (const auto &[name, gradient] : torch.gradients)
      EXPECT_LT(relative(ours.gradients.at(name), gradient), 1e-5) << name;
    ASSERT_EQ(ours.losses.size(), torch.losses.size());
    for (size_t i = 0; i < torch.losses.size(); ++i) {
      EXPECT_NEAR(ours.losses[i], torch.losses[i], 1e-4 * torch.losses[i])
          << "step " << i;
      EXPECT_NEAR(ours.norms[i], torch.norms[i], 1e-4 * torch.norms[i]);
    }
    ASSERT_EQ(ours.parameters.size(), torch.parameters.size());
    for (const auto &[name, value] : torch.parameters)
      EXPECT_LT(relative(ours.parameters.at(name), value), 1e-5) << name;
  }

  static constexpr int64_t samples = 50; // not a multiple of a step's 18
  Net net;
  Named initial;
  at::Tensor x, labels;
  TemporaryFolder folder;
  RunOptions options;
};

TEST_F(Training, EqualsAutogradOnEveryPlan) {
  Outcome torch = oracle(6);
  for (Table table :
       {Table::GPipe, Table::OneForwardOneBackward, Table::ZeroBubble})
    for (const auto &[blocks, replicas] :
         {std::pair<std::vector<int>, std::vector<int>>{{4}, {1}},
          {{4}, {3}},
          {{2, 2}, {1, 1}},
          {{1, 3}, {2, 1}},
          {{3, 1}, {1, 3}},
          {{2, 2}, {2, 3}},
          {{1, 1, 2}, {1, 2, 1}},
          {{1, 1, 1, 1}, {1, 1, 1, 1}},
          {{1, 1, 1, 1}, {2, 1, 3, 2}}}) {
      NetPlan plan{blocks, replicas, 6, table};
      expectEqual(train(plan), torch, plan.label());
    }
}

TEST_F(Training, EqualsEveryOptimizer) {
  NetPlan plan{{1, 3}, {1, 2}, 6};
  TrainOptions &options = this->options.train;
  for (OptimizerOptions optimizer :
       {OptimizerOptions{.name = "sgd", .learningRate = 0.05, .momentum = 0.9},
        {.name = "sgd",
         .learningRate = 0.05,
         .momentum = 0.9,
         .nesterov = true,
         .weightDecay = 0.1},
        {.name = "adam", .learningRate = 0.01},
        {.name = "adam", .learningRate = 0.01, .weightDecay = 0.1},
        {.name = "adamw", .learningRate = 0.01, .weightDecay = 0.1},
        {.name = "adamw",
         .learningRate = 0.01,
         .weightDecay = 0.1,
         .decayAll = true},
        {.name = "sgd",
         .learningRate = 0.1,
         .weightDecay = 0,
         .clipNorm = 0.05}}) {
    options.optimizer = optimizer;
    expectEqual(train(plan), oracle(6), optimizer.name);
  }
  options.learningRate = {"cosine", 5, 0.001};
  expectEqual(train(plan), oracle(6), "warm-up and cosine");
}

TEST_F(Training, FewerMicrobatchesThanStagesOrReplicas) {
  expectEqual(train({{1, 1, 1, 1}, {1, 1, 1, 1}, 2}), oracle(2), "2 of 4");
  expectEqual(train({{2, 2}, {3, 1}, 2}), oracle(2), "an idle replica");
}

TEST_F(Training, InterleavedStagesGiveTheSameBits) {
  net.blocks = 6;
  SetUp();
  Outcome torch = oracle(6);
  // The first and the last stage share a weight: on two ranks, and on one.
  for (const auto &[blocks, replicas, firstRanks] :
       {std::tuple<std::vector<int>, std::vector<int>, std::vector<int>>{
            {2, 1, 2, 1}, {1, 1, 1, 1}, {0, 1, 0, 1}},
        {{1, 2, 3}, {1, 1, 1}, {0, 1, 0}},
        {{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, {0, 1, 0, 1, 0, 1}},
        {{3, 3}, {1, 1}, {0, 0}},
        {{2, 1, 2, 1}, {2, 2, 2, 2}, {0, 2, 0, 2}}})
    for (Table table :
         {Table::GPipe, Table::OneForwardOneBackward, Table::ZeroBubble}) {
      NetPlan plan{blocks, replicas, 6, table};
      Outcome apart = train(plan);
      plan.firstRanks = firstRanks;
      Outcome ours = train(plan);
      expectEqual(ours, torch, plan.label());
      EXPECT_EQ(ours.losses, apart.losses);
      for (const auto &[name, gradient] : apart.gradients)
        EXPECT_TRUE(at::equal(ours.gradients.at(name), gradient)) << name;
      for (const auto &[name, value] : apart.parameters)
        EXPECT_TRUE(at::equal(ours.parameters.at(name), value)) << name;
    }
}

TEST_F(Training, InterleavedStagesGoOnFromOtherPlansAndBack) {
  options.train.optimizer = {.name = "adamw", .learningRate = 0.01};
  NetPlan apart{{2, 2}, {1, 1}, 6}, interleaved{{1, 1, 1, 1}, {1, 1, 1, 1}, 6};
  interleaved.firstRanks = {0, 1, 0, 1};
  Outcome whole = train(apart);
  std::filesystem::remove_all(options.train.checkpoint.folder);
  for (int steps : {5, 10, 15, 20}) {
    // Its learning rate is constant: the number of steps changes nothing else.
    options.train.steps = steps;
    options.train.checkpoint.resume = steps > 5;
    runTogether(prepare(trainingPrograms(net, steps % 2 ? interleaved : apart)),
                options);
  }
  ASSERT_EQ(saved().size(), whole.parameters.size());
  for (const auto &[name, value] : saved())
    EXPECT_TRUE(at::equal(value, whole.parameters.at(name))) << name;
}

TEST_F(Training, TheTraceOfARankWithSeveralStagesIsItsTable) {
  options.trace = folder / "trace.json";
  options.train.steps = 1;
  NetPlan plan{{1, 1, 1, 1}, {1, 1, 1, 1}, 6};
  plan.firstRanks = {0, 1, 0, 1};
  std::vector<StageProgram> programs = trainingPrograms(net, plan);
  runTogether(prepare(programs), options);
  for (int rank : {0, 1}) {
    std::map<int, std::string> table; // by position
    for (const StageProgram &program : programs)
      for (const ScheduleRow &row : program.schedule().rows())
        if (row.action() != RECEIVE && row.action() != SEND &&
            program.stage() % 2 == rank) {
          static const char *names[] = {
              "",         "",       "forward",    "",
              "backward", "weight", "all-reduce", "optimizer step"};
          std::string name = names[row.action()];
          if (row.action() < ALL_REDUCE)
            name += " " + std::to_string(row.microbatch());
          table[row.position()] =
              name + " of stage " + std::to_string(program.stage());
        }
    std::vector<std::string> expected, traced;
    for (const auto &[position, name] : table)
      expected.push_back(name);
    json trace = json::parse(
        std::ifstream(options.trace + ".rank" + std::to_string(rank)));
    for (const json &event : trace["traceEvents"])
      if (event["ph"] == "X" && event["tid"] == 0)
        traced.push_back(event["name"].get<std::string>() + " of stage " +
                         std::to_string(event["args"]["stage"].get<int>()));
    EXPECT_EQ(traced, expected);
  }
}

TEST_F(Training, BadRanksAreNamed) {
  NetPlan plan{{1, 1, 2}, {1, 1, 1}, 6};
  plan.firstRanks = {0, 1, 0};
  std::vector<StageProgram> good = trainingPrograms(net, plan), bad = good;
  auto inAll = [&](auto change) {
    bad = good;
    for (StageProgram &program : bad)
      change(program);
    return refusal(bad);
  };
  EXPECT_EQ(inAll([](StageProgram &program) {
              program.mutable_stages(2)->set_first_rank(3);
            }),
            "the first rank of stage 2 must be at most 2, so that none is left "
            "out, got: 3");
  EXPECT_EQ(inAll([](StageProgram &program) {
              program.mutable_stages(2)->set_device_type("other");
            }),
            "the stages of a rank must have one device type, got: 'type' of "
            "stage 0 and 'other' of stage 2");
  EXPECT_EQ(inAll([](StageProgram &program) {
              program.mutable_stages(2)->set_replicas(2);
            }),
            "stages that share a rank must share all of theirs, got: stages 0 "
            "and 2 on rank 0");
  EXPECT_EQ(inAll([](StageProgram &program) {
              for (auto &row : *program.mutable_schedule()->mutable_rows())
                row.set_position(0);
            }),
            "rows of rank 0 must have positions of their own, got: 0 twice");
  std::vector<StageSpec> specs;
  for (const StageProgram &program : good)
    specs.push_back(specificationOf(program));
  auto ofRank = [&](const RankStages &stages, int rank) -> std::string {
    try {
      checkRank(stages, rank);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(ofRank({&specs[0], &specs[2]}, 0), "no error");
  EXPECT_EQ(ofRank({&specs[2]}, 0),
            "rank 0 must run stage 0, 2, got a program of stage 2");
  EXPECT_EQ(ofRank({&specs[0]}, 1),
            "rank 1 must run stage 1, got a program of stage 0");
  bad = good;
  bad[2].set_plan_hash("other");
  EXPECT_EQ(refusal(bad), "the stages of rank 0 must be of one plan, got "
                          "another one's stage 2");
}

TEST_F(Training, UntiedWeightsAndShortQueues) {
  net.tied = false;
  SetUp();
  options.ahead = 1;
  expectEqual(train({{1, 2, 1}, {2, 1, 1}, 6}), oracle(6), "untied");
}

TEST_F(Training, ShufflesTheSameOnEveryPlan) {
  options.train.data.inOrder = false;
  options.train.seed = 11;
  SampleOrder order(samples, 11, false);
  Outcome torch =
      oracle(6, [&](int64_t position) { return order.at(position); });
  expectEqual(train({{4}, {1}, 6}), torch, "one stage");
  expectEqual(train({{2, 2}, {2, 3}, 6}), torch, "replicas");
}

TEST_F(Training, GoesOnWhereItStopped) {
  options.train.data.inOrder = false;
  options.train.optimizer = {.name = "adamw", .learningRate = 0.01};
  Outcome whole = train({{2, 2}, {1, 2}, 6});
  // Seven steps on one plan, the rest on another.
  options.train.steps = 20;
  options.train.checkpoint.every = 7;
  options.train.checkpoint.kept = 0;
  train({{2, 2}, {1, 2}, 6});
  std::string folder = options.train.checkpoint.folder;
  std::filesystem::remove_all(folder + "/step-000014");
  std::filesystem::remove_all(folder + "/step-000020");
  std::filesystem::remove(folder + "/latest");
  options.train.checkpoint.resume = true;
  runTogether(prepare(trainingPrograms(net, {{2, 2}, {1, 2}, 6})), options);
  for (const auto &[name, value] : saved())
    EXPECT_TRUE(at::equal(value, whole.parameters.at(name))) << name;
  // The log has gone on as well.
  std::ifstream log(options.train.log);
  int lines = 0;
  for (std::string line; std::getline(log, line);)
    ++lines;
  EXPECT_EQ(lines, 20 + 13);
}

TEST_F(Training, TheTraceIsTheTable) {
  options.trace = folder / "trace.json";
  options.train.steps = 4;
  options.train.traceSteps = 2;
  NetPlan plan{{1, 2, 1}, {1, 2, 1}, 6, Table::ZeroBubble};
  std::vector<StageProgram> programs = trainingPrograms(net, plan);
  runTogether(prepare(programs), options);
  int rank = 0;
  for (const StageProgram &program : programs)
    for (int replica = 0; replica < program.stages(program.stage()).replicas();
         ++replica, ++rank) {
      std::vector<std::string> expected, traced;
      for (int step = 0; step < 2; ++step)
        for (const ScheduleRow &row : program.schedule().rows()) {
          if (row.replica() != replica)
            continue;
          int microbatch = step * 6 + row.microbatch();
          static const char *names[] = {
              "",          "",        "forward ",   "",
              "backward ", "weight ", "all-reduce", "optimizer step"};
          std::string name = names[row.action()];
          if (name.ends_with(" "))
            name += std::to_string(microbatch);
          for (const Channel &channel : program.channels())
            if (channel.id() == row.channel() && row.channel() >= 0)
              name = channel.name() + " " + std::to_string(microbatch);
          expected.push_back(name);
        }
      json trace = json::parse(
          std::ifstream(options.trace + ".rank" + std::to_string(rank)));
      std::vector<std::pair<double, std::string>> events;
      for (const json &event : trace["traceEvents"])
        if (event["ph"] == "X") {
          std::string name = event["name"];
          if (event["tid"] != 0)
            name += " " + event["args"]["microbatch"].dump();
          events.emplace_back(event["ts"].get<double>(), name);
        }
      std::stable_sort(events.begin(), events.end(),
                       [](auto &a, auto &b) { return a.first < b.first; });
      for (auto &[time, name] : events)
        traced.push_back(name);
      EXPECT_EQ(traced, expected) << "rank " << rank;
    }
}

TEST_F(Training, EmulatedFunctionsTakeTheirTime) {
  NetPlan plan{{2, 2}, {1, 1}, 4, Table::ZeroBubble};
  std::vector<StageProgram> programs = trainingPrograms(net, plan);
  for (StageProgram &program : programs) {
    Stage &stage = *program.mutable_stages(0);
    stage.set_emulated_slowdown(2);
    stage.set_profiled_forward_s(0.002);
    stage.set_profiled_backward_s(0.004);
    stage.set_profiled_weight_s(0.001);
  }
  options.stats = folder / "stats.json";
  options.train.steps = 3;
  runTogether(prepare(programs), options);
  std::ifstream file(options.stats);
  std::string line;
  std::getline(file, line);
  json stats = json::parse(line);
  ASSERT_EQ(stats["repeat_busy_s"].size(), 3u);
  for (const json &busy : stats["repeat_busy_s"])
    EXPECT_GE(busy.get<double>(), 4 * 2 * 0.007);
  EXPECT_EQ(stats["computes"], 3 * 4 * 3);
  EXPECT_EQ(stats["microbatches"], 4);
}

TEST_F(Training, BadInputIsNamed) {
  NetPlan plan{{2, 2}, {1, 1}, 6};
  std::vector<StageProgram> programs = trainingPrograms(net, plan);
  std::string data = folder / "data.npz";
  writeNpz(data, {{"x", x}, {"labels", labels.to(at::kLong)}});
  EXPECT_EQ(refusal(programs),
            "rank 1 (stage 1 on type1) failed: input 'labels' must be "
            "?x5xfloat32 in " +
                data +
                " with 1 on axis 0 for each sample, "
                "got: 50x5xint64");
  writeNpz(data, {{"x", x}});
  EXPECT_EQ(refusal(programs), "rank 1 (stage 1 on type1) failed: input "
                               "'labels' is missing in " +
                                   data + ", which has: x");
  writeNpz(data, {{"x", x.slice(0, 0, 17)}, {"labels", labels}});
  EXPECT_EQ(refusal(programs),
            "rank 0 (stage 0 on type0) failed: the data must have at least "
            "the 18 samples of one step (6 microbatches of 3), got: 17 in " +
                data);
  writeNpz(data, {{"x", x.slice(0, 0, 40)}, {"labels", labels}});
  EXPECT_NE(refusal(programs).find("must agree on the number of samples, got:"),
            std::string::npos);
  writeNpz(data, {{"x", x}, {"labels", labels}});
  options.train.steps = 0;
  EXPECT_NE(refusal(programs).find("trains: give --steps N"),
            std::string::npos);
  options.train.steps = 2;
  options.microbatches = 4;
  EXPECT_NE(refusal(programs).find(
                "the schedule is of 6 microbatches, got: --microbatches 4"),
            std::string::npos);
  options.microbatches = 1;
  options.repeats = 2;
  EXPECT_NE(refusal(programs).find("--repeats and --drain are for inference"),
            std::string::npos);
  options.repeats = 1;
  options.train.optimizer.nesterov = true;
  EXPECT_NE(refusal(programs).find("--nesterov needs a --momentum"),
            std::string::npos);
  options.train.optimizer.nesterov = false;
  std::filesystem::remove_all(options.train.checkpoint.folder);
  labels.index_put_({20, 2}, std::nan(""));
  writeNpz(data, {{"x", x}, {"labels", labels}});
  EXPECT_NE(refusal(programs).find(
                "rank 1 (stage 1 on type1) failed: the loss of step 2 is nan "
                "in microbatch 0"),
            std::string::npos);
  EXPECT_FALSE(newestCheckpoint(options.train.checkpoint.folder));
  options.train.ignoreNonFinite = true;
  EXPECT_EQ(refusal(programs), "no error");
}

TEST_F(Training, ProcessesTrainAsThreadsDo) {
  // Stage 0 is ten microbatches ahead. Were sends waited for, the gradients
  // that skip from the last stage to it would stop that one before stage 0
  // comes to take them.
  NetPlan plan{{1, 2, 1}, {1, 2, 1}, 12};
  plan.firstAhead = 10;
  writePrograms(trainingPrograms(net, plan), folder.path().string());
  Processes processes{folder.path().string()};
  int port = freePort();
  std::vector<std::string> arguments = {folder.path().string(),
                                        "--ahead",
                                        "1",
                                        "--weights",
                                        folder / "weights.safetensors",
                                        "--data",
                                        folder / "data.npz",
                                        "--in-order",
                                        "--steps",
                                        "20",
                                        "--optimizer",
                                        "sgd",
                                        "--learning-rate",
                                        "0.1",
                                        "--log",
                                        options.train.log,
                                        "--gradients",
                                        options.train.gradients,
                                        "--checkpoint",
                                        options.train.checkpoint.folder,
                                        "--timeout",
                                        "60"};
  for (int rank = 0; rank < 4; ++rank)
    processes.start(arguments, rankEnvironment(rank, 4, port));
  for (size_t rank = 0; rank < 4; ++rank)
    ASSERT_EQ(processes.wait(rank, 120), 0) << processes.errors(rank);
  expectEqual(outcome(4), oracle(12), "processes");
}

TEST_F(Training, AStopSignalEndsAllRanksAfterOneStep) {
  NetPlan plan{{1, 3}, {1, 1}, 6};
  std::vector<StageProgram> programs = trainingPrograms(net, plan);
  for (StageProgram &program : programs)
    for (Stage &stage : *program.mutable_stages()) {
      stage.set_emulated_slowdown(2);
      stage.set_profiled_forward_s(0.005);
    }
  writePrograms(programs, folder.path().string());
  Processes processes{folder.path().string()};
  int port = freePort();
  std::vector<std::string> arguments = {folder.path().string(),
                                        "--weights",
                                        folder / "weights.safetensors",
                                        "--data",
                                        folder / "data.npz",
                                        "--steps",
                                        "100000",
                                        "--log",
                                        options.train.log,
                                        "--checkpoint",
                                        options.train.checkpoint.folder,
                                        "--checkpoint-every",
                                        "100000",
                                        "--timeout",
                                        "60"};
  for (int rank = 0; rank < 2; ++rank)
    processes.start(arguments, rankEnvironment(rank, 2, port));
  auto lines = [&] {
    std::ifstream log(options.train.log);
    return std::count(std::istreambuf_iterator<char>(log), {}, '\n');
  };
  auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (lines() < 3 && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  processes.signal(1, SIGTERM); // not the rank that decides
  for (size_t rank = 0; rank < 2; ++rank)
    ASSERT_EQ(processes.wait(rank, 60), 0) << processes.errors(rank);
  auto newest = newestCheckpoint(options.train.checkpoint.folder);
  ASSERT_TRUE(newest);
  EXPECT_EQ(CheckpointManifest::read(*newest).step, lines());
}
} // namespace

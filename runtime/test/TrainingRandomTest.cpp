// Random pipelines with skip edges, replicas, shared parameters, interleaved
// stages and all tables:
// none waits for ever, and every message and gradient counts once.
//
// Stage s adds its parameter p_s to the sum of what it receives; the loss is
// the sum of the last stage's value. So the gradient of p_s is the number of
// ways from s to the last stage, and the loss follows from those as well.
#include "TrainingPrograms.h"
#include "hethub/runtime/Npz.h"
#include "hethub/runtime/Weights.h"
#include "program/Specification.h"
#include "weights/SafetensorsWriter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>

using namespace hethub;
using namespace hethub::runtime;
using namespace hethub::runtime::test;

namespace {
constexpr int width = 2, steps = 3;
constexpr double learningRate = 0.5;

struct RandomPipeline {
  NetPlan plan;
  std::vector<std::pair<int, int>> edges;
  std::vector<std::string> parameters; ///< of each stage
  std::vector<int> firstRanks;         ///< of each stage; empty: in order
  bool split = false;
  int extra = 0, ahead = 4;

  int stages() const { return static_cast<int>(plan.blocks.size()); }

  explicit RandomPipeline(std::mt19937 &engine) {
    auto upTo = [&](int most) {
      return static_cast<int>(engine() % (most + 1));
    };
    int count = 1 + upTo(4);
    plan.blocks.assign(static_cast<size_t>(count), 1);
    for (int i = 0; i < count; ++i)
      plan.replicas.push_back(1 + upTo(2));
    plan.microbatches = 1 + upTo(6);
    plan.table = static_cast<Table>(upTo(2));
    split = plan.table == Table::ZeroBubble;
    extra = upTo(2);
    ahead = 1 + upTo(3);
    for (int to = 1; to < count; ++to)
      for (int from = 0; from < to; ++from)
        if (from + 1 == to || upTo(2) == 0)
          edges.emplace_back(from, to);
    std::shuffle(edges.begin(), edges.end(), engine);
    for (int i = 0; i < count; ++i)
      parameters.push_back("p" + std::to_string(i));
    if (count > 1 && upTo(1)) {
      // Two or three stages share one.
      for (int i = 0; i < 3; ++i)
        parameters[static_cast<size_t>(upTo(count - 1))] = "shared";
    }
    if (upTo(1))
      shareRanks(upTo);
  }

  /// Each stage is on ranks of its own, or on those of an earlier one.
  void shareRanks(const std::function<int(int)> &upTo) {
    int ranks = 0;
    for (size_t stage = 0; stage < plan.replicas.size(); ++stage) {
      size_t other = static_cast<size_t>(upTo(static_cast<int>(stage)));
      if (other < stage) {
        plan.replicas[stage] = plan.replicas[other];
        firstRanks.push_back(firstRanks[other]);
        continue;
      }
      firstRanks.push_back(ranks);
      ranks += plan.replicas[stage];
    }
  }

  std::vector<StageProgram> programs() const {
    std::vector<StageProgram> all;
    for (int stage = 0; stage < stages(); ++stage)
      all.push_back(program(stage));
    if (!firstRanks.empty())
      interleave(all, firstRanks, edges.size());
    return all;
  }

  /// Ways from a stage to the last one.
  std::vector<double> ways() const {
    std::vector<double> result(plan.blocks.size(), 0);
    result.back() = 1;
    for (int from = stages() - 2; from >= 0; --from)
      for (auto [a, b] : edges)
        if (a == from)
          result[static_cast<size_t>(from)] += result[static_cast<size_t>(b)];
    return result;
  }

  StageProgram program(int stage) const {
    StageProgram result;
    result.set_model("random");
    result.set_stage(stage);
    result.set_training(true);
    result.set_microbatch_axis_size(1);
    for (int replicas : plan.replicas)
      result.add_stages()->set_replicas(replicas);
    TensorType type = tensorType(FLOAT32, {1, width});
    for (const char *name : {"forward", "backward", "weight"})
      if (split || name != std::string("weight"))
        result.add_functions()->set_name(name);
    auto port = [&](int function, bool isInput, int channel) -> Port & {
      Function &of = *result.mutable_functions(function);
      auto &ports = isInput ? *of.mutable_inputs() : *of.mutable_outputs();
      addPort(ports, 0, "v", type, channel, -1);
      return *ports.Mutable(ports.size() - 1);
    };
    Edges around;
    int count = static_cast<int>(edges.size());
    bool isLast = stage + 1 == stages();
    if (stage == 0)
      port(0, true, -1).set_index(0);
    for (int id = 0; id < 2 * count; ++id) {
      auto [from, to] = edges[static_cast<size_t>(id % count)];
      bool isGradient = id >= count;
      if (isGradient)
        std::swap(from, to);
      if (from != stage && to != stage)
        continue;
      Channel &channel = *result.add_channels();
      channel.set_id(id);
      channel.set_name("c" + std::to_string(id));
      channel.set_from_stage(from);
      channel.set_to_stage(to);
      *channel.mutable_type() = type;
      port(isGradient, to == stage, id);
      (isGradient    ? to == stage ? around.backwardIn : around.backwardOut
       : to == stage ? around.forwardIn
                     : around.forwardOut)
          .push_back(id);
    }
    port(0, false, -1).set_saved(0);
    port(1, true, -1).set_saved(0);
    if (split) {
      port(1, false, -1).set_saved(1);
      port(2, true, -1).set_saved(1);
    }
    const std::string &name = parameters[static_cast<size_t>(stage)];
    port(split ? 2 : 1, false, -1).set_gradient_of(name);
    if (isLast) {
      Port &loss = port(0, false, -1);
      *loss.mutable_type() = tensorType(FLOAT32, {});
      loss.set_index(0);
      loss.set_loss(true);
    }
    Parameter &parameter = *result.add_parameters();
    parameter.set_name(name);
    *parameter.mutable_type() = type;
    for (int i = 0; i < stages(); ++i)
      if (parameters[static_cast<size_t>(i)] == name)
        parameter.add_gradient_stages(i);
    addTrainingRows(result, plan, around, extra);
    return result;
  }

  Load functions(const StageSpec &spec) const {
    std::string name = parameters[static_cast<size_t>(spec.stage)];
    double seed = 1.0 / plan.microbatches;
    return [=](WeightsFile &weights) -> Functions {
      at::Tensor parameter = weights.get(name, at::kFloat, {1, width});
      auto sum = [](const Tensors &of, size_t count) {
        at::Tensor total = at::zeros({1, width});
        for (size_t i = 0; i < count; ++i)
          total.add_(of[i]);
        return total;
      };
      auto outputs = [](const std::vector<PortSpec> &ports, at::Tensor value) {
        Tensors result;
        for (const PortSpec &port : ports)
          result.push_back(port.isLoss ? value.sum() : value.clone());
        return result;
      };
      Functions functions;
      functions.isRandom = false;
      functions.forward = [=](Tensors inputs) {
        return outputs(spec.outputs, sum(inputs, inputs.size()) + parameter);
      };
      functions.backward = [=](Tensors inputs) {
        // The last input is the slot; the last stage has no other.
        return outputs(spec.backward.outputs,
                       inputs.size() == 1 ? at::full({1, width}, seed)
                                          : sum(inputs, inputs.size() - 1));
      };
      functions.weight = [=](Tensors inputs) {
        return outputs(spec.weight.outputs, inputs[0]);
      };
      return functions;
    };
  }

  std::string label() const {
    std::string text = plan.label() + ", " + std::to_string(plan.microbatches) +
                       " microbatches, ";
    for (auto [a, b] : edges)
      text += std::to_string(a) + "-" + std::to_string(b) + " ";
    for (const std::string &name : parameters)
      text += name + " ";
    text += firstRanks.empty() ? "" : "first ranks ";
    for (int rank : firstRanks)
      text += std::to_string(rank) + " ";
    return text;
  }
};

TEST(TrainingRandom, NoPipelineWaitsForEverAndEachGradientCountsOnce) {
  const char *wide = std::getenv("HETHUB_RANDOM_PIPELINES");
  int most = wide ? std::atoi(wide) : 2000;
  double limitS = wide ? 1e9 : 8;
  TemporaryFolder folder;
  at::Tensor x = at::rand({40, width});
  writeNpz(folder / "data.npz", {{"v", x}});
  NamedTensors weights;
  for (const char *name : {"p0", "p1", "p2", "p3", "p4", "shared"})
    weights.emplace_back(name, at::zeros({1, width}));
  writeSafetensors(folder / "weights.safetensors", weights);
  std::mt19937 engine(1);
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  };
  int done = 0;
  for (; done < most && (done < 50 || seconds() < limitS); ++done) {
    RandomPipeline pipeline(engine);
    SCOPED_TRACE(pipeline.label());
    RunOptions options;
    options.ahead = pipeline.ahead;
    options.timeoutS = 30;
    options.train.steps = steps;
    options.train.data = {folder / "data.npz", 0, "uint16", true};
    options.train.optimizer = {.name = "sgd", .learningRate = learningRate};
    options.train.log = folder / "log";
    std::vector<PreparedStage> stages;
    for (const StageProgram &program : pipeline.programs()) {
      StageSpec spec = specificationOf(program);
      stages.push_back(
          {spec, pipeline.functions(spec), folder / "weights.safetensors"});
    }
    ASSERT_NO_THROW(runTogether(stages, options));
    std::map<std::string, double> gradients, values;
    std::vector<double> ways = pipeline.ways();
    for (size_t i = 0; i < ways.size(); ++i)
      gradients[pipeline.parameters[i]] += ways[i];
    std::ifstream log(options.train.log);
    int64_t sample = 0;
    for (int step = 0; step < steps; ++step) {
      double loss = 0;
      for (int j = 0; j < pipeline.plan.microbatches; ++j, ++sample)
        loss += ways[0] * x[sample % 40].sum().item<double>();
      loss /= pipeline.plan.microbatches;
      for (const auto &[name, gradient] : gradients) {
        loss += width * gradient * values[name];
        values[name] -= learningRate * gradient;
      }
      std::string line;
      ASSERT_TRUE(std::getline(log, line));
      double ours = nlohmann::json::parse(line)["loss"];
      ASSERT_NEAR(ours, loss, 1e-4 * std::max(1.0, std::abs(loss)))
          << "step " << step;
    }
  }
  RecordProperty("pipelines", done);
  std::printf("%d random pipelines in %.1f s\n", done, seconds());
}

RandomPipeline oneStage(int replicas) {
  std::mt19937 engine(1);
  RandomPipeline pipeline(engine);
  pipeline.plan = {{1}, {replicas}, 4, Table::GPipe};
  pipeline.edges.clear();
  pipeline.parameters = {"p0"};
  pipeline.firstRanks.clear();
  pipeline.split = false;
  return pipeline;
}

/// One stage whose functions draw: forward and backward of a microbatch must
/// see the same numbers, whatever the replicas.
std::vector<double> lossesOfDraws(int replicas, uint64_t seed) {
  TemporaryFolder folder;
  writeNpz(folder / "data.npz", {{"v", at::zeros({4, width})}});
  writeSafetensors(folder / "weights.safetensors",
                   {{"p0", at::zeros({1, width})}});
  RandomPipeline pipeline = oneStage(replicas);
  StageSpec spec = specificationOf(pipeline.program(0));
  std::mutex mutex;
  int differences = 0;
  Load load = [&](WeightsFile &) -> Functions {
    auto forward = [](Tensors) {
      at::Tensor drawn = at::rand({1, width});
      return Tensors{drawn, drawn.sum()};
    };
    auto backward = [&](Tensors inputs) {
      at::Tensor again = at::rand({1, width});
      std::lock_guard lock(mutex);
      differences += !at::equal(inputs[0], again);
      return Tensors{at::zeros({1, width})};
    };
    return {forward, backward};
  };
  RunOptions options;
  options.train.steps = 3;
  options.train.seed = seed;
  options.train.data = {folder / "data.npz"};
  options.train.log = folder / "log";
  runTogether({{spec, load, folder / "weights.safetensors"}}, options);
  EXPECT_EQ(differences, 0);
  std::vector<double> losses;
  std::ifstream log(options.train.log);
  for (std::string line; std::getline(log, line);)
    losses.push_back(nlohmann::json::parse(line)["loss"]);
  return losses;
}

TEST(TrainingRandom, DrawsFollowFromSeedStepStageAndMicrobatch) {
  std::vector<double> one = lossesOfDraws(1, 5);
  EXPECT_EQ(std::set<double>(one.begin(), one.end()).size(), 3u);
  EXPECT_EQ(lossesOfDraws(2, 5), one);
  EXPECT_EQ(lossesOfDraws(4, 5), one);
  EXPECT_NE(lossesOfDraws(1, 6), one);
}

TEST(TrainingRandom, UpdatesFollowTheMicrobatchesAndReplicasAgree) {
  TemporaryFolder folder;
  at::Tensor x =
      at::tensor({1.0f, 3.0f, 5.0f, 7.0f}).view({4, 1}).expand({4, width});
  writeNpz(folder / "data.npz", {{"v", x.contiguous()}});
  for (int replicas : {1, 2}) {
    writeSafetensors(
        folder / "weights.safetensors",
        {{"p0", at::zeros({1, width})}, {"mean", at::full({width}, 8.0f)}});
    RandomPipeline pipeline = oneStage(replicas);
    StageProgram program = pipeline.program(0);
    auto &outputs = *program.mutable_functions(0)->mutable_outputs();
    addPort(outputs, 0, "new mean", tensorType(FLOAT32, {width}), -1, -1);
    outputs.Mutable(outputs.size() - 1)->set_update_of("mean");
    std::map<int, at::Tensor> means; // by replica
    std::mutex mutex;
    Load load = [&](WeightsFile &weights) -> Functions {
      at::Tensor mean = weights.get("mean", at::kFloat, {width});
      {
        std::lock_guard lock(mutex);
        means[static_cast<int>(means.size())] = mean;
      }
      auto forward = [mean](Tensors inputs) {
        return Tensors{inputs[0], inputs[0].sum(),
                       mean * 0.5 + inputs[0].view({width}) * 0.5};
      };
      auto backward = [](Tensors) { return Tensors{at::zeros({1, width})}; };
      return {forward, backward, {}, false};
    };
    RunOptions options;
    options.train.steps = 1;
    options.train.data = {folder / "data.npz", 0, "uint16", true};
    runTogether(
        {{specificationOf(program), load, folder / "weights.safetensors"}},
        options);
    // One: 8 -> 4.5 -> 3.75 -> 4.375 -> 5.6875. Two: 8 -> 4.5 -> 4.75 and
    // 8 -> 5.5 -> 6.25, whose mean is 5.5.
    ASSERT_EQ(means.size(), static_cast<size_t>(replicas));
    for (auto &[replica, mean] : means)
      EXPECT_TRUE(
          at::equal(mean, at::full({width}, replicas == 1 ? 5.6875f : 5.5f)))
          << mean;
  }
}
} // namespace

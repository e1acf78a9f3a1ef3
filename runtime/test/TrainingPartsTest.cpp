// The parts of training one by one: optimizer, learning rate, order of samples,
// data files, sums of gradients, tables that contradict themselves.
#include "TrainingPrograms.h"
#include "comm/LoopbackComm.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"
#include "program/Interpreter.h"
#include "program/Specification.h"
#include "run/ComputeSettings.h"
#include "schedule/TrainingTable.h"
#include "train/Data.h"
#include "train/Gradients.h"
#include "train/LearningRate.h"
#include "train/Optimizer.h"
#include "weights/SafetensorsWriter.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include <fstream>
#include <set>
#include <thread>

using namespace hethub::runtime;
using namespace hethub::runtime::test;

namespace {
std::string refusal(const std::function<void()> &work) {
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

/// The gradient of a gather adds up many rows in few places.
TEST(TrainingParts, SumsOfGathersDoNotDependOnThreads) {
  at::NoGradGuard noGradients;
  int threads = at::get_num_threads();
  applyComputeSettings(4);
  computeDeterministically();
  at::Tensor rows = at::randint(50, {40000}), values = at::randn({40000, 16});
  auto sum = [&] {
    return at::index_put(at::zeros({50, 16}), {rows}, values, true);
  };
  at::Tensor first = sum();
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(at::equal(first, sum()));
  EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
  at::globalContext().setDeterministicAlgorithms(false, false);
  applyComputeSettings(threads);
}

TEST(TrainingParts, ParametersOf16BitsHaveCopiesThatLearn) {
  at::NoGradGuard noGradients;
  at::Tensor start = at::randn({3, 4}).to(at::kBFloat16);
  at::Tensor parameter = start.clone(), reference = start.to(at::kFloat);
  Optimizer optimizer({.name = "adamw", .weightDecay = 0.1}, {parameter});
  torch::optim::AdamW torch({reference},
                            torch::optim::AdamWOptions(1e-4).weight_decay(0.1));
  EXPECT_EQ(optimizer.gradientType(0), at::kFloat);
  for (int step = 0; step < 30; ++step) {
    at::Tensor gradient = at::randn({3, 4});
    optimizer.step(1e-4, {gradient.clone()});
    reference.mutable_grad() = gradient;
    torch.step();
  }
  // Steps this small would be lost in 16 bits.
  EXPECT_TRUE(at::equal(optimizer.state(0).back().second, reference));
  EXPECT_EQ(optimizer.state(0).back().first, "master");
  EXPECT_TRUE(at::equal(parameter, reference.to(at::kBFloat16)));
}

TEST(TrainingParts, OptimizerStateIsThereFromTheStartAndStays) {
  at::NoGradGuard noGradients;
  for (OptimizerOptions options : {OptimizerOptions{.name = "sgd"},
                                   {.name = "sgd", .momentum = 0.9},
                                   {.name = "adam"},
                                   {.name = "adamw"}}) {
    at::Tensor parameter = at::randn({4});
    Optimizer optimizer(options, {parameter});
    auto before = optimizer.state(0);
    optimizer.step(0.1, {at::ones({4})});
    auto after = optimizer.state(0);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(before[i].second.is_same(after[i].second));
    size_t expected = options.name != "sgd" ? 2 : options.momentum > 0 ? 1 : 0;
    EXPECT_EQ(before.size(), expected);
  }
  EXPECT_EQ(refusal([] { Optimizer({.name = "lion"}, {}); }),
            "no optimizer is called 'lion'");
}

TEST(TrainingParts, OptionsAreReadAndChecked) {
  auto take = [](std::vector<std::string> arguments) {
    return takeRunOptions(arguments).train;
  };
  TrainOptions options =
      take({"--steps", "9", "--optimizer=sgd", "--momentum", "0.5", "--betas",
            "0.8,0.99", "--clip-norm", "1.5", "--lr-schedule", "linear",
            "--seed", "18446744073709551615", "--in-order", "--keep", "0"});
  EXPECT_TRUE(options.given);
  EXPECT_EQ(options.steps, 9);
  EXPECT_EQ(options.optimizer.name, "sgd");
  EXPECT_EQ(options.optimizer.momentum, 0.5);
  EXPECT_EQ(options.optimizer.beta1, 0.8);
  EXPECT_EQ(options.optimizer.beta2, 0.99);
  EXPECT_EQ(options.optimizer.clipNorm, 1.5);
  EXPECT_EQ(options.learningRate.schedule, "linear");
  EXPECT_EQ(options.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(options.data.inOrder);
  EXPECT_EQ(options.checkpoint.kept, 0);
  EXPECT_FALSE(take({"--threads", "2"}).given);
  for (const auto &[arguments, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--learning-rate", "nan"},
            "--learning-rate must be a number of at least 0, got: nan"},
           {{"--optimizer", "lion"},
            "--optimizer must be one of sgd, adam, adamw, got: lion"},
           {{"--betas", "0.9"},
            "--betas must be two numbers with a comma between, got: 0.9"},
           {{"--momentum", "1"}, "--momentum must be less than 1, got: 1"},
           {{"--steps", "0"}, "--steps must be a number of at least 1, got: 0"},
           {{"--steps", "2.5"}, "--steps must be a whole number, got: 2.5"},
           {{"--seed", "-1"},
            "--seed must be a whole number of at most 64 bits, got: -1"},
           {{"--token-type", "uint8"},
            "--token-type must be one of uint16, uint32, got: uint8"},
           {{"--data"}, "--data needs a value: FILE"}})
    EXPECT_EQ(refusal([&, arguments = arguments] { take(arguments); }),
              message);
}

TEST(TrainingParts, LearningRatesRiseAndFall) {
  LearningRateOptions cosine{"cosine", 4, 0.1}, linear{"linear", 0, 0};
  EXPECT_DOUBLE_EQ(learningRateAt(cosine, 1, 0, 12), 0.25);
  EXPECT_DOUBLE_EQ(learningRateAt(cosine, 1, 3, 12), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(cosine, 1, 4, 12), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(cosine, 1, 8, 12), 0.55);
  EXPECT_NEAR(learningRateAt(cosine, 1, 12, 12), 0.1, 1e-15);
  EXPECT_DOUBLE_EQ(learningRateAt(linear, 2, 0, 4), 2);
  EXPECT_DOUBLE_EQ(learningRateAt(linear, 2, 3, 4), 0.5);
  EXPECT_DOUBLE_EQ(learningRateAt({"constant", 2, 0}, 2, 0, 4), 1);
  EXPECT_EQ(refusal([&] { checkLearningRate(cosine, 1, 3); }),
            "--warmup-steps must be at most the 3 steps of the run, got: 4");
  EXPECT_EQ(refusal([&] { checkLearningRate(cosine, 0.01, 9); }),
            "--minimum-learning-rate must be at most the learning rate 0.01, "
            "got: 0.1");
}

TEST(TrainingParts, EachEpochHasAllSamplesInAnOrderOfItsOwn) {
  SampleOrder order(37, 5, false), again(37, 5, false), other(37, 6, false);
  std::vector<std::vector<int64_t>> epochs(3);
  for (int64_t position = 0; position < 3 * 37; ++position) {
    int64_t sample = order.at(position);
    epochs[static_cast<size_t>(position / 37)].push_back(sample);
    // Another reader that is ahead by less than an epoch.
    again.at(position + 30);
    EXPECT_EQ(again.at(position), sample);
  }
  for (const std::vector<int64_t> &epoch : epochs)
    EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.end()).size(), 37u);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  std::vector<int64_t> differently;
  for (int64_t position = 0; position < 37; ++position)
    differently.push_back(other.at(position));
  EXPECT_NE(differently, epochs[0]);
  EXPECT_EQ(SampleOrder(37, 5, true).at(40), 3);
}

class TrainingData : public testing::Test {
protected:
  void SetUp() override {
    spec.training = true;
    spec.microbatches = 2;
    spec.microbatchAxisSize = 3;
    spec.inputs = {{"tokens", at::kLong, {3, 4}, -1, 0},
                   {"labels", at::kLong, {12}, -1, 1},
                   {"scale", at::kFloat, {2}, -1, 2}};
    tokens = at::arange(7 * 4).view({7, 4});
    labels = at::arange(100, 128);
    scale = at::rand({2});
  }
  at::Tensor get(TrainData &data, size_t port, int64_t position) {
    return data.get(spec.inputs[port], position);
  }
  TemporaryFolder folder;
  StageSpec spec;
  at::Tensor tokens, labels, scale;
};

TEST_F(TrainingData, ArraysGiveTheirSamples) {
  writeNpz(folder / "data.npz",
           {{"tokens", tokens}, {"labels", labels}, {"scale", scale}});
  writeSafetensors(folder / "data.safetensors",
                   {{"tokens", tokens}, {"labels", labels}, {"scale", scale}});
  for (const char *name : {"data.npz", "data.safetensors"}) {
    DataOptions options{folder / name};
    options.inOrder = true;
    TrainData data({&spec}, options, 0, at::kCPU);
    EXPECT_EQ(data.samples(), 7);
    // The third microbatch starts the second epoch in its middle.
    at::Tensor rows = at::tensor({6, 0, 1}, at::kLong);
    EXPECT_TRUE(at::equal(get(data, 0, 6), tokens.index_select(0, rows)));
    EXPECT_TRUE(
        at::equal(get(data, 1, 6),
                  labels.view({7, 4}).index_select(0, rows).reshape(-1)));
    EXPECT_TRUE(at::equal(get(data, 2, 6), scale));
    options.inOrder = false;
    TrainData shuffled({&spec}, options, 3, at::kCPU);
    SampleOrder order(7, 3, false);
    EXPECT_TRUE(at::equal(get(shuffled, 0, 2)[1], tokens[order.at(3)]));
  }
}

TEST_F(TrainingData, TokenFilesGiveSequencesAndTheNextTokens) {
  spec.inputs = {{"ids", at::kLong, {3, 4}, -1, 0},
                 {"labels", at::kInt, {12}, -1, 1},
                 {"attention_mask", at::kLong, {3, 4}, -1, 2},
                 {"position_ids", at::kLong, {3, 4}, -1, 3}};
  std::string path = folder / "tokens.bin";
  for (const char *type : {"uint16", "uint32"}) {
    std::ofstream file(path, std::ios::binary);
    for (uint32_t token = 0; token < 30; ++token) {
      uint32_t value = 50000 + token;
      file.write(reinterpret_cast<const char *>(&value),
                 type == std::string("uint16") ? 2 : 4);
    }
    file.close();
    DataOptions options{path, 4, type, true};
    TrainData data({&spec}, options, 0, at::kCPU);
    EXPECT_EQ(data.samples(), 7); // 28 tokens and the next one
    at::Tensor expected = at::arange(50012, 50024).view({3, 4});
    EXPECT_TRUE(at::equal(get(data, 0, 3), expected));
    EXPECT_TRUE(
        at::equal(get(data, 1, 3), (expected + 1).reshape(-1).to(at::kInt)));
    EXPECT_TRUE(at::equal(get(data, 2, 3), at::ones({3, 4}, at::kLong)));
    EXPECT_TRUE(at::equal(get(data, 3, 3), at::arange(4).expand({3, 4})));
    options.sequence = 5;
    EXPECT_EQ(refusal([&] { TrainData({&spec}, options, 0, at::kCPU); }),
              "input 'ids' must be of int32 or int64 with 3 sequences of 5 "
              "tokens to be read from a token file, got: 3x4xint64");
    options.sequence = 0;
    EXPECT_NE(refusal([&] {
                TrainData({&spec}, options, 0, at::kCPU);
              }).find("a token file needs --sequence N"),
              std::string::npos);
    options.sequence = 40;
    EXPECT_NE(refusal([&] { TrainData({&spec}, options, 0, at::kCPU); })
                  .find("at least one sequence of 40 tokens and the next one, "
                        "got: 30 tokens"),
              std::string::npos);
  }
  std::ofstream(path, std::ios::app) << "x";
  DataOptions options{path, 4, "uint16", true};
  EXPECT_NE(refusal([&] {
              TrainData({&spec}, options, 0, at::kCPU);
            }).find("must have a multiple of 2 bytes, got: 121"),
            std::string::npos);
}

TEST_F(TrainingData, AStageWithoutInputsNeedsNoData) {
  spec.inputs.clear();
  TrainData data({&spec}, {}, 0, at::kCPU);
  EXPECT_EQ(data.samples(), 0);
}

/// Both replicas of one stage, as threads.
void onTwoRanks(const StageSpec &spec,
                const std::function<void(int, Gradients &)> &work) {
  LoopbackHub hub(2, 60);
  auto run = [&](int rank) {
    at::NoGradGuard noGradients;
    std::unique_ptr<Comm> world = hub.comm(rank), group;
    std::vector<Step> steps = expandSchedule(spec, rank, spec.microbatches, 1);
    std::vector<at::ScalarType> types;
    for (const TrainedSpec &parameter : spec.trained)
      types.push_back(parameter.dtype);
    Gradients gradients({&spec}, rank, steps, types, at::kCPU,
                        [&](const std::vector<int> &ranks) -> Comm & {
                          group = world->group(ranks);
                          return *group;
                        });
    work(rank, gradients);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

TEST(TrainingParts, LargeGradientsGoInSeveralBuckets) {
  StageSpec spec;
  spec.training = true;
  spec.perMicrobatch = false;
  spec.microbatches = 3; // two on replica 0, one on replica 1
  spec.stages = {{"t", "cpu", 2}};
  // 28 MB, 24 MB and two small ones of different types.
  spec.trained = {{"a", at::kFloat, {7'000'000}, {0}},
                  {"b", at::kFloat, {2, 3'000'000}, {0}},
                  {"c", at::kDouble, {3}, {0}},
                  {"d", at::kFloat, {2}, {0}}};
  for (const TrainedSpec &parameter : spec.trained) {
    PortSpec port{parameter.name, parameter.dtype, parameter.shape};
    port.gradientOf = parameter.name;
    spec.backward.outputs.push_back(port);
  }
  for (int j = 0; j < 3; ++j)
    spec.rows.push_back({Action::Backward, -1, j, j % 2, 0});
  onTwoRanks(spec, [&](int rank, Gradients &gradients) {
    for (int step = 0; step < 2; ++step) {
      for (int j = rank; j < 3; j += 2) {
        Tensors outputs;
        for (const TrainedSpec &parameter : spec.trained)
          outputs.push_back(
              at::full(parameter.shape, j + 1,
                       at::TensorOptions().dtype(parameter.dtype)));
        gradients.take(0, Action::Backward, outputs);
      }
      gradients.finish();
      std::vector<at::Tensor> sums = gradients.handOver();
      for (size_t i = 0; i < sums.size(); ++i) {
        EXPECT_EQ(sums[i].sizes(), at::IntArrayRef(spec.trained[i].shape));
        EXPECT_TRUE(at::all(sums[i] == 6).item<bool>()) << i;
      }
      double squares = gradients.squares(sums);
      EXPECT_NEAR(squares, rank == 0 ? 36.0 * 13'000'005 : 0, squares * 1e-5);
    }
  });
}

TEST(TrainingParts, OneOwnerGivesItsGradientAwayOthersCopy) {
  StageSpec spec;
  spec.training = true;
  spec.perMicrobatch = false;
  spec.microbatches = 2;
  spec.stages = {{"t", "cpu", 1}};
  spec.trained = {{"a", at::kFloat, {4}, {0}}, {"b", at::kFloat, {4}, {0}}};
  for (const TrainedSpec &parameter : spec.trained) {
    PortSpec port{parameter.name, parameter.dtype, parameter.shape};
    port.gradientOf = parameter.name;
    spec.backward.outputs.push_back(port);
  }
  spec.rows = {{Action::Backward, -1, 0}, {Action::Backward, -1, 1}};
  Gradients gradients({&spec}, 0, expandSchedule(spec, 0, 2, 1),
                      {at::kFloat, at::kFloat}, at::kCPU, {});
  at::NoGradGuard noGradients;
  at::Tensor own = at::ones({4}), shared = at::ones({4}), kept = shared;
  void *memory = own.data_ptr();
  for (int j = 0; j < 2; ++j) {
    Tensors outputs;
    outputs.push_back(j == 0 ? std::move(own) : at::ones({4}));
    outputs.push_back(kept);
    gradients.take(0, Action::Backward, outputs);
  }
  gradients.finish();
  std::vector<at::Tensor> sums = gradients.handOver();
  EXPECT_EQ(sums[0].data_ptr(), memory);
  EXPECT_TRUE(at::equal(sums[0], at::full({4}, 2.0)));
  EXPECT_TRUE(at::equal(sums[1], at::full({4}, 2.0)));
  EXPECT_TRUE(at::equal(kept, at::ones({4}))); // not changed under its holder
}

TEST(TrainingParts, GradientsCanBeHadWhileBackwardRuns) {
  at::NoGradGuard noGradients;
  TemporaryFolder folder;
  Net net;
  std::map<std::string, at::Tensor> parameters = net.parameters(3);
  writeSafetensors(folder / "w.safetensors",
                   {parameters.begin(), parameters.end()});
  auto program = std::make_shared<hethub::StageProgram>(
      trainingPrograms(net, {{4}, {1}, 2})[0]);
  WeightsFile weights(folder / "w.safetensors");
  Functions functions = loaderOf(program)(weights);
  StageSpec spec = specificationOf(*program);
  EXPECT_FALSE(functions.isRandom);
  auto saved = [&] {
    Tensors values = functions.forward({at::ones({3, 5}), at::zeros({3, 5})}),
            inputs;
    for (const PortSpec &port : spec.backward.inputs)
      for (size_t i = 0; i < values.size(); ++i)
        if (spec.outputs[i].saved == port.saved)
          inputs.push_back(values[i]);
    return inputs;
  };
  Tensors expected = functions.backward(saved());
  std::vector<std::string> order;
  Tensors left =
      functions.earlyBackward(saved(), [&](size_t output, at::Tensor gradient) {
        order.push_back(spec.backward.outputs[output].gradientOf);
        EXPECT_TRUE(at::equal(gradient, expected[output]));
        EXPECT_EQ(gradient.use_count(), 1); // nobody else holds it
      });
  // From the last block to the first; the tied weight is done with the first.
  EXPECT_EQ(order, (std::vector<std::string>{"block3.bias", "block2.weight",
                                             "block2.bias", "block1.weight",
                                             "block1.bias", "block0.weight",
                                             "block0.bias"}));
  for (const at::Tensor &result : left)
    EXPECT_FALSE(result.defined());
}

TEST(TrainingParts, TablesThatContradictThemselvesAreRefused) {
  Net net;
  NetPlan plan{{2, 2}, {1, 2}, 4, Table::ZeroBubble};
  StageSpec good = specificationOf(trainingPrograms(net, plan)[1]);
  auto changed = [&](const std::function<void(StageSpec &)> &change) {
    StageSpec spec = good;
    change(spec);
    return refusal([&] { checkSpec(spec); });
  };
  EXPECT_EQ(changed([](StageSpec &) {}), "no error");
  EXPECT_EQ(changed([](StageSpec &spec) { spec.perMicrobatch = true; }),
            "the schedule of a training program must be a whole step");
  EXPECT_EQ(changed([](StageSpec &spec) { spec.outputs[1].index = 3; }),
            "output '" + good.outputs[1].name +
                "' of forward of stage 1 must have exactly one of channel, "
                "index, slot, gradient and update, got: 2");
  EXPECT_EQ(
      changed([](StageSpec &spec) { spec.backward.inputs[0].saved = 99; }),
      "backward of stage 1 reads slot 99 ('" + good.backward.inputs[0].name +
          "'), which no function before it writes");
  EXPECT_EQ(changed([](StageSpec &spec) {
              spec.backward.inputs[0].shape = {9};
            }).find("slot "),
            0u);
  EXPECT_EQ(changed([](StageSpec &spec) {
              PortSpec port{"extra", at::kFloat, {1}};
              port.saved = 77;
              spec.outputs.push_back(port);
            }),
            "slot 77 ('extra') of stage 1 is written and never read");
  EXPECT_EQ(changed([](StageSpec &spec) {
              spec.trained.pop_back();
            }).find("output 'gradient of "),
            0u);
  EXPECT_EQ(changed([](StageSpec &spec) {
              spec.trained.push_back({"new", at::kFloat, {1}, {1}});
            }),
            "parameter 'new' of stage 1 is trained, and no function gives its "
            "gradient");
  EXPECT_EQ(changed([](StageSpec &spec) { spec.trained[0].stages = {0}; }),
            "the stages of parameter '" + good.trained[0].name +
                "' must ascend, exist and have stage 1 among them");
  EXPECT_EQ(changed([](StageSpec &spec) {
              spec.weight.outputs[0].shape = {1, 2};
            }).find("the gradient of parameter '"),
            0u);
  EXPECT_EQ(changed([](StageSpec &spec) { spec.rows.pop_back(); }),
            "no optimizer step in replica 1 of stage 1's table");
  EXPECT_EQ(changed([](StageSpec &spec) {
              std::erase_if(spec.rows, [](const RowSpec &row) {
                return row.action == Action::AllReduce;
              });
            }),
            "parameter '" + good.trained[0].name +
                "' is on several ranks and there is no all-reduce in replica "
                "0 of stage 1's table");
  EXPECT_EQ(changed([](StageSpec &spec) {
              for (RowSpec &row : spec.rows)
                if (row.action == Action::Backward && row.microbatch == 2) {
                  row.microbatch = 0;
                  break;
                }
            }),
            "backward of microbatch 0 of stage 1 comes twice");
  EXPECT_EQ(changed([](StageSpec &spec) {
              auto row = std::find_if(
                  spec.rows.begin(), spec.rows.end(),
                  [](const RowSpec &r) { return r.action == Action::Weight; });
              std::rotate(spec.rows.begin(), row, row + 1);
            }),
            "weight of microbatch 0 of stage 1 stands before its forward");
  EXPECT_EQ(changed([](StageSpec &spec) { spec.rows[0].replica = 1; }),
            "microbatch 0 of stage 1 must be on replica 0, got: 1");
  EXPECT_EQ(changed([](StageSpec &spec) { spec.rows[0].microbatch = 4; }),
            "schedule row of stage 1 must be of one of 4 microbatches and 2 "
            "replicas, got: 4 and 0");
  EXPECT_EQ(changed([](StageSpec &spec) { spec.rows[0].channel = 50; }),
            "schedule row names an unknown channel: 50");
  EXPECT_EQ(changed([](StageSpec &spec) { spec.microbatches = 6; }),
            "microbatch 4 has no forward in replica 0 of stage 1's table");
  EXPECT_EQ(changed([](StageSpec &spec) {
              spec.training = false;
            }).find("must have either a channel or an index") ==
                std::string::npos,
            false);
}
} // namespace

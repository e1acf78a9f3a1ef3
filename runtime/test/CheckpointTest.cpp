// Checkpoints: the same bits back, into the same plan and into others; what is
// refused; and that a failure loses nothing.
#include "train/Checkpoint.h"
#include "Programs.h"
#include "hethub/runtime/Error.h"
#include "train/CheckpointFiles.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <barrier>
#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <thread>

using namespace hethub::runtime;
using hethub::runtime::test::TemporaryFolder;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {
/// The sum over ranks that are threads.
class ThreadSum {
public:
  explicit ThreadSum(int size) : barrier_(size) {}
  int64_t operator()(int64_t value) {
    total_ += value;
    barrier_.arrive_and_wait();
    int64_t total = total_;
    barrier_.arrive_and_wait();
    // One of them starts the next sum; the others wait until it has.
    if (!leader_.test_and_set())
      total_ = 0;
    barrier_.arrive_and_wait();
    leader_.clear();
    return total;
  }

private:
  std::barrier<> barrier_;
  std::atomic<int64_t> total_{0};
  std::atomic_flag leader_;
};

constexpr int parameterCount = 6;

std::string nameOf(int parameter) {
  return "layer/" + std::to_string(parameter) + "/weight";
}

/// Parameters go round robin over the stages; the first one is in all of them.
bool isIn(int parameter, int stage, int stages) {
  return parameter == 0 || parameter % stages == stage;
}

StageSpec plan(const std::vector<int> &replicas,
               const std::string &model = "net", int stage = 0) {
  StageSpec spec;
  spec.model = model;
  spec.planHash = "hash" + std::to_string(replicas.size());
  for (int count : replicas) {
    spec.stages.emplace_back();
    spec.stages.back().type = "host";
    spec.stages.back().kind = "cpu";
    spec.stages.back().replicas = count;
  }
  spec.stage = stage;
  for (int i = 0; i < parameterCount; ++i)
    if (isIn(i, stage, static_cast<int>(replicas.size())))
      spec.trained.push_back({nameOf(i), at::kFloat, {}, {stage}});
  return spec;
}

/// Parameter i of the model after `step` steps. Names have slashes, types and
/// shapes differ; 4 has no state and 5 is narrow with a master copy.
ParameterState parameter(int i, int64_t step) {
  auto generator =
      at::detail::createCPUGenerator(static_cast<uint64_t>(100 * step + i + 1));
  auto random = [&](at::ScalarType dtype) {
    return at::randn({i + 1, 3}, generator, at::kDouble).to(dtype);
  };
  ParameterState result;
  result.name = nameOf(i);
  result.value = random(i == 5 ? at::kBFloat16 : at::kFloat);
  if (i != 4) {
    result.optimizer.emplace_back("exp_avg", random(at::kFloat));
    result.optimizer.emplace_back("exp_avg_sq", random(at::kFloat));
  }
  if (i == 5)
    result.optimizer.emplace_back("master", random(at::kFloat));
  return result;
}

/// The state of one stage of `stages`.
TrainState stateOf(int stage, int stages, int64_t step) {
  TrainState state;
  state.optimizer = "adamw";
  state.seed = 17 + static_cast<uint64_t>(step) * 1000000007u * 1000003u;
  state.step = step;
  state.samples = 32 * step;
  for (int i = 0; i < parameterCount; ++i)
    if (isIn(i, stage, stages))
      state.parameters.push_back(parameter(i, step));
  return state;
}

void expectSame(const TrainState &got, const TrainState &expected) {
  EXPECT_EQ(got.step, expected.step);
  EXPECT_EQ(got.seed, expected.seed);
  EXPECT_EQ(got.samples, expected.samples);
  ASSERT_EQ(got.parameters.size(), expected.parameters.size());
  for (size_t i = 0; i < got.parameters.size(); ++i) {
    const ParameterState &mine = got.parameters[i],
                         &theirs = expected.parameters[i];
    EXPECT_EQ(mine.name, theirs.name);
    EXPECT_TRUE(at::equal(mine.value, theirs.value)) << mine.name;
    ASSERT_EQ(mine.optimizer.size(), theirs.optimizer.size()) << mine.name;
    for (size_t k = 0; k < mine.optimizer.size(); ++k)
      EXPECT_TRUE(
          at::equal(mine.optimizer[k].second, theirs.optimizer[k].second))
          << mine.name << " " << mine.optimizer[k].first;
  }
}

class Checkpoint : public testing::Test {
protected:
  /// Runs `work(checkpoints, stage, replica)` as every rank of a plan.
  void asRanks(const std::vector<int> &replicas, int kept,
               const std::function<void(Checkpoints &, int, int)> &work) {
    StageSpec shape = plan(replicas);
    int size = worldSize(shape);
    ThreadSum sum(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        Place place = placesOf(shape, rank)[0];
        StageSpec spec = plan(replicas, "net", place.stage);
        Checkpoints checkpoints(ckpt(), kept, {&spec}, rank, std::ref(sum));
        work(checkpoints, place.stage, place.replica);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  void save(const std::vector<int> &replicas, int64_t step, int kept = 0) {
    int stages = static_cast<int>(replicas.size());
    asRanks(replicas, kept, [&](Checkpoints &checkpoints, int stage, int) {
      checkpoints.save(stateOf(stage, stages, step));
    });
  }
  /// Resumes as one rank that has all parameters; the message of a refusal. The
  /// state must not have changed then.
  std::string refusal(TrainState state, const std::string &model = "net") {
    StageSpec spec = plan({1}, model);
    Checkpoints checkpoints(ckpt(), 0, {&spec}, 0,
                            [](int64_t value) { return value; });
    std::vector<at::Tensor> before;
    for (const ParameterState &parameter : state.parameters)
      before.push_back(parameter.value.clone());
    int64_t step = state.step;
    try {
      checkpoints.begin(state, true);
    } catch (const Error &error) {
      EXPECT_EQ(state.step, step);
      for (size_t i = 0; i < before.size(); ++i)
        EXPECT_TRUE(at::equal(before[i], state.parameters[i].value));
      return error.what();
    }
    return "no error";
  }
  void expectRefused(const TrainState &state, const std::string &part,
                     const std::string &model = "net") {
    std::string message = refusal(state, model);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  json manifest(const std::string &step) {
    return json::parse(std::ifstream(ckpt() + "/" + step + "/manifest.json"));
  }
  std::string ckpt() const { return folder / "ckpt"; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(ckpt()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder;
};

TEST_F(Checkpoint, GivesTheSameBitsToEveryPlan) {
  save({2, 1, 3}, 7);
  for (const std::vector<int> &replicas :
       {std::vector<int>{2, 1, 3}, {1}, {1, 3}, {1, 1, 1, 2}}) {
    int stages = static_cast<int>(replicas.size());
    asRanks(replicas, 0, [&](Checkpoints &checkpoints, int stage, int) {
      TrainState state = stateOf(stage, stages, 0);
      EXPECT_TRUE(checkpoints.begin(state, true));
      expectSame(state, stateOf(stage, stages, 7));
    });
  }
}

TEST_F(Checkpoint, WhatWasRestoredDoesNotDependOnTheFiles) {
  save({1}, 1);
  asRanks({1}, 0, [&](Checkpoints &checkpoints, int, int) {
    TrainState state = stateOf(0, 1, 0);
    checkpoints.begin(state, true);
    for (const auto &entry : fs::recursive_directory_iterator(ckpt()))
      if (entry.is_regular_file())
        fs::resize_file(entry.path(), 0);
    expectSame(state, stateOf(0, 1, 1));
  });
}

TEST_F(Checkpoint, BeginsWithAnEmptyFolderAndKeepsAUsedOne) {
  asRanks({1, 1}, 0, [&](Checkpoints &checkpoints, int stage, int) {
    TrainState state = stateOf(stage, 2, 0);
    EXPECT_FALSE(checkpoints.begin(state, true));
    EXPECT_FALSE(checkpoints.begin(state, false));
    expectSame(state, stateOf(stage, 2, 0));
  });
  save({1}, 3);
  StageSpec spec = plan({1});
  Checkpoints checkpoints(ckpt(), 0, {&spec}, 0, [](int64_t v) { return v; });
  TrainState state = stateOf(0, 1, 0);
  EXPECT_THROW(checkpoints.begin(state, false), Error);
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-000003"}));
}

TEST_F(Checkpoint, KeepsTheNewestAndTheLeftBehind) {
  for (int64_t step : {10, 20, 30, 40})
    save({1, 1}, step, 2);
  EXPECT_EQ(names(),
            (std::vector<std::string>{"latest", "step-000030", "step-000040"}));
  // A run that went back to an older one replaces what it left behind.
  std::ofstream(ckpt() + "/latest") << "step-000030\n";
  save({1}, 35, 2);
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-000030",
                                               "step-000035", "step-000040"}));
  save({1}, 40, 2);
  EXPECT_EQ(names(),
            (std::vector<std::string>{"latest", "step-000035", "step-000040"}));
  EXPECT_EQ(manifest("step-000040")["parameters"].size(), 1u);
}

TEST_F(Checkpoint, ARunThatDiedHalfWayLeavesTheOneBefore) {
  save({1}, 5);
  fs::create_directories(ckpt() + "/.step-000006.part");
  std::ofstream(ckpt() + "/.step-000006.part/stage_9.safetensors") << "junk";
  fs::create_directories(ckpt() + "/step-000008"); // without a manifest
  auto resumed = [&] {
    int64_t step = -1;
    asRanks({1}, 0, [&](Checkpoints &checkpoints, int, int) {
      TrainState state = stateOf(0, 1, 0);
      checkpoints.begin(state, true);
      step = state.step;
    });
    return step;
  };
  EXPECT_EQ(resumed(), 5);
  save({1}, 6);
  EXPECT_FALSE(fs::exists(ckpt() + "/step-000006/stage_9.safetensors"));
  // Died between the renaming of a checkpoint and that of `latest`.
  fs::remove(ckpt() + "/latest");
  EXPECT_EQ(resumed(), 6);
  std::ofstream(ckpt() + "/latest") << "../step-000005\n";
  EXPECT_EQ(resumed(), 6);
}

TEST_F(Checkpoint, RefusesWhatDoesNotFit) {
  save({1, 1}, 4);
  TrainState all = stateOf(0, 1, 0);
  EXPECT_EQ(refusal(all), "no error");

  TrainState other = stateOf(0, 1, 0);
  other.parameters[3].name = "head";
  expectRefused(other, "parameter 'head' is missing in checkpoint");
  expectRefused(other, "it is one of model 'net', this is 'bert'", "bert");
  other = stateOf(0, 1, 0);
  other.parameters[2].value = at::zeros({3, 4});
  expectRefused(other, "parameter 'layer/2/weight' must be 3x4xfloat32, got "
                       "3x3xfloat32");
  other.parameters[2].value = at::zeros({3, 3}, at::kHalf);
  expectRefused(other, "must be 3x3xfloat16, got 3x3xfloat32");
  other = stateOf(0, 1, 0);
  other.parameters[1].optimizer.emplace_back("master", at::zeros({2, 3}));
  expectRefused(other, "master of parameter 'layer/1/weight' is missing");
  other = stateOf(0, 1, 0);
  other.parameters[1].optimizer[0].second = at::zeros({2, 4});
  expectRefused(other, "exp_avg of parameter 'layer/1/weight' must be 2x4");
  other = stateOf(0, 1, 0);
  other.optimizer = "sgd";
  expectRefused(other, "holds the state of optimizer 'adamw', got: 'sgd'");

  std::string step = ckpt() + "/step-000004/";
  json good = manifest("step-000004");
  auto with = [&](const char *key, const json &value) {
    json changed = good;
    changed[key] = value;
    std::ofstream(step + "manifest.json") << changed;
  };
  with("format", 2);
  expectRefused(all, "must be at most 1, got: 2");
  with("parameters", json::array({{{"file", "../../x"}, {"bytes", 1}}}));
  expectRefused(all, "must lie beside it, got: ../../x");
  with("step", -1);
  expectRefused(all, "must not be negative");
  with("seed", "many");
  expectRefused(all, "not a checkpoint's manifest");
  std::ofstream(step + "manifest.json") << good.dump().substr(0, 60);
  expectRefused(all, "not a checkpoint's manifest");
  std::ofstream(step + "manifest.json") << good;

  std::string file = step + "stage_1.safetensors";
  auto bytes = fs::file_size(file);
  fs::resize_file(file, bytes - 1);
  expectRefused(all, "stage_1.safetensors must have");
  expectRefused(all, "(truncated)");
  fs::remove(file);
  expectRefused(all, "cannot open " + file);
}

/// Files cannot grow beyond `bytes` while it lives: a full disk.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_DFL);
  }

private:
  rlimit before_{};
};

TEST_F(Checkpoint, AFullDiskLosesNothing) {
  save({1, 1}, 1);
  std::atomic<int> failed{0};
  {
    FullDisk full(600);
    asRanks({1, 1}, 1, [&](Checkpoints &checkpoints, int stage, int) {
      TrainState state = stateOf(stage, 2, 2);
      failed += !checkpoints.trySave(state);
      expectSame(state, stateOf(stage, 2, 2));
    });
  }
  EXPECT_EQ(failed, 2); // the others know of it
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-000001"}));
  {
    FullDisk full(600);
    StageSpec spec = plan({1});
    Checkpoints checkpoints(ckpt(), 1, {&spec}, 0, [](int64_t v) { return v; });
    try {
      checkpoints.save(stateOf(0, 1, 2));
      FAIL() << "no error";
    } catch (const Error &error) {
      std::string message = error.what();
      EXPECT_NE(message.find("cannot write " + ckpt()), std::string::npos)
          << message;
    }
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-000001"}));
  save({1, 1}, 2, 1); // space again
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-000002"}));
}

TEST_F(Checkpoint, ALostRankIsNoMatterOfTheDisk) {
  StageSpec spec = plan({1});
  int sums = 0;
  Checkpoints checkpoints(ckpt(), 0, {&spec}, 0, [&](int64_t value) {
    if (++sums == 2)
      fail("the connection is lost");
    return value;
  });
  EXPECT_THROW(checkpoints.trySave(stateOf(0, 1, 1)), Error);
}

TEST_F(Checkpoint, HooksSaveEveryFewStepsAndAtTheEnd) {
  StageSpec spec = plan({1});
  CheckpointOptions options;
  options.folder = ckpt();
  options.every = 2;
  options.kept = 0;
  SumOverRanks alone = [](int64_t value) { return value; };
  TrainHooks hooks = checkpointHooks(options, {&spec}, 0, alone);
  TrainState state = stateOf(0, 1, 0);
  hooks.restore(state);
  for (state.step = 1; state.step <= 5; ++state.step)
    hooks.afterStep(state, state.step == 5);
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-000002",
                                               "step-000004", "step-000005"}));
  EXPECT_FALSE(checkpointHooks({}, {&spec}, 0, alone).restore);
}

TEST_F(Checkpoint, AFolderThatCannotBeMadeIsNamedBeforeTheFirstStep) {
  std::ofstream(folder / "ckpt") << "a file";
  expectRefused(stateOf(0, 1, 0), "cannot write " + ckpt());
}
} // namespace

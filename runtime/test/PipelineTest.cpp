// Whole runs in one process: pipelines with skip connections and replicas,
// inputs that do not fit, traces, emulation.
#include "Programs.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"
#include "hethub/runtime/Run.h"
#include "program/Interpreter.h"
#include "program/Specification.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace hethub;
using namespace hethub::runtime;
using namespace hethub::runtime::test;
using nlohmann::json;

namespace {
std::vector<PreparedStage> prepare(const std::vector<StageProgram> &programs) {
  std::vector<PreparedStage> stages;
  for (const StageProgram &program : programs)
    stages.push_back({specificationOf(program),
                      loaderOf(std::make_shared<StageProgram>(program)), ""});
  return stages;
}

/// What pipeline() computes.
at::Tensor expected(const at::Tensor &x, int stages) {
  at::Tensor y = x;
  for (int i = 0; i < stages; ++i)
    y = y * 2 + (i + 1);
  return stages > 1 ? y + x : y;
}

class Pipeline : public testing::Test {
protected:
  void SetUp() override {
    x = at::rand({2 * microbatches, 3});
    writeNpz(folder / "in.npz", {{"x", x}});
    options.inputs = folder / "in.npz";
    options.outputs = folder / "out.npz";
    options.microbatches = microbatches;
    options.timeoutS = 20;
  }
  std::string refusal(const std::vector<StageProgram> &programs) {
    try {
      runTogether(prepare(programs), options);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }
  static constexpr int microbatches = 7;
  TemporaryFolder folder;
  RunOptions options;
  at::Tensor x;
};

TEST_F(Pipeline, StagesAndReplicasGiveTheSameAnswer) {
  for (const std::vector<int> &replicas : {std::vector<int>{1},
                                           {3},
                                           {1, 1},
                                           {1, 1, 1, 1, 1},
                                           {2, 1},
                                           {1, 2},
                                           {2, 3},
                                           {3, 2, 1}}) {
    runTogether(prepare(pipeline(replicas)), options);
    at::Tensor y = NpzReader(options.outputs).read("y");
    EXPECT_TRUE(at::equal(y, expected(x, static_cast<int>(replicas.size()))))
        << replicas.size() << " stages";
  }
}

TEST_F(Pipeline, RepeatsAndShortQueuesChangeNothing) {
  options.repeats = 3;
  options.ahead = 1;
  runTogether(prepare(pipeline({2, 1, 2})), options);
  EXPECT_TRUE(at::equal(NpzReader(options.outputs).read("y"), expected(x, 3)));
}

TEST_F(Pipeline, PositionalOutputs) {
  options.positional = true;
  runTogether(prepare(pipeline({1, 1})), options);
  EXPECT_EQ(NpzReader(options.outputs).names(),
            std::vector<std::string>{"out0"});
}

TEST_F(Pipeline, InputsThatDoNotFitAreNamed) {
  auto with = [&](const std::string &name, const at::Tensor &value) {
    writeNpz(folder / "in.npz", {{name, value}});
    std::string message = refusal(pipeline({1}));
    EXPECT_FALSE(std::filesystem::exists(options.outputs));
    return message;
  };
  EXPECT_EQ(with("z", x),
            "input 'x' is missing in " + options.inputs + ", which has: z");
  std::string must =
      "input 'x' must be 14x3xfloat32 (7 microbatches of 2x3xfloat32), got: ";
  EXPECT_EQ(with("x", x.to(at::kDouble)), must + "14x3xfloat64");
  EXPECT_EQ(with("x", at::zeros({14, 4})), must + "14x4xfloat32");
  EXPECT_EQ(with("x", at::zeros({13, 3})), must + "13x3xfloat32");
  options.inputs = "";
  EXPECT_EQ(refusal(pipeline({1})),
            "input 'x' is missing: give --inputs FILE.npz");
}

TEST_F(Pipeline, OneMicrobatchOfInputServesAll) {
  writeNpz(folder / "in.npz", {{"x", x.slice(0, 0, 2)}});
  runTogether(prepare(pipeline({1, 1})), options);
  at::Tensor y = NpzReader(options.outputs).read("y");
  EXPECT_TRUE(
      at::equal(y, expected(x.slice(0, 0, 2), 2).repeat({microbatches, 1})));
}

TEST_F(Pipeline, AFailingStageIsNamed) {
  std::vector<StageProgram> programs = pipeline({1, 1, 1});
  // The middle stage gives a result of another shape than its channel carries.
  Call &call =
      *programs[1].mutable_functions(0)->mutable_body(1)->mutable_call();
  call.set_op("aten::sum.dim_IntList");
  call.clear_arguments();
  *call.add_arguments() = value(1);
  Argument axes;
  axes.mutable_ints()->add_value(0);
  *call.add_arguments() = axes;
  Argument keep;
  keep.set_boolean(false);
  *call.add_arguments() = keep;
  *call.add_arguments() = none();
  EXPECT_EQ(refusal(programs),
            "rank 1 (stage 1 on type1) failed: output 'h2' of stage 1 must be "
            "2x3xfloat32, got: 3xfloat32");
}

TEST_F(Pipeline, DisagreeingProgramsDoNotRun) {
  std::vector<StageProgram> programs = pipeline({1, 1});
  programs[1].set_plan_hash("other");
  std::string message = refusal(programs);
  EXPECT_NE(message.find("must agree on the plan (its hash)"),
            std::string::npos)
      << message;
  EXPECT_FALSE(std::filesystem::exists(options.outputs));
}

TEST_F(Pipeline, ShapesKnownAtRunTimeTravelWithTheMessage) {
  std::vector<StageProgram> programs = pipeline({1, 1});
  for (StageProgram &program : programs)
    for (Channel &channel : *program.mutable_channels())
      channel.mutable_type()->set_dims(0, -1);
  runTogether(prepare(programs), options);
  EXPECT_TRUE(at::equal(NpzReader(options.outputs).read("y"), expected(x, 2)));
}

TEST_F(Pipeline, EmulatedStagesAndLinksTakeTheirTime) {
  std::vector<StageProgram> programs = pipeline({1, 1});
  for (StageProgram &program : programs) {
    program.mutable_stages(0)->set_emulated_slowdown(4);
    program.mutable_stages(0)->set_profiled_forward_s(
        0.005); // 20 ms a microbatch
    for (Channel &channel : *program.mutable_channels())
      channel.set_emulated_latency_s(0.03);
  }
  options.stats = folder / "stats.json";
  runTogether(prepare(programs), options);
  std::ifstream file(options.stats);
  std::string line;
  std::vector<json> lines;
  while (std::getline(file, line))
    lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_GE(lines[0]["repeat_busy_s"][0].get<double>(), microbatches * 0.02);
  EXPECT_EQ(lines[0]["computes"], microbatches);
  EXPECT_TRUE(lines[0]["emulated"].get<bool>());
  // The last stage ends one compute of the slow stage for each microbatch, and
  // a hop, after its start.
  EXPECT_GE(lines[1]["wall_s"].get<double>(),
            microbatches * 0.02 + 0.03 - 0.02);
  EXPECT_LT(lines[1]["repeat_busy_s"][0].get<double>(),
            lines[0]["repeat_busy_s"][0].get<double>());
}

TEST_F(Pipeline, TracesShowEveryStepAndJoinMessages) {
  options.trace = folder / "trace.json";
  runTogether(prepare(pipeline({1, 1})), options);
  std::set<uint64_t> begun, ended;
  int computes = 0;
  for (int rank : {0, 1}) {
    json trace = json::parse(
        std::ifstream(options.trace + ".rank" + std::to_string(rank)));
    for (const json &event : trace["traceEvents"]) {
      EXPECT_EQ(event["pid"], rank);
      if (event["ph"] == "s")
        begun.insert(event["id"].get<uint64_t>());
      if (event["ph"] == "f")
        ended.insert(event["id"].get<uint64_t>());
      computes += event["ph"] == "X" && event["tid"] == 0;
    }
  }
  EXPECT_EQ(computes, 2 * microbatches);
  EXPECT_EQ(begun, ended);
  EXPECT_EQ(begun.size(), 2u * microbatches);
}

TEST(PipelineOptions, AreReadAndChecked) {
  std::vector<std::string> arguments{"program", "--microbatches", "4",
                                     "--timeout=2.5", "--positional"};
  RunOptions options = takeRunOptions(arguments);
  EXPECT_EQ(options.microbatches, 4);
  EXPECT_EQ(options.timeoutS, 2.5);
  EXPECT_TRUE(options.positional);
  EXPECT_EQ(arguments, std::vector<std::string>{"program"});
  for (std::vector<std::string> bad :
       {std::vector<std::string>{"--microbatches", "0"},
        {"--microbatches", "1.5"},
        {"--microbatches", "four"},
        {"--microbatches"},
        {"--timeout", "-1"},
        {"--timeout", "nan"},
        {"--positional=yes"}})
    EXPECT_THROW(takeRunOptions(bad), Error) << bad[0];
}
} // namespace

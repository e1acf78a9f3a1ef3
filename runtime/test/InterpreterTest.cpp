// Program files and the interpreter: digest, calls of every argument kind,
// branches, start-up, last uses, profiles.
#include "program/Interpreter.h"
#include "Programs.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Run.h"
#include "program/Profile.h"
#include "program/ProgramFile.h"
#include "program/Sha256.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace hethub;
using namespace hethub::runtime;
using namespace hethub::runtime::test;

namespace {
std::string hex(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

/// A one-stage program under construction.
struct Builder {
  Builder() {
    program.set_version(1);
    program.set_model("test");
    Stage &stage = *program.add_stages();
    stage.set_device_type("host");
    stage.set_device_kind("cpu");
    stage.set_replicas(1);
    Origin &origin = *program.add_origins();
    origin.set_name("/layer/Op");
    origin.set_op("onnx.Op");
    origin.set_signature("onnx.Op(f32)");
    forward = program.add_functions();
    forward->set_name("forward");
    ScheduleRow &row = *program.mutable_schedule()->add_rows();
    row.set_action(hethub::FORWARD);
    row.set_channel(-1);
    program.mutable_schedule()->set_per_microbatch(true);
  }
  void input(int32_t number) {
    addPort(*forward->mutable_inputs(), number, "in" + std::to_string(number),
            tensorType(FLOAT32, {-1, -1}), -1, forward->inputs_size());
  }
  void output(int32_t number) {
    addPort(*forward->mutable_outputs(), number, "out" + std::to_string(number),
            tensorType(FLOAT32, {-1, -1}), -1, forward->outputs_size());
  }
  std::unique_ptr<Interpreter> load() {
    auto interpreter =
        std::make_unique<Interpreter>(std::make_shared<StageProgram>(program));
    WeightsFile none("");
    interpreter->load(none);
    return interpreter;
  }
  std::string refusal() {
    try {
      Interpreter interpreter(std::make_shared<StageProgram>(program));
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }
  StageProgram program;
  Function *forward;
};

Argument ints(std::initializer_list<int64_t> values) {
  Argument argument;
  argument.mutable_ints();
  for (int64_t value : values)
    argument.mutable_ints()->add_value(value);
  return argument;
}
Argument values(std::initializer_list<int32_t> numbers) {
  Argument argument;
  argument.mutable_values();
  for (int32_t number : numbers)
    argument.mutable_values()->add_value(number);
  return argument;
}
Argument boolean(bool value) {
  Argument argument;
  argument.set_boolean(value);
  return argument;
}
Argument dtype(DType value) {
  Argument argument;
  argument.set_dtype(value);
  return argument;
}

TEST(Interpreter, Sha256OfTheStandardsExamples) {
  EXPECT_EQ(hex(sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Interpreter, ChangedProgramFilesAreRefused) {
  TemporaryFolder folder;
  StageProgram program = pipeline({1})[0];
  writeProgramFile(folder / "a.pb", program);
  EXPECT_EQ(readProgramFile(folder / "a.pb").SerializeAsString(),
            program.SerializeAsString());
  std::ifstream file(folder / "a.pb", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 1;
    std::ofstream(folder / "b.pb", std::ios::binary) << changed;
    EXPECT_THROW(readProgramFile(folder / "b.pb"), Error) << "byte " << i;
  }
  std::ofstream(folder / "b.pb", std::ios::binary)
      << bytes.substr(0, bytes.size() / 2);
  EXPECT_THROW(readProgramFile(folder / "b.pb"), Error);
  program.set_version(2);
  writeProgramFile(folder / "c.pb", program);
  try {
    readProgramFile(folder / "c.pb");
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("must be of version 1, got: 2"),
              std::string::npos);
  }
}

TEST(Interpreter, PassesEveryKindOfArgument) {
  Builder b;
  b.input(0);
  // permute(int[]), sum.dim_IntList(int[]?, bool, ScalarType?), cat(Tensor[],
  // int), clamp(Scalar?, Scalar?)
  addCall(*b.forward, "aten::permute", {value(0), ints({1, 0})}, {1});
  addCall(*b.forward, "aten::sum.dim_IntList",
          {value(1), ints({0}), boolean(true), dtype(FLOAT64)}, {2});
  addCall(*b.forward, "aten::clamp", {value(0), none(), floating(3)}, {3});
  addCall(*b.forward, "aten::cat", {values({0, 3}), integer(0)}, {4});
  // split gives a list: its elements are results, the second one is not used
  addCall(*b.forward, "aten::split_with_sizes",
          {value(4), ints({1, 2, 1}), integer(0)}, {5, -1, 6});
  // full(device=None) is made where the stage computes; max.dim has two results
  addCall(*b.forward, "aten::full",
          {ints({2, 1}), integer(7), dtype(FLOAT32), none(), none(), none()},
          {7});
  addCall(*b.forward, "aten::max.dim", {value(0), integer(1), boolean(false)},
          {8, 9});
  // index.Tensor(Tensor?[]) with an absent element
  addCall(*b.forward, "aten::index.Tensor", {value(0), values({-1, 9})}, {10});
  // gelu(*, str approximate)
  Argument text;
  text.set_str("tanh");
  addCall(*b.forward, "aten::gelu", {value(0), text}, {11});
  for (int32_t number : {2, 5, 6, 7, 8, 10, 11})
    b.output(number);
  std::unique_ptr<Interpreter> loaded = b.load();
  Interpreter &interpreter = *loaded;
  c10::InferenceMode inference;
  at::Tensor x = at::tensor({1.f, 5.f, 2.f, 4.f}).reshape({2, 2});
  for (int run = 0; run < 2;
       ++run) { // a second run finds its table as the first one did
    Tensors out = interpreter.forward({x});
    EXPECT_TRUE(at::equal(out[0], x.t().sum({0}, true, at::kDouble)));
    EXPECT_TRUE(at::equal(out[1], x.slice(0, 0, 1)));
    EXPECT_TRUE(at::equal(out[2], x.slice(0, 1, 2).clamp(std::nullopt, 3)));
    EXPECT_TRUE(at::equal(out[3], at::full({2, 1}, 7.f)));
    EXPECT_TRUE(at::equal(out[4], at::tensor({5.f, 4.f})));
    EXPECT_TRUE(at::equal(out[5], x.index_select(1, at::tensor({1, 1}))));
    EXPECT_TRUE(at::equal(out[6], at::gelu(x, "tanh")));
  }
}

TEST(Interpreter, ListsAllProblemsWithNodeNames) {
  Builder b;
  b.input(0);
  addCall(*b.forward, "aten::no_such_op", {value(0)}, {1}, 0);
  addCall(*b.forward, "aten::relu.no_such_overload", {value(0)}, {2}, 0);
  addCall(*b.forward, "aten::relu", {value(0), integer(1)}, {3}, 0);
  addCall(*b.forward, "aten::permute", {value(0), floating(1)}, {4}, 0);
  addCall(*b.forward, "aten::max.dim", {value(0), integer(1), boolean(false)},
          {5}, 0);
  std::string message = b.refusal();
  for (const char *part :
       {"stage 0 of 'test' can not run:",
        "aten::no_such_op (onnx.Op '/layer/Op'): unknown operator",
        "aten::relu.no_such_overload (onnx.Op '/layer/Op'): unknown operator",
        "aten::relu (onnx.Op '/layer/Op'): needs 1 arguments, got: 2",
        "argument 'dims' must be int[], got: float: 1",
        "gives 2 results, got: 1"})
    EXPECT_NE(message.find(part), std::string::npos)
        << part << " in " << message;
}

TEST(Interpreter, RefusesReadsOfUndefinedValues) {
  Builder b;
  b.input(0);
  addCall(*b.forward, "aten::relu", {value(5)}, {1});
  EXPECT_NE(b.refusal().find("reads value 5, which nothing defines"),
            std::string::npos);
}

TEST(Interpreter, FailingCallsNameTheNode) {
  Builder b;
  b.input(0);
  addCall(*b.forward, "aten::permute", {value(0), ints({0, 0})}, {1}, 0);
  b.output(1);
  std::unique_ptr<Interpreter> loaded = b.load();
  Interpreter &interpreter = *loaded;
  try {
    interpreter.forward({at::zeros({2, 2})});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(
        std::string(error.what()).find("aten::permute (onnx.Op '/layer/Op'): "),
        0u)
        << error.what();
  }
}

TEST(Interpreter, BranchesTakeTheRightBlock) {
  Builder b;
  b.input(0);
  addCall(*b.forward, "aten::neg", {value(0)},
          {1}); // read inside one block only
  addCall(*b.forward, "aten::sum", {value(0), none()}, {2});
  addCall(*b.forward, "aten::gt.Scalar", {value(2), integer(0)}, {3});
  Branch &branch = *b.forward->add_body()->mutable_branch();
  branch.set_condition(3);
  Function then, otherwise;
  addCall(then, "aten::mul.Scalar", {value(1), integer(2)}, {4});
  addCall(then, "aten::relu", {value(4)}, {5});
  *branch.mutable_then_body() = then.body();
  branch.add_then_results(4);
  branch.add_then_results(5);
  branch.add_else_results(0); // a value from outside
  branch.add_else_results(0);
  branch.add_results(6);
  branch.add_results(7);
  addCall(*b.forward, "aten::add.Tensor", {value(6), value(7), integer(1)},
          {8});
  b.output(8);
  std::unique_ptr<Interpreter> loaded = b.load();
  Interpreter &interpreter = *loaded;
  c10::InferenceMode inference;
  at::Tensor x = at::ones({2, 2});
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(at::equal(interpreter.forward({x})[0], at::full({2, 2}, -2.f)));
    EXPECT_TRUE(
        at::equal(interpreter.forward({-x})[0], at::full({2, 2}, -2.f)));
  }
}

TEST(Interpreter, LoopsCarryAndStackValues) {
  // (a, b) = (b, a + b) while the sum of b is below 20, at most 10 times; each
  // iteration gives its number plus x, which is from outside.
  Builder b;
  b.input(0);
  addCall(*b.forward, "aten::full",
          {ints({}), integer(10), dtype(INT64), none(), none(), none()}, {1});
  addCall(*b.forward, "aten::full",
          {ints({}), boolean(true), dtype(BOOL), none(), none(), none()}, {2});
  Loop &loop = *b.forward->add_body()->mutable_loop();
  loop.set_trip_count(1);
  loop.set_condition(2);
  loop.add_initial(0);
  loop.add_initial(0);
  loop.set_iteration(3);
  loop.set_condition_in(4);
  loop.add_carried_in(5);
  loop.add_carried_in(6);
  Function body;
  addCall(body, "aten::add.Tensor", {value(5), value(6), integer(1)}, {7});
  addCall(body, "aten::sum", {value(7), none()}, {8});
  addCall(body, "aten::lt.Scalar", {value(8), integer(20)}, {9});
  addCall(body, "aten::add.Tensor", {value(0), value(3), integer(1)}, {10});
  *loop.mutable_body() = body.body();
  loop.set_condition_out(9);
  loop.add_carried_out(6); // swapped: all must be read before one is written
  loop.add_carried_out(7);
  loop.add_stacked(10);
  *loop.add_stacked_types() = tensorType(FLOAT32, {-1, 2, 2});
  for (int32_t result : {11, 12, 13})
    loop.add_results(result);
  for (int32_t result : {11, 12, 13})
    b.output(result);
  std::unique_ptr<Interpreter> interpreter = b.load();
  c10::InferenceMode inference;
  at::Tensor x = at::ones({2, 2});
  for (int run = 0; run < 2; ++run) {
    Tensors out = interpreter->forward({x});
    // 1 1 -> 1 2 -> 2 3 -> 3 5: 4 * 5 is not below 20.
    EXPECT_TRUE(at::equal(out[0], x * 3));
    EXPECT_TRUE(at::equal(out[1], x * 5));
    ASSERT_EQ(out[2].sizes(), at::IntArrayRef({3, 2, 2}));
    EXPECT_TRUE(at::equal(out[2][2], x + 2));
  }

  b.program.mutable_functions(0)
      ->mutable_body(0)
      ->mutable_call()
      ->mutable_arguments(1)
      ->set_int_(0);
  Tensors none = b.load()->forward({x});
  EXPECT_TRUE(at::equal(none[0], x));
  EXPECT_EQ(none[2].sizes(), at::IntArrayRef({0, 2, 2}));
  EXPECT_EQ(none[2].scalar_type(), at::kFloat);

  Function &forward = *b.program.mutable_functions(0);
  forward.mutable_body(2)->mutable_loop()->set_condition_out(42);
  EXPECT_NE(b.refusal().find("the end of a loop reads value 42"),
            std::string::npos);
  forward.mutable_body(2)->mutable_loop()->clear_carried_out();
  EXPECT_NE(b.refusal().find("must carry one number of values"),
            std::string::npos);
}

TEST(Interpreter, StartUpRunsOnceAndConstantsStay) {
  Builder b;
  b.input(0);
  Constant &constant = *b.program.add_constants();
  constant.set_value(1);
  *constant.mutable_type() = tensorType(FLOAT32, {2});
  float numbers[] = {1, 2};
  constant.set_data(numbers, sizeof(numbers));
  Function &startUp = *b.program.add_functions();
  startUp.set_name("start_up");
  addCall(startUp, "aten::mul.Scalar", {value(1), integer(10)}, {2});
  b.forward =
      b.program.mutable_functions(0); // adding one may have moved the other
  addCall(*b.forward, "aten::add.Tensor", {value(0), value(2), integer(1)},
          {3});
  b.output(3);
  std::unique_ptr<Interpreter> loaded = b.load();
  Interpreter &interpreter = *loaded;
  c10::InferenceMode inference;
  for (int run = 0; run < 2; ++run)
    EXPECT_TRUE(at::equal(interpreter.forward({at::zeros({1, 2})})[0],
                          at::tensor({10.f, 20.f}).reshape({1, 2})));
}

TEST(Interpreter, ValuesLeaveAfterTheirLastUse) {
  Builder b;
  b.input(0);
  addCall(*b.forward, "aten::relu", {value(0)}, {1});
  addCall(*b.forward, "aten::add.Tensor", {value(1), value(1), integer(1)},
          {2}); // twice in one call
  b.output(2);
  std::unique_ptr<Interpreter> loaded = b.load();
  Interpreter &interpreter = *loaded;
  c10::InferenceMode inference;
  at::Tensor x = at::ones({2, 2});
  Tensors inputs{x};
  Tensors out = interpreter.forward(std::move(inputs));
  EXPECT_TRUE(at::equal(out[0], at::full({2, 2}, 2.f)));
  EXPECT_EQ(x.use_count(), 1u); // nothing holds the input any more
  EXPECT_EQ(out[0].use_count(), 1u);
}

TEST(Interpreter, ProfilesSumCallsOfOneOrigin) {
  TemporaryFolder folder;
  StageProgram program = pipeline({1})[0];
  std::string text =
      profileProgram(std::make_shared<StageProgram>(program), "", "", 5, 1);
  nlohmann::json profile = nlohmann::json::parse(text);
  EXPECT_GT(profile["forward_s"].get<double>(), 0);
  ASSERT_EQ(profile["ops"].size(), 1u);
  nlohmann::json entry = profile["ops"]["onnx.Mul(2x3xf32)"];
  EXPECT_EQ(entry["name"], "/block0/Mul");
  EXPECT_EQ(entry["op"], "onnx.Mul");
  EXPECT_EQ(entry["count"], 1);
  EXPECT_GT(entry["forward_s"].get<double>(), 0);
}
} // namespace

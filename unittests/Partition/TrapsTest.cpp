// Models of the kinds that pipeline splitters are reported to get wrong.
#include "Loopback.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::test;

namespace {

/// Writes models with 4x4 tensors in which every operation takes 1 ms.
class Model {
public:
  explicit Model(unsigned devices, int64_t memory = 1000000) {
    head = "hh.device_type @d kind \"cpu\" count " + std::to_string(devices) +
           " memory " + std::to_string(memory) +
           "\nhh.link @d to @d bandwidth 1.0e9 latency 1.0e-6\n";
  }

  std::string input(const std::string &name, const std::string &type = t) {
    arguments += (arguments.empty() ? "" : ", ") + ("%" + name) + ": " + type +
                 " {onnx.name = \"" + name + "\"}";
    types["%" + name] = type;
    return "%" + name;
  }
  std::string weight(const std::string &name, const std::string &type = t) {
    if (weights.insert(name).second)
      head += "hh.parameter @" + name + " : " + type +
              " from \"m.bin\" tensor \"" + name + "\"\n";
    return define("hh.get_parameter @" + name + " : " + type, type);
  }
  std::string constant(const std::string &value, const std::string &type) {
    return define("onnx.Constant() {value = dense<" + value + "> : " + type +
                      "} : () -> (" + type + ")",
                  type);
  }
  std::string op(const std::string &name, const std::string &kind,
                 const std::vector<std::string> &operands,
                 const std::string &type = t,
                 const std::string &attributes = "", double milliseconds = 1,
                 const std::string &regions = "") {
    std::string list, operandTypes;
    for (const std::string &operand : operands) {
      list += (list.empty() ? "" : ", ") + operand;
      operandTypes += (operandTypes.empty() ? "" : ", ") + types.at(operand);
    }
    std::string seconds = std::to_string(milliseconds * 1e-3);
    return define("onnx." + kind + "(" + list +
                      ") {hh.cost = #hh.cost<flops = 1, moved = 1, kept = 0, "
                      "parameters = 0, seconds = {d = array<f64: " +
                      seconds + ", " + seconds + ">}>" +
                      (attributes.empty() ? "" : ", ") + attributes + "} : (" +
                      operandTypes + ") -> (" + type + ")" + regions +
                      " loc(\"" + name + "\")",
                  type);
  }
  /// Relu(x * W + b), three operations that are named NAME/...
  std::string layer(const std::string &name, const std::string &x,
                    const std::string &weightName, double milliseconds = 1) {
    std::string y = op(name + "/matmul", "MatMul", {x, weight(weightName)}, t,
                       "", milliseconds);
    y = op(name + "/add", "Add", {y, weight(weightName + "_b")}, t, "",
           milliseconds);
    return op(name + "/relu", "Relu", {y}, t, "", milliseconds);
  }
  void output(const std::string &value) { outputs.push_back(value); }

  std::string text() const {
    std::string names, resultTypes;
    for (const std::string &value : outputs) {
      names += (names.empty() ? "" : ", ") + value;
      resultTypes += (resultTypes.empty() ? "" : ", ") + types.at(value);
    }
    return head + "func.func @main(" + arguments + ") -> (" + resultTypes +
           ") {\n" + body + "  return " + names + " : " + resultTypes + "\n}\n";
  }

  inline static const std::string t = "tensor<4x4xf32>";

private:
  std::string define(const std::string &text, const std::string &type) {
    std::string name = "%v" + std::to_string(types.size());
    types[name] = type;
    body += "  " + name + " = " + text + "\n";
    return name;
  }

  std::string head, arguments, body;
  std::map<std::string, std::string> types;
  std::set<std::string> weights;
  std::vector<std::string> outputs;
};

class Traps : public testing::Test {
protected:
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module;

  /// Partitions the model in exactly `stages` stages for 8 microbatches and
  /// makes programs; the answer must be that of the model.
  void split(const Model &model, unsigned stages) {
    module = parse(*context, model.text());
    if (!module)
      module = ModuleOp::create(UnknownLoc::get(context.get()));
    ASSERT_TRUE(module->lookupSymbol("main")) << model.text();
    Outputs expected = runModel(*module, 3);
    ASSERT_EQ("", runPasses(*module, "hh-partition{microbatches=8 stages=" +
                                         std::to_string(stages) +
                                         "},hh-verify-phase{phase=partition}"));
    auto main = module->lookupSymbol<func::FuncOp>("main");
    for (auto stage : main.getOps<hh::StageOp>()) {
      perStage.emplace_back();
      for (Operation &op : stage.getBody().front())
        perStage.back()[op.getName().getStringRef().str()]++;
    }
    ASSERT_EQ(perStage.size(), stages);
    ASSERT_EQ("", runPasses(*module,
                            "hh-insert-communication,hh-verify-phase{phase="
                            "communication},hh-schedule"));
    EXPECT_EQ(expected, runPrograms(*module, 3));
  }
  std::string refusal(const Model &model, unsigned stages) {
    module = parse(*context, model.text());
    EXPECT_TRUE(module) << model.text();
    return runPasses(*module,
                     "hh-partition{stages=" + std::to_string(stages) + "}");
  }
  /// (from, to) of every message.
  std::vector<std::pair<int, int>> messages() {
    std::vector<std::pair<int, int>> list;
    module->walk([&](hh::SendOp send) {
      list.push_back(
          {static_cast<int>(send->getParentOfType<hh::ProgramOp>().getStage()),
           static_cast<int>(send.getTo())});
    });
    return list;
  }

  std::vector<std::map<std::string, int>> perStage;
};

TEST_F(Traps, FiveLayersOnFourStages) {
  Model model(4);
  std::string x = model.input("x");
  for (int i = 0; i < 5; ++i)
    x = model.layer("layer" + std::to_string(i), x, "W" + std::to_string(i));
  model.output(x);
  split(model, 4);
  int operations = 0;
  for (auto &stage : perStage) {
    int here = stage["onnx.MatMul"] + stage["onnx.Add"] + stage["onnx.Relu"];
    EXPECT_GE(here, 1);
    EXPECT_LE(here, 4);
    operations += here;
  }
  EXPECT_EQ(operations, 15);
}

TEST_F(Traps, MoreStagesThanOperations) {
  Model model(4);
  model.output(model.op("mm", "MatMul", {model.input("x"), model.weight("W")}));
  EXPECT_NE(refusal(model, 4), "");
}

TEST_F(Traps, SkipFromFirstToLast) {
  Model model(4);
  std::string first = model.op("first", "Relu", {model.input("x")}), x = first;
  for (int i = 0; i < 2; ++i)
    x = model.op("mid" + std::to_string(i), "Exp", {x});
  model.output(model.op("last", "Add", {x, first}));
  split(model, 4);
  // Straight from its maker to its reader, past those that do not need it.
  EXPECT_EQ(messages(),
            (std::vector<std::pair<int, int>>{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
}

TEST_F(Traps, TiedWeightTransposedInTheLastStage) {
  Model model(3);
  std::string emb = model.weight("emb");
  std::string transposed =
      model.op("t", "Transpose", {emb}, Model::t, "perm = array<i64: 1, 0>");
  std::string x =
      model.op("gather", "Gather", {emb, model.input("ids", "tensor<4xi64>")},
               Model::t, "axis = 0 : i64");
  x = model.layer("mid", x, "W");
  model.output(model.op("head", "MatMul", {x, transposed}));
  split(model, 3);
  // One weight, two stages; neither it nor its transpose is sent.
  EXPECT_EQ(perStage[0]["hh.get_parameter"] > 0 &&
                perStage[2]["hh.get_parameter"] > 0,
            true);
  EXPECT_EQ(perStage[2]["onnx.Transpose"], 1);
  EXPECT_EQ(messages().size(), 2u);
}

TEST_F(Traps, LayerUsedTwice) {
  Model model(3);
  std::string x = model.layer("a", model.input("x"), "W");
  x = model.layer("b", x, "V");
  model.output(model.layer("a2", x, "W"));
  split(model, 3);
  for (auto &stage : perStage)
    EXPECT_EQ(stage["onnx.MatMul"], 1);
}

TEST_F(Traps, OneValueManyReaders) {
  Model model(4);
  std::string x = model.input("x");
  std::string scale = model.op("scale", "Sigmoid", {x});
  for (int i = 0; i < 4; ++i)
    x = model.op("mul" + std::to_string(i), "Mul", {x, scale});
  model.output(x);
  split(model, 4);
  int made = 0;
  for (auto &stage : perStage)
    made += stage["onnx.Sigmoid"];
  EXPECT_EQ(made, 1) << "sent on, not computed anew";
}

TEST_F(Traps, EarlyOutputIsAlsoUsedLater) {
  Model model(3);
  std::string a = model.layer("a", model.input("x"), "W");
  std::string b = model.layer("b", a, "V");
  model.output(model.layer("c", b, "U"));
  model.output(a);
  model.output(a);
  split(model, 3);
}

TEST_F(Traps, TwoBranches) {
  Model model(2);
  std::string a = model.layer("a", model.input("x"), "W");
  std::string b = model.layer("b", model.input("y"), "V");
  model.output(b);
  model.output(a);
  split(model, 2);
  EXPECT_TRUE(messages().empty());
}

TEST_F(Traps, HeavyFirstLayer) {
  Model model(3);
  std::string x = model.layer("layer0", model.input("x"), "W0", 40);
  for (int i = 1; i < 6; ++i)
    x = model.layer("layer" + std::to_string(i), x, "W" + std::to_string(i));
  model.output(x);
  split(model, 3);
  // Its three operations are the whole work: everything else shares a stage.
  EXPECT_EQ(perStage[2]["onnx.MatMul"] + perStage[1]["onnx.MatMul"], 5);
}

TEST_F(Traps, MixedTypesAcrossACut) {
  Model model(2);
  // Dims, element type, its number in ONNX.
  std::tuple<const char *, const char *, int> kinds[] = {
      {"2x3x", "f16", 10}, {"", "f64", 11},    {"", "i64", 7},
      {"5x", "i32", 6},    {"0x4x", "ui8", 2}, {"1x2x2x", "i1", 9}};
  std::vector<std::pair<std::string, std::string>> made;
  for (auto [dims, element, number] : kinds) {
    std::string name = "make_" + std::string(element);
    std::string plain = "tensor<" + std::string(dims) + "f32>";
    made.push_back({model.op(name, "Cast", {model.input(name, plain)},
                             "tensor<" + std::string(dims) + element + ">",
                             "to = " + std::to_string(number) + " : i64"),
                    plain});
  }
  for (auto &[value, plain] : made)
    model.output(model.op("read_" + value.substr(1), "Cast", {value}, plain,
                          "to = 1 : i64"));
  split(model, 2);
  EXPECT_EQ(messages().size(), 6u);
}

TEST_F(Traps, ScalarsAndEmptyTensorsAcrossACut) {
  Model model(2);
  std::string none = "tensor<0x4xf32>", scalar = "tensor<f32>";
  std::string a = model.op("a", "Relu", {model.input("x", none)}, none);
  std::string b = model.op("b", "Relu", {model.input("s", scalar)}, scalar);
  model.output(model.op("c", "Mul", {a, b}, none));
  model.output(model.op("d", "Exp", {b}, scalar));
  split(model, 2);
  EXPECT_FALSE(messages().empty());
}

TEST_F(Traps, CaptureAcrossACut) {
  Model model(3);
  std::string a = model.op("a", "Relu", {model.input("x")});
  std::string b = model.op("b", "Exp", {a});
  std::string condition = model.constant("true", "tensor<i1>");
  std::string t = Model::t;
  model.output(
      model.op("if", "If", {condition}, t, "", 1,
               " then_branch {\n %q = onnx.Add(" + a + ", " + b + ") : (" + t +
                   ", " + t + ") -> (" + t + ")\n onnx.Yield %q : " + t +
                   "\n} else_branch {\n onnx.Yield " + a + " : " + t + "\n}"));
  split(model, 3);
  EXPECT_EQ(messages().size(), 3u);
}

TEST_F(Traps, InputsOfLateStages) {
  Model model(3);
  std::string x = model.input("x");
  std::string unused = model.input("unused"), mask = model.input("mask");
  x = model.op("a", "Relu", {x});
  x = model.op("b", "Add", {x, model.input("bias")});
  model.output(model.op("c", "Mul", {x, mask}));
  split(model, 3);
  // Fed where it is used, not sent on; the one that nobody reads is kept.
  EXPECT_EQ(messages().size(), 2u);
  unsigned arguments = 0;
  for (auto program : module->getOps<hh::ProgramOp>())
    arguments += program.getNumArguments();
  EXPECT_EQ(arguments, 4u);
}

TEST_F(Traps, ConstantsFarFromTheirUse) {
  Model model(3);
  std::string far = model.constant("2.0", Model::t);
  std::string made =
      model.op("made", "Transpose", {far}, Model::t, "perm = array<i64: 1, 0>");
  std::string x = model.layer("a", model.input("x"), "W");
  x = model.layer("b", x, "V");
  model.output(model.op("last", "Add", {x, made}));
  split(model, 3);
  EXPECT_EQ(perStage[2]["onnx.Constant"], 1);
  EXPECT_EQ(perStage[2]["onnx.Transpose"], 1);
  EXPECT_EQ(messages().size(), 2u);
}

/// A model whose second stage reads the half of a value, and, with `both`, the
/// whole of it as well.
Model halfOf(bool both) {
  Model model(2);
  std::string index = "tensor<1xi64>", half = "tensor<2x4xf32>";
  std::string whole =
      model.op("whole", "Relu", {model.input("x")}, Model::t, "", 2);
  std::string zero = model.constant("0", index);
  std::string part = model.op(
      "part", "Slice", {whole, zero, model.constant("2", index), zero}, half);
  std::string y = model.op("y", "Exp", {part}, half, "", 3);
  if (both)
    y = model.op("z", "Concat", {y, whole}, "tensor<6x4xf32>", "axis = 0 : i64",
                 2);
  model.output(y);
  return model;
}

TEST_F(Traps, HalfOfAValueIsSentAlone) {
  split(halfOf(false), 2);
  std::vector<int64_t> bytes;
  module->walk([&](hh::SendOp send) {
    bytes.push_back(hh::byteSize(send.getValue().getType()));
    EXPECT_TRUE(send.getPack());
  });
  EXPECT_EQ(bytes, std::vector<int64_t>{32});
}

TEST_F(Traps, HalfOfAValueThatIsThereIsNotSent) {
  split(halfOf(true), 2);
  std::vector<int64_t> bytes;
  module->walk([&](hh::SendOp send) {
    bytes.push_back(hh::byteSize(send.getValue().getType()));
    EXPECT_FALSE(send.getPack());
  });
  EXPECT_EQ(bytes, std::vector<int64_t>{64});
}

TEST_F(Traps, WeightLargerThanAnyDevice) {
  Model model(4, 8192);
  std::string type = "tensor<64x64xf32>";
  model.output(model.op("mm", "MatMul",
                        {model.input("x", type), model.weight("W_big", type)},
                        type));
  std::string message = refusal(model, 2);
  for (const char *part : {"W_big", "16384", "8192 bytes are missing"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(Traps, NoDeviceFits) {
  // Every weight fits alone, all of them do not.
  Model model(2, 24000);
  std::string type = "tensor<64x64xf32>",
              x = model.input("x", "tensor<1x64xf32>");
  for (int i = 0; i < 4; ++i)
    x = model.op("mm" + std::to_string(i), "MatMul",
                 {x, model.weight("W" + std::to_string(i), type)},
                 "tensor<1x64xf32>");
  model.output(x);
  std::string message = refusal(model, 0);
  EXPECT_NE(message.find("bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("stage"), std::string::npos) << message;
}

} // namespace

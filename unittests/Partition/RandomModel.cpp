// Random models as MLIR text; one case of `operation` for each thing that cuts
// have to get right.
#include "RandomModel.h"

#include <sstream>
#include <vector>

namespace {

using Values = std::vector<std::string>;

const std::string square = "tensor<4x4xf32>", half = "tensor<2x4xf32>",
                  integers = "tensor<4x4xi64>";

class Generator {
public:
  explicit Generator(std::mt19937 &random) : random(random) {}

  std::string generate() {
    cluster();
    unsigned inputs = 1 + below(3), weights = 1 + below(4);
    std::ostringstream signature;
    for (unsigned i = 0; i < inputs; ++i) {
      signature << (i ? ", " : "") << "%in" << i << ": " << square
                << " {onnx.name = \"in" << i << "\"}";
      squares.push_back("%in" + std::to_string(i));
    }
    for (unsigned w = 0; w < weights; ++w)
      module << "hh.parameter @w" << w << " : " << square
             << " from \"m.bin\" offset " << 64 * w << " length 64\n";
    constants();
    for (unsigned count = 4 + below(30); count > 0; --count)
      operation(weights);

    unsigned outputs = 1 + below(4);
    std::string names, types, results;
    for (unsigned i = 0; i < outputs; ++i) {
      const std::string &value =
          below(8) == 0 ? pick(squares) : squares[squares.size() - 1 - i % 3];
      names += (i ? ", " : "") + value;
      types += (i ? ", " : "") + square;
      results += (i ? ", " : "") + square + " {onnx.name = \"out" +
                 std::to_string(i) + "\"}";
    }
    module << "func.func @main(" << signature.str() << ") -> (" << results
           << ") {\n"
           << body.str() << "  return " << names << " : " << types << "\n}\n";
    return module.str();
  }

private:
  unsigned below(unsigned bound) { return random() % bound; }
  const std::string &pick(const Values &values) {
    // Mostly recent values: a long graph with some skips.
    unsigned back = below(4) ? below(std::min<size_t>(values.size(), 4))
                             : below(values.size());
    return values[values.size() - 1 - back];
  }

  void cluster() {
    types = 1 + below(3);
    for (unsigned t = 0; t < types; ++t)
      module << "hh.device_type @d" << t << " kind \"cpu\" count "
             << 2 + below(3) << " memory 1000000\n";
    for (unsigned a = 0; a < types; ++a)
      for (unsigned b = a; b < types; ++b)
        module << "hh.link @d" << a << " to @d" << b << " bandwidth "
               << 1 + below(100) << ".0e3 latency " << below(10) << ".0e-4\n";
  }

  void constants() {
    auto constant = [&](const std::string &name, const std::string &value) {
      body << "  %" << name << " = onnx.Constant() {value = " << value
           << "} : () -> (" << value.substr(value.find(": ") + 2) << ")\n";
    };
    constant("c0", "dense<0> : tensor<1xi64>");
    constant("c2", "dense<2> : tensor<1xi64>");
    constant("k", "dense<4> : tensor<1xi64>");
    constant("first", "dense<0> : tensor<i64>");
    constant("true", "dense<true> : tensor<i1>");
    constant("one", "dense<1.5> : tensor<4x4xf32>");
    squares.push_back("%one");
  }

  std::string cost() {
    std::ostringstream text;
    text << "hh.cost = #hh.cost<flops = 1, moved = 1, kept = 0, parameters = "
            "0, seconds = {";
    for (unsigned t = 0; t < types; ++t)
      text << (t ? ", " : "") << "d" << t << " = array<f64: " << 1 + below(9)
           << ".0e-3, 1.0e-3>";
    text << "}>";
    return text.str();
  }

  /// One operation of `results` values; returns their names.
  Values emit(const std::string &op, const Values &operands,
              const std::string &attributes, const std::string &type,
              unsigned results = 1) {
    std::string name = "n" + std::to_string(++counter);
    body << "  %" << name;
    if (results > 1)
      body << ":" << results;
    body << " = onnx." << op << "(";
    for (size_t i = 0; i < operands.size(); ++i)
      body << (i ? ", " : "") << operands[i];
    body << ") {" << cost() << (attributes.empty() ? "" : ", ") << attributes
         << "} : " << type << " loc(\"" << name << "\")\n";
    if (results == 1)
      return {"%" + name};
    Values names;
    for (unsigned r = 0; r < results; ++r)
      names.push_back("%" + name + "#" + std::to_string(r));
    return names;
  }

  void operation(unsigned weights) {
    std::string one = "(" + square + ") -> (" + square + ")";
    std::string two = "(" + square + ", " + square + ") -> (" + square + ")";
    static const char *unary[] = {"Relu", "Exp", "Tanh", "Sigmoid"};
    static const char *binary[] = {"Add", "Sub", "Mul", "MatMul"};
    auto keep = [&](Values values) {
      squares.insert(squares.end(), values.begin(), values.end());
    };
    std::string a = pick(squares), b = pick(squares);
    switch (below(16)) {
    case 0:
    case 1:
      return keep(emit(unary[below(4)], {a}, "", one));
    case 2:
    case 3:
    case 4:
      return keep(emit(binary[below(4)], {a, b}, "", two));
    case 5:
      return keep(emit("Transpose", {a}, "perm = array<i64: 1, 0>", one));
    case 6:
      return keep(emit(below(2) ? "Identity" : "Flatten", {a}, "", one));
    case 7: {
      Values parts =
          emit("Split", {a}, "axis = 0 : i64, num_outputs = 2 : i64",
               "(" + square + ") -> (" + half + ", " + half + ")", 2);
      halves.insert(halves.end(), parts.begin(), parts.end());
      return;
    }
    case 8: {
      std::string index = "tensor<1xi64>";
      Values part = emit("Slice", {a, "%c0", "%c2", "%c0"}, "",
                         "(" + square + ", " + index + ", " + index + ", " +
                             index + ") -> (" + half + ")");
      halves.push_back(part[0]);
      return;
    }
    case 9:
      if (halves.empty())
        return;
      return keep(emit("Concat", {pick(halves), pick(halves)}, "axis = 0 : i64",
                       "(" + half + ", " + half + ") -> (" + square + ")"));
    case 10: {
      Values both = emit("TopK", {a, "%k"}, "",
                         "(" + square + ", tensor<1xi64>) -> (" + square +
                             ", " + integers + ")",
                         2);
      squares.push_back(both[0]);
      squares.push_back(emit("Cast", {both[1]}, "to = 1 : i64",
                             "(" + integers + ") -> (" + square + ")")[0]);
      return;
    }
    case 11:
    case 12: {
      unsigned number = below(weights);
      std::string weight =
          "%w" + std::to_string(number) + "_" + std::to_string(++counter);
      body << "  " << weight << " = hh.get_parameter @w" << number << " : "
           << square << "\n";
      if (below(3) == 0)
        weight = emit("Transpose", {weight}, "perm = array<i64: 1, 0>", one)[0];
      if (below(4) == 0)
        weight = emit("Mul", {weight, "%one"}, "", two)[0];
      return keep(emit("MatMul", {a, weight}, "", two));
    }
    case 13: {
      std::string sequence = "!onnx.seq<" + square + ">";
      Values list =
          emit("SequenceConstruct", {a, b}, "",
               "(" + square + ", " + square + ") -> (" + sequence + ")");
      return keep(emit("SequenceAt", {list[0], "%first"}, "",
                       "(" + sequence + ", tensor<i64>) -> (" + square + ")"));
    }
    case 14:
      return keep(emit("RandomNormalLike", {a}, "", one));
    case 15: {
      std::string name = "n" + std::to_string(++counter);
      body << "  %" << name << " = onnx.If(%true) {" << cost()
           << "} : (tensor<i1>) -> (" << square << ") then_branch {\n    %t"
           << counter << " = onnx.Sub(" << a << ", " << b << ") : " << two
           << "\n    onnx.Yield %t" << counter << " : " << square
           << "\n  } else_branch {\n    onnx.Yield " << b << " : " << square
           << "\n  } loc(\"" << name << "\")\n";
      squares.push_back("%" + name);
      return;
    }
    }
  }

  std::mt19937 &random;
  std::ostringstream module, body;
  unsigned types = 1, counter = 0;
  Values squares, halves;
};

} // namespace

std::string hethub::test::randomModel(std::mt19937 &random) {
  return Generator(random).generate();
}

//===- Recurrent.cpp - recurrent networks, step by step -------------------===//
//
// LibTorch has no backward operator for these networks on processors: its
// autograd differentiates the steps one by one. So does this: a network becomes
// the calls of its steps, which have rules of their own. What they compute is
// what runtime/lib/ops/Recurrent.cpp computes. Shapes: x [T, N, I], weights of
// one direction [G*H, I] and [G*H, H], biases [G*H], states [N, H].
//===----------------------------------------------------------------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

/// One direction of one layer. Biases, lengths and peephole may be absent.
struct Direction {
  Value x;    ///< in the order of time
  Value w, r; ///< [G*H, I], [G*H, H]
  Value inputBias, stateBias;
  Value h, c;
  Value lengths;  ///< [N]
  Value peephole; ///< [3*H]: i, o, f
  bool backward;
  double clip = 0;
};

struct Activation {
  StringRef name;
  double alpha = 0, beta = 0;
};

/// What the steps of one direction give: the outputs in the order of time
/// [T, N, H] and the last states.
struct Steps {
  Value outputs, h, c;
};

class Network {
public:
  explicit Network(Derivation &d) : d(d), f(d.forward()) {}

  Value add(Value a, Value b) { return f.binary("add.Tensor", a, b); }
  Value mul(Value a, Value b) { return f.binary("mul.Tensor", a, b); }
  Value oneMinus(Value x) {
    return f.unary("rsub.Scalar", x, {d.arg("other", d.real(1.0))});
  }
  Value linear(Value x, Value w, Value bias) {
    Dims dims(d.dims(x));
    dims.back() = d.dims(w)[0];
    return f.call("linear", {x, w, bias}, {}, d.tensor(dims, d.element(x)));
  }
  Value gate(Value gates, int64_t index) {
    int64_t size = hidden;
    return f.slice(gates, d.rank(gates) - 1, index * size, (index + 1) * size);
  }
  Value activate(const Activation &activation, Value x, double clip);

  /// Sequences turn round for a direction that starts at their end.
  Value turned(const Direction &direction, Value sequence);
  /// Of two states the newer one where a sequence lasts longer than step t.
  Value kept(const Direction &direction, int64_t t, Value now, Value before);
  Value output(const Direction &direction, int64_t t, Value state);

  using Step =
      function_ref<std::pair<Value, Value>(Value input, Value h, Value c)>;
  /// The share of the input in all gates is one product for all steps.
  Steps run(const Direction &direction, Value inputBias, Step step);

  Derivation &d;
  CallBuilder &f;
  int64_t hidden = 0;
};

Value Network::activate(const Activation &activation, Value x, double clip) {
  if (clip > 0)
    x = f.unary("clamp", x,
                {d.arg("min", d.real(-clip)), d.arg("max", d.real(clip))});
  StringRef name = activation.name;
  double alpha = activation.alpha, beta = activation.beta;
  if (name == "softsign") {
    Value size = f.withReal("add.Scalar", f.unary("abs", x), 1);
    return f.binary("div.Tensor", x, size);
  }
  if (name == "leakyrelu")
    return f.unary("leaky_relu", x, {d.arg("negative_slope", d.real(alpha))});
  if (name == "elu")
    return f.unary("elu", x, {d.arg("alpha", d.real(alpha))});
  if (name == "thresholdedrelu")
    return f.unary(
        "threshold", x,
        {d.arg("threshold", d.real(alpha)), d.arg("value", d.real(0.0))});
  if (name == "scaledtanh") {
    Value y = f.unary("tanh", f.withReal("mul.Scalar", x, beta));
    return f.withReal("mul.Scalar", y, alpha);
  }
  if (name == "affine" || name == "hardsigmoid") {
    Value y =
        f.withReal("add.Scalar", f.withReal("mul.Scalar", x, alpha), beta);
    return name == "affine" ? y
                            : f.unary("clamp", y,
                                      {d.arg("min", d.number(0, d.i64())),
                                       d.arg("max", d.number(1, d.i64()))});
  }
  return f.unary(name, x); // sigmoid, tanh, relu, softplus
}

Value Network::turned(const Direction &direction, Value sequence) {
  if (!direction.backward)
    return sequence;
  if (!direction.lengths)
    return f.flip(sequence, {0});
  return f.call("hethub.reverse_sequence", {sequence, direction.lengths},
                {d.arg("time_axis", 0), d.arg("batch_axis", 1)},
                d.typeOf(sequence));
}

Value Network::kept(const Direction &direction, int64_t t, Value now,
                    Value before) {
  if (!direction.lengths)
    return now;
  Value active = f.withInt("gt.Scalar", direction.lengths, t, d.boolean());
  return f.where(f.unsqueeze(active, 1), now, before);
}

Value Network::output(const Direction &direction, int64_t t, Value state) {
  return kept(direction, t, state,
              direction.lengths ? f.fullReal({}, 0, d.element(state))
                                : Value());
}

Steps Network::run(const Direction &direction, Value inputBias, Step step) {
  Value x = turned(direction, direction.x);
  Value inputs = linear(x, direction.w, inputBias);
  Value h = direction.h, c = direction.c;
  Values outputs;
  for (int64_t t = 0; t < d.dims(x)[0]; ++t) {
    // The gradients of slices lie side by side, those of selections do not.
    Value input = f.squeeze(f.slice(inputs, 0, t, t + 1), {0});
    auto [nextH, nextC] = step(input, h, c);
    outputs.push_back(output(direction, t, nextH));
    h = kept(direction, t, nextH, h);
    c = c ? kept(direction, t, nextC, c) : c;
  }
  Dims dims{static_cast<int64_t>(outputs.size())};
  llvm::append_range(dims, d.dims(h));
  Value stacked = f.call("stack", {outputs}, {d.arg("dim", 0)},
                         d.tensor(dims, d.element(h)));
  return {turned(direction, stacked), h, c};
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

enum Gate { Input, Forget, Candidate, Output };

/// `order[gate]` is the gate's place in the weights.
Steps lstm(Network &n, const Direction &direction,
           ArrayRef<Activation> functions, ArrayRef<int64_t> order,
           bool inputForget) {
  const Activation &outer = functions[0], &inner = functions[1],
                   &ofCell = functions[2];
  double clip = direction.clip;
  Value peephole = direction.peephole;
  auto peep = [&](Value gate, int64_t index, Value cell) {
    return peephole ? n.add(gate, n.mul(n.gate(peephole, index), cell)) : gate;
  };
  return n.run(
      direction, direction.inputBias, [&](Value input, Value h, Value c) {
        Value gates =
            n.add(input, n.linear(h, direction.r, direction.stateBias));
        auto gate = [&](Gate which) { return n.gate(gates, order[which]); };
        Value i = n.activate(outer, peep(gate(Input), 0, c), clip);
        Value forget = inputForget
                           ? n.oneMinus(i)
                           : n.activate(outer, peep(gate(Forget), 2, c), clip);
        Value candidate = n.activate(inner, gate(Candidate), clip);
        Value cell = n.add(n.mul(forget, c), n.mul(i, candidate));
        Value o = n.activate(outer, peep(gate(Output), 1, cell), clip);
        return std::pair(n.mul(o, n.activate(ofCell, cell, clip)), cell);
      });
}

/// Gates reset (or update) first, as `resetFirst` says, and the candidate last.
Steps gru(Network &n, const Direction &direction,
          ArrayRef<Activation> functions, bool resetFirst, bool linearFirst) {
  CallBuilder &f = n.f;
  int64_t hidden = n.hidden;
  double clip = direction.clip;
  auto part = [&](Value v, int64_t from, int64_t to) {
    return v ? f.slice(v, 0, from * hidden, to * hidden) : v;
  };
  Value rGates = part(direction.r, 0, 2), rHidden = part(direction.r, 2, 3);
  Value bGates = part(direction.stateBias, 0, 2),
        bHidden = part(direction.stateBias, 2, 3);
  return n.run(
      direction, direction.inputBias, [&](Value input, Value h, Value) {
        Value both = n.activate(functions[0],
                                n.add(f.slice(input, 1, 0, 2 * hidden),
                                      n.linear(h, rGates, bGates)),
                                clip);
        Value reset = n.gate(both, resetFirst ? 0 : 1);
        Value update = n.gate(both, resetFirst ? 1 : 0);
        Value ofState = linearFirst
                            ? n.mul(reset, n.linear(h, rHidden, bHidden))
                            : n.linear(n.mul(reset, h), rHidden, bHidden);
        Value candidate = n.activate(
            functions[1],
            n.add(f.slice(input, 1, 2 * hidden, 3 * hidden), ofState), clip);
        return std::pair(
            n.add(n.mul(n.oneMinus(update), candidate), n.mul(update, h)),
            Value());
      });
}

Steps rnn(Network &n, const Direction &direction, const Activation &function) {
  return n.run(
      direction, direction.inputBias, [&](Value input, Value h, Value) {
        Value sum = n.add(input, n.linear(h, direction.r, direction.stateBias));
        return std::pair(n.activate(function, sum, direction.clip), Value());
      });
}

//===----------------------------------------------------------------------===//
// LibTorch's networks
//===----------------------------------------------------------------------===//

Value stacked(Network &n, const Values &values, int64_t axis) {
  Dims dims(n.d.dims(values.front()));
  dims.insert(dims.begin() + axis, values.size());
  return n.f.call("stack", {values}, {n.d.arg("dim", axis)},
                  n.d.tensor(dims, n.d.element(values.front())));
}

/// Layers of directions; their weights follow each other in `params`.
LogicalResult
torchNetwork(Derivation &d, const Values &states,
             function_ref<Steps(Network &, const Direction &)> cell) {
  if (d.real("dropout") != 0 && d.flag("train"))
    return d.refuse("dropout between layers has no gradient");
  if (d.typeOf(d.out()).getNumElements() == 0)
    return d.refuse("a network without steps or entries has no gradient");
  Network n(d);
  CallBuilder &f = n.f;
  bool batchFirst = d.flag("batch_first"), biases = d.flag("has_biases");
  int64_t directions = d.flag("bidirectional") ? 2 : 1;
  Values params = d.list("params");
  Value x = d.in("input");
  if (batchFirst)
    x = f.transpose(x, 0, 1);
  n.hidden = d.dims(states.front()).back();
  Values h, c;
  size_t next = 0;
  for (int64_t layer = 0; layer < d.integer("num_layers"); ++layer) {
    Values outputs;
    for (int64_t way = 0; way < directions; ++way) {
      int64_t state = layer * directions + way;
      Direction direction;
      direction.x = x;
      direction.w = params[next++];
      direction.r = params[next++];
      if (biases) {
        direction.inputBias = params[next++];
        direction.stateBias = params[next++];
      }
      direction.h = f.select(states[0], 0, state);
      if (states.size() > 1)
        direction.c = f.select(states[1], 0, state);
      direction.backward = way == 1;
      Steps steps = cell(n, direction);
      outputs.push_back(steps.outputs);
      h.push_back(steps.h);
      if (steps.c)
        c.push_back(steps.c);
    }
    x = f.cat(outputs, 2);
  }
  Values results{batchFirst ? f.transpose(x, 0, 1) : x, stacked(n, h, 0)};
  if (!c.empty())
    results.push_back(stacked(n, c, 0));
  return d.decompose(results);
}

constexpr Activation sigmoid{"sigmoid"}, tanh{"tanh"}, relu{"relu"};

LogicalResult torchLstm(Derivation &d) {
  return torchNetwork(d, d.list("hx"), [](Network &n, const Direction &way) {
    return lstm(n, way, {sigmoid, tanh, tanh}, {0, 1, 2, 3}, false);
  });
}
LogicalResult torchGru(Derivation &d) {
  return torchNetwork(d, {d.in("hx")}, [](Network &n, const Direction &way) {
    return gru(n, way, {sigmoid, tanh}, true, true);
  });
}
LogicalResult torchRnnTanh(Derivation &d) {
  return torchNetwork(d, {d.in("hx")}, [](Network &n, const Direction &way) {
    return rnn(n, way, tanh);
  });
}
LogicalResult torchRnnRelu(Derivation &d) {
  return torchNetwork(d, {d.in("hx")}, [](Network &n, const Direction &way) {
    return rnn(n, way, relu);
  });
}

//===----------------------------------------------------------------------===//
// ONNX's networks
//===----------------------------------------------------------------------===//

/// Those that have parameters take the next of the lists, or their default.
SmallVector<Activation> readActivations(const Derivation &d) {
  auto alphas = cast<DenseF64ArrayAttr>(d.attribute("alpha")).asArrayRef();
  auto betas = cast<DenseF64ArrayAttr>(d.attribute("beta")).asArrayRef();
  auto next = [](ArrayRef<double> &list, double fallback) {
    if (list.empty())
      return fallback;
    double value = list.front();
    list = list.drop_front();
    return value;
  };
  SmallVector<StringRef> names;
  cast<StringAttr>(d.attribute("activations")).getValue().split(names, ',');
  SmallVector<Activation> result;
  for (StringRef name : names) {
    Activation activation{name};
    if (name == "leakyrelu")
      activation.alpha = next(alphas, 0.01f);
    else if (name == "elu" || name == "thresholdedrelu")
      activation.alpha = next(alphas, 1);
    else if (name == "affine")
      activation.alpha = next(alphas, 1), activation.beta = next(betas, 0);
    else if (name == "scaledtanh")
      activation.alpha = next(alphas, 1), activation.beta = next(betas, 1);
    else if (name == "hardsigmoid")
      activation.alpha = next(alphas, 0.2f), activation.beta = next(betas, 0.5);
    result.push_back(activation);
  }
  return result;
}

LogicalResult onnxNetwork(
    Derivation &d, StringRef cellState, StringRef peephole,
    function_ref<Steps(Network &, const Direction &, ArrayRef<Activation>)>
        cell) {
  if (d.typeOf(d.out()).getNumElements() == 0)
    return d.refuse("a network without steps or entries has no gradient");
  Network n(d);
  CallBuilder &f = n.f;
  Value x = d.in("x"), w = d.in("w"), r = d.in("r");
  int64_t directions = d.dims(w)[0], gates = d.dims(w)[1];
  n.hidden = d.dims(r)[2];
  SmallVector<Activation> functions = readActivations(d);
  size_t each = functions.size() / directions;
  bool reverse =
      cast<StringAttr>(d.attribute("direction")).getValue() == "reverse";
  auto ofDirection = [&](StringRef name, int64_t way) {
    Value all = name.empty() ? Value() : d.in(name);
    return all ? f.select(all, 0, way) : all;
  };
  auto state = [&](StringRef name, int64_t way) {
    Value given = ofDirection(name, way);
    return given || name.empty()
               ? given
               : f.fullReal({d.dims(x)[1], n.hidden}, 0, d.element(x));
  };
  Values y, h, c;
  for (int64_t way = 0; way < directions; ++way) {
    Direction direction;
    direction.x = x;
    direction.w = ofDirection("w", way);
    direction.r = ofDirection("r", way);
    if (Value bias = ofDirection("b", way)) {
      direction.inputBias = f.slice(bias, 0, 0, gates);
      direction.stateBias = f.slice(bias, 0, gates, 2 * gates);
    }
    direction.h = state("h", way);
    direction.c = state(cellState, way);
    direction.peephole = ofDirection(peephole, way);
    direction.lengths = d.in("lengths");
    direction.backward = reverse || way == 1;
    direction.clip = d.real("clip");
    Steps steps =
        cell(n, direction, ArrayRef(functions).slice(way * each, each));
    y.push_back(steps.outputs);
    h.push_back(steps.h);
    if (steps.c)
      c.push_back(steps.c);
  }
  Values results{stacked(n, y, 1), stacked(n, h, 0)};
  if (!c.empty())
    results.push_back(stacked(n, c, 0));
  return d.decompose(results);
}

LogicalResult onnxLstm(Derivation &d) {
  bool inputForget = d.flag("input_forget");
  return onnxNetwork(
      d, "c", "p",
      [&](Network &n, const Direction &way, ArrayRef<Activation> functions) {
        return lstm(n, way, functions, {0, 2, 3, 1}, inputForget);
      });
}
LogicalResult onnxGru(Derivation &d) {
  bool linearFirst = d.flag("linear_before_reset");
  return onnxNetwork(
      d, "", "",
      [&](Network &n, const Direction &way, ArrayRef<Activation> functions) {
        return gru(n, way, functions, false, linearFirst);
      });
}
LogicalResult onnxRnn(Derivation &d) {
  return onnxNetwork(
      d, "", "",
      [&](Network &n, const Direction &way, ArrayRef<Activation> functions) {
        return rnn(n, way, functions[0]);
      });
}

} // namespace

void addRecurrentRules(RuleTable &table) {
  table["aten::gru.input"] = torchGru;
  table["aten::lstm.input"] = torchLstm;
  table["aten::rnn_relu.input"] = torchRnnRelu;
  table["aten::rnn_tanh.input"] = torchRnnTanh;
  table["hethub::gru"] = onnxGru;
  table["hethub::lstm"] = onnxLstm;
  table["hethub::rnn"] = onnxRnn;
}

} // namespace hethub::differentiate

//===- Recurrent.cpp - LSTM, GRU, RNN -------------------------------------===//
//
// Networks without options go to LibTorch's own cells with their weights put
// into LibTorch's order (work on parameters that hh-hoist-start-up moves to the
// start of the program); all others to the cells of HetHub's runtime, which
// take ONNX's layout as it is. Shapes: X [T, N, I], W [D, G*H, I], R [D, G*H,
// H], B [D, 2*G*H], states [D, N, H].
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hethub {

namespace {

struct Network {
  int64_t directions, hidden, steps, batch;
  StringRef direction;
  bool batchFirst;
  Value x, h;
};

Network readNetwork(Lowering &l) {
  Network n;
  n.batchFirst = l.node.integer("layout", 0);
  n.x = n.batchFirst ? l.transpose(l.in(0), 0, 1) : l.in(0);
  n.steps = Lowering::dims(n.x)[0];
  n.batch = Lowering::dims(n.x)[1];
  n.directions = Lowering::dims(l.in(2))[0];
  n.hidden = Lowering::dims(l.in(2))[2];
  n.direction = l.node.string("direction", "forward");
  n.h = l.in(5);
  if (n.h && n.batchFirst)
    n.h = l.transpose(n.h, 0, 1);
  return n;
}

/// Gates of a [G*H, ...] matrix in another order.
Value reorder(Lowering &l, Value gates, int64_t hidden,
              ArrayRef<int64_t> order) {
  Values parts;
  for (int64_t gate : order)
    parts.push_back(l.slice(gates, 0, gate * hidden, (gate + 1) * hidden));
  return l.cat(parts, 0);
}

/// LibTorch's list of weights: for each direction w_ih, w_hh and, with a bias,
/// b_ih, b_hh.
Values torchWeights(Lowering &l, const Network &n, ArrayRef<int64_t> order) {
  Values weights;
  int64_t gates = order.size() * n.hidden;
  for (int64_t d = 0; d < n.directions; ++d) {
    for (unsigned input : {1u, 2u})
      weights.push_back(
          reorder(l, l.select(l.in(input), 0, d), n.hidden, order));
    if (!l.has(3))
      continue;
    Value bias = l.select(l.in(3), 0, d);
    for (int64_t half : {0, 1})
      weights.push_back(
          reorder(l, l.slice(bias, 0, half * gates, (half + 1) * gates),
                  n.hidden, order));
  }
  return weights;
}

/// Names of the activations of all directions, in lower case; the defaults
/// where the attribute is absent.
SmallVector<std::string> activations(Lowering &l, const Network &n,
                                     ArrayRef<StringRef> defaults) {
  SmallVector<std::string> names;
  if (auto given = dyn_cast_or_null<ArrayAttr>(l.node.attribute("activations")))
    for (Attribute name : given)
      names.push_back(cast<StringAttr>(name).getValue().lower());
  if (names.empty())
    for (int64_t d = 0; d < n.directions; ++d)
      for (StringRef name : defaults)
        names.push_back(name.lower());
  return names;
}

bool areDefault(ArrayRef<std::string> names, ArrayRef<StringRef> defaults) {
  for (auto [i, name] : llvm::enumerate(names))
    if (StringRef(name) != defaults[i % defaults.size()].lower())
      return false;
  return true;
}

/// Options that LibTorch's cells lack, whatever the kind of cell. They are told
/// sizes in calls, too.
bool hasOptions(Lowering &l) {
  return !Lowering::typeOf(l.in(0)).hasStaticShape() || l.has(4) ||
         l.node.real("clip", 0) != 0 ||
         !isa<Float32Type, Float64Type>(Lowering::element(l.in(0)));
}

Value zeroState(Lowering &l, const Network &n) {
  return l.fullReal({n.directions, n.batch, n.hidden}, 0,
                    Lowering::element(n.x));
}

/// [T, N, D*H] -> ONNX's Y [T, D, N, H], or [N, T, D, H].
Value outputSequence(Lowering &l, const Network &n, Value y) {
  y = l.reshape(y, {n.steps, n.batch, n.directions, n.hidden});
  return n.batchFirst ? l.permute(y, {1, 0, 2, 3}) : l.permute(y, {0, 2, 1, 3});
}

Value outputState(Lowering &l, const Network &n, Value state) {
  return n.batchFirst ? l.transpose(state, 0, 1) : state;
}

/// Results Y, Y_h and Y_c of a cell of LibTorch, or of the runtime where Y is
/// already [T, D, N, H].
void replaceAll(Lowering &l, const Network &n, const Values &results,
                bool ofRuntime, bool reversed) {
  if (l.node.output(0)) {
    Value y = reversed ? l.flip(results[0], {0}) : results[0];
    if (!ofRuntime)
      y = outputSequence(l, n, y);
    else if (n.batchFirst)
      y = l.permute(y, {2, 0, 1, 3});
    l.replace(0, y);
  }
  for (unsigned i = 1; i < results.size(); ++i)
    if (l.node.output(i))
      l.replace(i, outputState(l, n, results[i]));
}

SmallVector<NamedArg> runtimeArgs(Lowering &l, const Network &n,
                                  ArrayRef<std::string> names) {
  SmallVector<double> alpha = l.node.reals("activation_alpha");
  SmallVector<double> beta = l.node.reals("activation_beta");
  return {l.arg("direction", n.direction),
          l.arg("activations", StringRef(llvm::join(names, ","))),
          l.arg("alpha", ArrayRef<double>(alpha)),
          l.arg("beta", ArrayRef<double>(beta)),
          l.arg("clip", l.node.real("clip", 0))};
}

SmallVector<NamedArg> torchArgs(Lowering &l, const Network &n) {
  return {l.arg("has_biases", l.has(3)),
          l.arg("num_layers", 1),
          l.arg("dropout", 0.0),
          l.arg("train", false),
          l.arg("bidirectional", n.directions == 2),
          l.arg("batch_first", false)};
}

RankedTensorType sequenceType(const Network &n, bool ofRuntime) {
  Type element = Lowering::element(n.x);
  return ofRuntime
             ? Lowering::tensor({n.steps, n.directions, n.batch, n.hidden},
                                element)
             : Lowering::tensor({n.steps, n.batch, n.directions * n.hidden},
                                element);
}

RankedTensorType stateType(const Network &n) {
  return Lowering::tensor({n.directions, n.batch, n.hidden},
                          Lowering::element(n.x));
}

LogicalResult lowerLSTM(Lowering &l) {
  constexpr StringRef defaults[] = {"Sigmoid", "Tanh", "Tanh"};
  Network n = readNetwork(l);
  Value c = l.in(6);
  if (c && n.batchFirst)
    c = l.transpose(c, 0, 1);
  SmallVector<std::string> names = activations(l, n, defaults);
  bool plain = !hasOptions(l) && !l.has(7) &&
               !l.node.integer("input_forget", 0) &&
               areDefault(names, defaults);
  if (!plain) {
    SmallVector<NamedArg> args = runtimeArgs(l, n, names);
    args.push_back(
        l.arg("input_forget", bool(l.node.integer("input_forget", 0))));
    Values results =
        l.calls("hethub.lstm",
                {n.x, l.in(1), l.in(2), l.in(3), l.in(4), n.h, c, l.in(7)},
                args, {sequenceType(n, true), stateType(n), stateType(n)});
    replaceAll(l, n, results, true, false);
    return success();
  }
  bool reversed = n.direction == "reverse";
  Value x = reversed ? l.flip(n.x, {0}) : n.x;
  Values states{n.h ? n.h : zeroState(l, n), c ? c : zeroState(l, n)};
  // ONNX has the gates i, o, f, c; LibTorch i, f, c, o.
  Values results = l.calls(
      "lstm.input", {x, states, torchWeights(l, n, {0, 2, 3, 1})},
      torchArgs(l, n), {sequenceType(n, false), stateType(n), stateType(n)});
  replaceAll(l, n, results, false, reversed);
  return success();
}

/// com.microsoft: weights of 8 bits, [D, I, G*H] and [D, H, G*H]. Inputs 8 to
/// 11: scales and zero points of both.
LogicalResult lowerDynamicQuantizeLSTM(Lowering &l) {
  constexpr StringRef defaults[] = {"Sigmoid", "Tanh", "Tanh"};
  Network n = readNetwork(l);
  n.hidden = Lowering::dims(l.in(2))[1];
  SmallVector<NamedArg> args = runtimeArgs(l, n, activations(l, n, defaults));
  args.push_back(
      l.arg("input_forget", bool(l.node.integer("input_forget", 0))));
  Values results =
      l.calls("hethub.dynamic_quantize_lstm",
              {n.x, l.in(1), l.in(2), l.in(3), l.in(4), n.h, l.in(6), l.in(7),
               l.in(8), l.in(9), l.in(10), l.in(11)},
              args, {sequenceType(n, true), stateType(n), stateType(n)});
  replaceAll(l, n, results, true, false);
  return success();
}

LogicalResult lowerGRU(Lowering &l) {
  constexpr StringRef defaults[] = {"Sigmoid", "Tanh"};
  Network n = readNetwork(l);
  SmallVector<std::string> names = activations(l, n, defaults);
  bool linearFirst = l.node.integer("linear_before_reset", 0);
  if (hasOptions(l) || !linearFirst || !areDefault(names, defaults)) {
    SmallVector<NamedArg> args = runtimeArgs(l, n, names);
    args.push_back(l.arg("linear_before_reset", linearFirst));
    Values results =
        l.calls("hethub.gru", {n.x, l.in(1), l.in(2), l.in(3), l.in(4), n.h},
                args, {sequenceType(n, true), stateType(n)});
    replaceAll(l, n, results, true, false);
    return success();
  }
  bool reversed = n.direction == "reverse";
  Value x = reversed ? l.flip(n.x, {0}) : n.x;
  // ONNX has the gates z, r, h; LibTorch r, z, h.
  Values results =
      l.calls("gru.input",
              {x, n.h ? n.h : zeroState(l, n), torchWeights(l, n, {1, 0, 2})},
              torchArgs(l, n), {sequenceType(n, false), stateType(n)});
  replaceAll(l, n, results, false, reversed);
  return success();
}

LogicalResult lowerRNN(Lowering &l) {
  constexpr StringRef defaults[] = {"Tanh"}, relus[] = {"Relu"};
  Network n = readNetwork(l);
  SmallVector<std::string> names = activations(l, n, defaults);
  // The schema's default lists two names whatever the number of directions.
  names.resize(n.directions, names.front());
  bool tanh = areDefault(names, defaults), relu = areDefault(names, relus);
  if (hasOptions(l) || !(tanh || relu)) {
    Values results = l.calls(
        "hethub.rnn", {n.x, l.in(1), l.in(2), l.in(3), l.in(4), n.h},
        runtimeArgs(l, n, names), {sequenceType(n, true), stateType(n)});
    replaceAll(l, n, results, true, false);
    return success();
  }
  bool reversed = n.direction == "reverse";
  Value x = reversed ? l.flip(n.x, {0}) : n.x;
  Values results =
      l.calls(tanh ? "rnn_tanh.input" : "rnn_relu.input",
              {x, n.h ? n.h : zeroState(l, n), torchWeights(l, n, {0})},
              torchArgs(l, n), {sequenceType(n, false), stateType(n)});
  replaceAll(l, n, results, false, reversed);
  return success();
}

} // namespace

void addRecurrentHandlers(HandlerTable &table) {
  table["LSTM"] = lowerLSTM;
  table["GRU"] = lowerGRU;
  table["RNN"] = lowerRNN;
  table["com.microsoft.DynamicQuantizeLSTM"] = lowerDynamicQuantizeLSTM;
}

} // namespace hethub

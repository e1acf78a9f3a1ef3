//===- MicrosoftFused.cpp - what onnxruntime's optimiser puts together ----===//
//
// Fused operators of com.microsoft become the calls that they were made of:
// LibTorch has its own fused kernels where it gains by them.
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace mlir;

namespace hethub {

namespace {

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

LogicalResult gelu(Lowering &l, Value x, bool approximate) {
  return l.done(l.unary("gelu", x,
                        {l.arg("approximate", approximate ? "tanh" : "none")}));
}

LogicalResult lowerGelu(Lowering &l) { return gelu(l, l.in(0), false); }

LogicalResult lowerBiasGelu(Lowering &l) {
  return gelu(l, l.binary("add.Tensor", l.in(0), l.in(1)), false);
}

LogicalResult lowerFastGelu(Lowering &l) {
  Value x = l.in(0);
  return gelu(l, l.has(1) ? l.binary("add.Tensor", x, l.in(1)) : x, true);
}

LogicalResult lowerQuickGelu(Lowering &l) {
  Value x = l.in(0);
  Value gate = l.withReal("mul.Scalar", x, l.node.real("alpha", 1.702f));
  return l.done(l.binary("mul.Tensor", x, l.unary("sigmoid", gate)));
}

/// The first half times the gelu of the second.
LogicalResult lowerBiasSplitGelu(Lowering &l) {
  Value x = l.binary("add.Tensor", l.in(0), l.in(1));
  int64_t last = Lowering::rank(x) - 1, size = Lowering::dims(x)[last];
  return l.done(l.binary("mul.Tensor", l.slice(x, last, 0, size / 2),
                         l.unary("gelu", l.slice(x, last, size / 2, size))));
}

LogicalResult lowerBiasAdd(Lowering &l) {
  Value x = l.binary("add.Tensor", l.in(0), l.in(1));
  return l.done(l.binary("add.Tensor", x, l.in(2)));
}

LogicalResult lowerBiasSoftmax(Lowering &l) {
  Value x = l.binary("add.Tensor", l.in(0), l.in(1));
  int64_t rank = Lowering::rank(x), axis = l.axis("axis", 1, rank);
  if (axis < 0 || axis >= rank)
    return l.refuse("axis must be one of the input");
  // The axes from `axis` on are one.
  Dims dims(Lowering::dims(x)), flat(dims);
  flat.resize(axis);
  flat.push_back(product(ArrayRef(dims).drop_front(axis)));
  Value y = l.unary("softmax.int", l.reshape(x, flat), {l.arg("dim", axis)});
  return l.done(l.reshape(y, dims));
}

/// An activation by its name in attributes; null for an unknown one.
Value activate(Lowering &l, Value x, StringRef name, ArrayRef<double> p) {
  auto parameter = [&](size_t i, double fallback) {
    return i < p.size() ? p[i] : fallback;
  };
  if (name.empty())
    return x;
  if (name == "Relu" || name == "Sigmoid" || name == "Tanh")
    return l.unary(name == "Relu"      ? "relu"
                   : name == "Sigmoid" ? "sigmoid"
                                       : "tanh",
                   x);
  if (name == "LeakyRelu")
    return l.unary("leaky_relu", x,
                   {l.arg("negative_slope", l.real(parameter(0, 0.01f)))});
  if (name == "Clip")
    return l.unary("clamp", x,
                   {l.arg("min", l.real(parameter(0, -3.4028235e38))),
                    l.arg("max", l.real(parameter(1, 3.4028235e38)))});
  if (name == "HardSigmoid") {
    Value y = l.withReal("mul.Scalar", x, parameter(0, 0.2f));
    y = l.withReal("add.Scalar", y, parameter(1, 0.5));
    return l.unary("clamp", y, {l.arg("min", 0.0), l.arg("max", 1.0)});
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Products and convolutions
//===----------------------------------------------------------------------===//

/// Batch axes that stand behind the rows come to the front, then rows and
/// columns may change places.
Value operand(Lowering &l, unsigned input, StringRef transposed,
              StringRef batch) {
  Value x = l.in(input);
  int64_t rank = Lowering::rank(x);
  if (rank < 2)
    return x;
  if (l.node.integer(batch, 0)) { // [M, ..., K] -> [..., M, K]
    Dims order = iota(rank);
    order.erase(order.begin());
    order.insert(order.end() - 1, 0);
    x = l.permute(x, order);
  }
  return l.node.integer(transposed, 0) ? l.transpose(x, rank - 2, rank - 1) : x;
}

LogicalResult lowerFusedMatMul(Lowering &l) {
  Value y = l.matmul(operand(l, 0, "transA", "transBatchA"),
                     operand(l, 1, "transB", "transBatchB"));
  double alpha = l.node.real("alpha", 1);
  return l.done(alpha == 1 ? y : l.withReal("mul.Scalar", y, alpha));
}

LogicalResult lowerFusedGemm(Lowering &l) {
  Value a = operand(l, 0, "transA", ""), b = operand(l, 1, "transB", "");
  if (!isFloat(Lowering::element(a)))
    return l.refuse("only matrices of floats are supported");
  double alpha = l.node.real("alpha", 1), beta = l.node.real("beta", 1);
  RankedTensorType type = l.outType();
  Value y =
      l.has(2) && beta != 0
          ? l.call("addmm", {l.in(2), a, b},
                   {l.arg("beta", l.real(beta)), l.arg("alpha", l.real(alpha))},
                   type)
          : l.call("mm", {a, b}, {}, type);
  if (!(l.has(2) && beta != 0) && alpha != 1)
    y = l.withReal("mul.Scalar", y, alpha);
  SmallVector<double> parameters;
  for (const char *name : {"activation_alpha", "activation_beta"})
    if (l.node.attribute(name))
      parameters.push_back(l.node.real(name, 0));
  y = activate(l, y, l.node.string("activation", ""), parameters);
  return y ? l.done(y) : l.refuse("this activation is not supported");
}

/// A convolution, plus a residual, activated.
LogicalResult lowerFusedConv(Lowering &l) {
  if (Lowering::rank(l.in(0)) < 3 || Lowering::rank(l.in(0)) > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  Value y = convolve(l, l.in(0), l.in(1), l.in(2), l.outType().getShape());
  if (l.has(3))
    y = l.binary("add.Tensor", y, l.in(3));
  y = activate(l, y, l.node.string("activation", ""),
               l.node.reals("activation_params"));
  return y ? l.done(y) : l.refuse("this activation is not supported");
}

//===----------------------------------------------------------------------===//
// Normalizations and embeddings
//===----------------------------------------------------------------------===//

Value layerNorm(Lowering &l, Value x, Value scale, Value bias, StringRef name) {
  Dims last{Lowering::dims(x).back()};
  double epsilon = l.node.real("epsilon", 1e-12f);
  SmallVector<NamedArg> args{l.arg("normalized_shape", last),
                             l.arg("eps", epsilon)};
  return name == "rms_norm"
             ? l.call(name, {x, scale}, args, Lowering::typeOf(x))
             : l.call(name, {x, scale, bias}, args, Lowering::typeOf(x));
}

/// Inputs: x, skip, scale, [bias of the norm,] bias of the sum. Outputs: y,
/// mean, 1 / deviation, sum.
LogicalResult lowerSkipNorm(Lowering &l) {
  bool simple = l.node.opType() == "SkipSimplifiedLayerNormalization";
  if (l.wants(1) || l.wants(2))
    return l.refuse("mean and deviation as results are not supported");
  Value sum = l.binary("add.Tensor", l.in(0), l.in(1));
  if (Value bias = l.in(simple ? 3 : 4))
    sum = l.binary("add.Tensor", sum, bias);
  if (l.node.output(3))
    l.replace(3, sum);
  return l.done(layerNorm(l, sum, l.in(2), simple ? Value() : l.in(3),
                          simple ? "rms_norm" : "layer_norm"));
}

LogicalResult lowerSimplifiedNorm(Lowering &l) {
  if (l.wants(1))
    return l.refuse("the deviation as a result is not supported");
  Value x = l.in(0), scale = l.in(1);
  int64_t axis = l.axis("axis", -1, Lowering::rank(x));
  if (axis < 0 || axis >= Lowering::rank(x))
    return l.refuse("axis must be one of the input");
  Dims normalized(Lowering::dims(x).drop_front(axis));
  bool inside = Lowering::dims(scale) == ArrayRef(normalized) &&
                Lowering::element(scale) == Lowering::element(x);
  Value y = l.call("rms_norm", {x, inside ? scale : Value()},
                   {l.arg("normalized_shape", normalized),
                    l.arg("eps", l.node.real("epsilon", 1e-5f))},
                   Lowering::typeOf(x));
  if (inside)
    return l.done(y);
  return l.done(
      l.binary("mul.Tensor", l.cast(y, Lowering::element(scale)), scale));
}

/// Inputs: X, scale, bias and, with a skip, skip and bias of the sum. Channels
/// stand behind the image unless channels_last is 0.
LogicalResult lowerGroupNorm(Lowering &l) {
  Value x = l.in(0);
  bool last = l.node.integer("channels_last", 1);
  int64_t rank = Lowering::rank(x);
  if (l.has(3)) {
    Value skip = l.in(3); // [N, H, W, C], [N, C] or [N, 1, 1, C]
    if (Lowering::rank(skip) == 2)
      for (int64_t i = 2; i < rank; ++i)
        skip = l.unsqueeze(skip, last ? 1 : Lowering::rank(skip));
    x = l.binary("add.Tensor", x, skip);
    if (Value bias = l.in(4)) {
      Dims shape(rank, 1);
      shape[last ? rank - 1 : 1] = Lowering::dims(bias).back();
      x = l.binary("add.Tensor", x, l.reshape(bias, shape));
    }
    if (l.node.output(1))
      l.replace(1, x);
  }
  Dims order = iota(rank), back(rank);
  if (last) {
    order.erase(order.end() - 1);
    order.insert(order.begin() + 1, rank - 1);
  }
  for (int64_t i = 0; i < rank; ++i)
    back[order[i]] = i;
  Value y = l.permute(x, order);
  Type element = Lowering::element(y);
  y = l.call("group_norm",
             {y, l.cast(l.in(1), element), l.cast(l.in(2), element)},
             {l.arg("num_groups", l.node.integer("groups", 1)),
              l.arg("eps", l.node.real("epsilon", 1e-5f))},
             Lowering::typeOf(y));
  if (l.node.integer("activation", 0) == 1)
    y = l.unary("silu", y);
  return l.done(l.permute(y, back));
}

/// Word, position and segment embeddings, added and normalized. Inputs: ids,
/// segments, the three tables, scale, bias, mask, positions.
LogicalResult lowerEmbedLayerNorm(Lowering &l) {
  ArrayRef<int64_t> ids = Lowering::dims(l.in(0));
  auto rows = [&](Value table, Value index) {
    Dims dims(Lowering::dims(index));
    dims.push_back(Lowering::dims(table)[1]);
    return l.call("embedding",
                  {table, l.wrapIndex(index, Lowering::dims(table)[0])}, {},
                  Lowering::tensor(dims, Lowering::element(table)));
  };
  Value sum = rows(l.in(2), l.in(0));
  Value positions = l.in(8) ? l.in(8) : l.constantInts(iota(ids[1]));
  sum = l.binary("add.Tensor", sum, rows(l.in(3), positions));
  if (l.has(1) && l.has(4))
    sum = l.binary("add.Tensor", sum, rows(l.in(4), l.in(1)));
  if (l.node.output(1)) { // how many ids of each row count
    Value counts = l.fullReal({ids[0]}, 0, l.builder.getI32Type());
    if (l.has(7))
      counts = l.cast(
          l.reduce("sum.dim_IntList", l.cast(l.in(7), l.i64()), {1}, false),
          l.builder.getI32Type());
    l.replace(1, counts);
  }
  if (l.node.output(2))
    l.replace(2, sum);
  return l.done(layerNorm(l, sum, l.in(5), l.in(6), "layer_norm"));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

LogicalResult lowerExpandDims(Lowering &l) {
  return l.done(l.reshape(l.data(0), l.outType().getShape()));
}

/// Distinct elements in the order of their first occurrence, which one each
/// element is, and how often each occurs.
LogicalResult lowerUnique(Lowering &l) {
  Value x = l.compute(0);
  RankedTensorType y = l.outType().clone(Lowering::element(x));
  RankedTensorType counts = Lowering::tensor(y.getShape(), l.i64());
  ArrayRef<int64_t> dims = Lowering::dims(x);
  int64_t count =
      ShapedType::isDynamicShape(dims) ? ShapedType::kDynamic : product(dims);
  RankedTensorType all = Lowering::tensor({count}, l.i64());
  Values results =
      l.calls("hethub.unique", {x},
              {l.arg("flat", true), l.arg("axis", 0), l.arg("sorted", false)},
              {y, counts, all, counts});
  l.replace(0, results[0]);
  l.replace(1, results[2]);
  l.replace(2, results[3]);
  return success();
}

} // namespace

void addMicrosoftFusedHandlers(HandlerTable &table) {
  struct Entry {
    const char *name;
    Handler handler;
  };
  constexpr Entry entries[] = {
      {"BiasAdd", lowerBiasAdd},
      {"BiasGelu", lowerBiasGelu},
      {"BiasSoftmax", lowerBiasSoftmax},
      {"BiasSplitGelu", lowerBiasSplitGelu},
      {"EmbedLayerNormalization", lowerEmbedLayerNorm},
      {"ExpandDims", lowerExpandDims},
      {"FastGelu", lowerFastGelu},
      {"FusedConv", lowerFusedConv},
      {"FusedGemm", lowerFusedGemm},
      {"FusedMatMul", lowerFusedMatMul},
      {"Gelu", lowerGelu},
      {"GroupNorm", lowerGroupNorm},
      {"QuickGelu", lowerQuickGelu},
      {"SimplifiedLayerNormalization", lowerSimplifiedNorm},
      {"SkipGroupNorm", lowerGroupNorm},
      {"SkipLayerNormalization", lowerSkipNorm},
      {"SkipSimplifiedLayerNormalization", lowerSkipNorm},
      {"TransposeMatMul", lowerFusedMatMul},
      {"Unique", lowerUnique},
  };
  for (const Entry &entry : entries)
    table[("com.microsoft." + Twine(entry.name)).str()] = entry.handler;
}

} // namespace hethub

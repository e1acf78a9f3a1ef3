//===- LinearAttention.cpp - layers that carry a state along a sequence ---===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// [B, T, H * D] -> [B, H, T, D]
Value split(Lowering &l, Value x, int64_t heads) {
  ArrayRef<int64_t> d = Lowering::dims(x);
  return l.transpose(l.reshape(x, {d[0], d[1], heads, d[2] / heads}), 1, 2);
}

LogicalResult lowerLinearAttention(Lowering &l) {
  int64_t heads = l.node.integer("q_num_heads", 0);
  int64_t kvHeads = l.node.integer("kv_num_heads", 0);
  for (unsigned i = 0; i < 3; ++i) {
    int64_t count = i == 0 ? heads : kvHeads;
    if (Lowering::rank(l.in(i)) != 3 || count < 1 ||
        Lowering::dims(l.in(i))[2] % count)
      return l.refuse("q_num_heads and kv_num_heads must divide the hidden "
                      "sizes");
  }
  StringRef rule = l.node.string("update_rule", "gated_delta");
  bool gated = rule.starts_with("gated"), corrected = rule.ends_with("delta");
  if (!gated && !corrected && rule != "linear")
    return l.refuse("update_rule must be linear, gated, delta or gated_delta, "
                    "got: " +
                    rule);
  if (gated != l.has(4) || corrected != l.has(5))
    return l.refuse("decay must be there for gated rules alone, and beta for "
                    "delta rules");
  Value q = split(l, l.in(0), heads), k = split(l, l.in(1), kvHeads);
  Value v = split(l, l.in(2), kvHeads);
  Value decay = gated ? split(l, l.in(4), kvHeads) : Value();
  Value beta =
      corrected ? split(l, l.in(5), Lowering::dims(l.in(5))[2]) : Value();
  double scale = l.node.real("scale", 0);
  int64_t keys = Lowering::dims(k)[3], values = Lowering::dims(v)[3];
  if (scale == 0)
    scale = 1 / std::sqrt(double(keys));
  ArrayRef<int64_t> dims = Lowering::dims(q);
  Type element = Lowering::element(q);
  Type stateElement = l.has(3) ? Lowering::element(l.in(3)) : element;
  Values results = l.calls(
      "hethub.linear_attention", {q, k, v, l.in(3), decay, beta},
      {l.arg("scale", scale)},
      {Lowering::tensor({dims[0], heads, dims[2], values}, element),
       Lowering::tensor({dims[0], kvHeads, keys, values}, stateElement)});
  if (l.node.output(1))
    l.replace(1, results[1]);
  return l.done(
      l.reshape(l.transpose(results[0], 1, 2), l.outType().getShape()));
}

/// A convolution of each channel with its own past: the state stands in front
/// of the input, and the end of both is the next state.
LogicalResult lowerCausalConv(Lowering &l) {
  Value x = l.in(0), weight = l.in(1);
  if (Lowering::rank(x) != 3)
    return l.refuse("the input must have three axes");
  int64_t kernel = Lowering::dims(weight)[2], channels = Lowering::dims(x)[1];
  Value padded = l.has(3) ? l.cat({l.in(3), x}, 2)
                          : l.pad(x, {0, 0, kernel - 1}, {0, 0, 0}, 0.0);
  Value y =
      l.call("convolution", {padded, weight, l.in(2)},
             {l.arg("stride", Dims{1}), l.arg("padding", Dims{0}),
              l.arg("dilation", Dims{1}), l.arg("transposed", false),
              l.arg("output_padding", Dims{0}), l.arg("groups", channels)},
             Lowering::typeOf(x));
  StringRef activation = l.node.string("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = l.unary("silu", y);
  else if (activation != "none")
    return l.refuse("activation must be none, silu or swish, got: " +
                    activation);
  int64_t length = Lowering::dims(padded)[2];
  if (l.node.output(1))
    l.replace(1, l.slice(padded, 2, length - (kernel - 1), length));
  return l.done(y);
}

} // namespace

void addLinearAttentionHandlers(HandlerTable &table) {
  table["LinearAttention"] = lowerLinearAttention;
  table["CausalConvWithState"] = lowerCausalConv;
}

} // namespace hethub

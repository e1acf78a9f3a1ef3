//===- Attention.cpp - rules of attention ---------------------------------===//

#include "../Derivation.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace hethub::differentiate {

namespace {

struct Attention {
  Value query, key, value, mask; ///< [B, H, L, E], [B, H, S, E], [B, H, S, V]
  double scale;
  bool causal;
};

/// Key and value heads repeated for the query heads that share them.
Value repeatHeads(CallBuilder &calls, Value x, int64_t heads) {
  Dims dims(CallBuilder::dims(x));
  size_t axis = dims.size() - 3;
  if (dims[axis] == heads)
    return x;
  Dims spread(dims);
  spread.insert(spread.begin() + axis + 1, heads / dims[axis]);
  dims[axis] = heads;
  return calls.reshape(calls.expand(calls.unsqueeze(x, axis + 1), spread),
                       dims);
}

/// A boolean mask as what is added to the scores.
Value additive(CallBuilder &calls, Value mask, Type element) {
  if (!mask || !CallBuilder::element(mask).isInteger(1))
    return mask;
  return calls.where(
      mask, calls.fullReal({}, 0, element),
      calls.fullReal({}, -std::numeric_limits<double>::infinity(), element));
}

/// LibTorch's kernel for processors keeps the sums of exponentials instead of
/// the weights.
bool fitsKernelOfProcessors(Derivation &d, const Attention &a) {
  ArrayRef<int64_t> q = d.dims(a.query), k = d.dims(a.key);
  return d.deviceKind() == "cpu" && q.size() == 4 && q[2] > 0 && k[2] > 0 &&
         q[0] == k[0] && q[3] > 0 && d.dims(a.value).back() == q.back() &&
         (!a.mask || (!d.wants(a.mask) && d.rank(a.mask) <= 4));
}

LogicalResult byKernelOfProcessors(Derivation &d, const Attention &a) {
  CallBuilder &forward = d.forward();
  Type element = d.element(a.query);
  Type wide = element.getIntOrFloatBitWidth() < 32 ? d.f32() : element;
  Value mask = additive(forward, a.mask, element);
  // Two axes stand for all batch entries and heads; three do not.
  if (mask && d.rank(mask) != 2)
    while (d.rank(mask) < 4)
      mask = forward.unsqueeze(mask, 0);
  SmallVector<NamedArg> args{d.arg("is_causal", a.causal),
                             d.arg("scale", a.scale)};
  Dims dims(d.dims(a.query));
  Values results = forward.calls(
      "_scaled_dot_product_flash_attention_for_cpu",
      {a.query, a.key, a.value, mask}, args,
      {d.typeOf(d.out()), d.tensor({dims[0], dims[1], dims[2]}, wide)});
  return d.decompose(results[0]);
}

LogicalResult nativeAttention(Derivation &d) {
  Value q = d.in("query"), k = d.in("key"), v = d.in("value");
  if (d.real("dropout_p") != 0)
    return d.refuse("attention with dropout has no gradient");
  if (d.wants("attn_mask"))
    return d.refuse("the mask has no gradient");
  if (d.hasOtherGradients())
    return d.refuse("its sums of exponentials have no gradient");
  SmallVector<NamedArg> args = d.arguments({"is_causal", "scale"});
  args.push_back(d.arg("dropout_p", 0.0));
  Values gradients =
      d.calls("_scaled_dot_product_flash_attention_for_cpu_backward",
              {d.grad(), q, k, v, d.out(0), d.out(1), d.in("attn_mask")}, args,
              {q.getType(), k.getType(), v.getType()});
  d.give("query", [&] { return gradients[0]; });
  d.give("key", [&] { return gradients[1]; });
  d.give("value", [&] { return gradients[2]; });
  return success();
}

/// softmax(Q K^T scale + mask) V; queries without a key get zeros.
LogicalResult composed(Derivation &d, const Attention &a) {
  CallBuilder &forward = d.forward();
  Type element = d.element(a.query);
  int64_t rank = d.rank(a.query);
  double root = std::sqrt(a.scale);
  auto scaled = [&](Value x) {
    return forward.withReal("mul.Scalar", x, root);
  };
  Value scores = forward.matmul(
      scaled(a.query), forward.transpose(scaled(a.key), rank - 2, rank - 1));
  Value mask = additive(forward, a.mask, element);
  if (a.causal) {
    Dims square(d.dims(scores).take_back(2));
    Value all = forward.full(square, d.builder.getBoolAttr(true), d.boolean());
    mask = additive(forward, forward.unary("tril", all), element);
  }
  Value empty; // queries without a key: computed as if they had all
  if (mask && !a.causal && d.dims(mask).back() > 0) {
    Value largest = forward.reduce("amax", mask, {d.rank(mask) - 1}, true);
    empty =
        forward.withReal("eq.Scalar", largest,
                         -std::numeric_limits<double>::infinity(), d.boolean());
    mask = forward.where(empty, forward.fullReal({}, 0, element), mask);
  }
  if (mask)
    scores = forward.binary("add.Tensor", scores, mask);
  Value weights =
      forward.unary("softmax.int", scores, {d.arg("dim", rank - 1)});
  if (empty)
    weights = forward.call("masked_fill.Scalar", {weights, empty},
                           {d.arg("value", d.real(0.0))}, d.typeOf(weights));
  return d.decompose(forward.matmul(weights, a.value));
}

LogicalResult attention(Derivation &d) {
  if (d.real("dropout_p") != 0)
    return d.refuse("attention with dropout has no gradient");
  Attention a{d.in("query"),     d.in("key"), d.in("value"),
              d.in("attn_mask"), 0,           d.flag("is_causal")};
  a.scale = d.attribute("scale")
                ? d.real("scale")
                : 1 / std::sqrt(static_cast<double>(d.dims(a.query).back()));
  if (d.flag("enable_gqa")) {
    int64_t heads = d.dims(a.query)[d.rank(a.query) - 3];
    a.key = repeatHeads(d.forward(), a.key, heads);
    a.value = repeatHeads(d.forward(), a.value, heads);
  }
  return fitsKernelOfProcessors(d, a) ? byKernelOfProcessors(d, a)
                                      : composed(d, a);
}

/// The recurrence token by token, as runtime/lib/ops/LinearAttention.cpp has
/// it.
LogicalResult linearAttention(Derivation &d) {
  CallBuilder &f = d.forward();
  Value q = d.in("q"), k = d.in("k"), v = d.in("v"), decay = d.in("decay"),
        beta = d.in("beta"), state = d.in("state");
  Type element = d.element(q);
  Type wide = element.isF64() ? element : Type(d.f32());
  Dims keys(d.dims(k)), queries(d.dims(q));
  int64_t steps = queries[2], size = keys[3], width = d.dims(v)[3];
  if (steps == 0)
    return d.refuse("attention over no tokens has no gradient");
  Value memory = state ? f.cast(state, wide)
                       : f.fullReal({keys[0], keys[1], size, width}, 0, wide);
  auto at = [&](Value x, int64_t t, int64_t axis) {
    return f.unsqueeze(f.select(f.cast(x, wide), 2, t), axis);
  };
  Values outputs;
  for (int64_t t = 0; t < steps; ++t) {
    Value key = at(k, t, 3), value = at(v, t, 2);
    if (decay)
      memory = f.binary("mul.Tensor", memory, f.unary("exp", at(decay, t, 3)));
    if (beta) {
      Value known = f.matmul(f.transpose(key, 2, 3), memory);
      value = f.binary("mul.Tensor", f.binary("sub.Tensor", value, known),
                       at(beta, t, 3));
    }
    memory = f.binary("add.Tensor", memory, f.binary("mul.Tensor", key, value));
    Value read = memory;
    if (queries[1] != keys[1])
      read = f.reshape(
          f.expand(f.unsqueeze(memory, 2),
                   {keys[0], keys[1], queries[1] / keys[1], size, width}),
          {queries[0], queries[1], size, width});
    Value y =
        f.withReal("mul.Scalar", f.matmul(at(q, t, 2), read), d.real("scale"));
    outputs.push_back(y); // [B, H, 1, V]
  }
  return d.decompose({f.cast(f.cat(outputs, 2), element),
                      f.cast(memory, d.element(d.out(1)))});
}

} // namespace

void addAttentionRules(RuleTable &table) {
  table["aten::_scaled_dot_product_flash_attention_for_cpu"] = nativeAttention;
  table["aten::scaled_dot_product_attention"] = attention;
  table["hethub::linear_attention"] = linearAttention;
}

} // namespace hethub::differentiate

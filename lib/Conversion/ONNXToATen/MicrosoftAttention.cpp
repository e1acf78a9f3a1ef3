//===- MicrosoftAttention.cpp - attention operators of onnxruntime --------===//
//
// They differ in where queries, keys and values come from: one product of the
// input (Attention, QAttention), separate or packed inputs (MultiHeadAttention,
// GroupQueryAttention). What follows is the same: heads [B, H, S, E], a mask
// that is added, and LibTorch's attention.
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"
#include "Quantized.h"

using namespace mlir;

namespace hethub {

namespace {

class Attention {
public:
  explicit Attention(Lowering &l)
      : l(l), heads(l.node.integer("num_heads", 0)) {}

  void setPast(Value pastKeys, Value pastValues) {
    past = Lowering::dims(pastKeys)[2];
    k = l.cat({pastKeys, k}, 2);
    v = l.cat({pastValues, v}, 2);
  }
  int64_t batch() const { return Lowering::dims(q)[0]; }
  int64_t queries() const { return Lowering::dims(q)[2]; }
  int64_t keys() const { return Lowering::dims(k)[2]; }

  /// Adds to the mask what a query does not see: where `seen` is false. False
  /// where its form is not one of ONNX's.
  void hide(Value seen);
  bool addKeyMask(Value mask);
  void addCausal(int64_t window = -1, Value filled = {});
  void addBias(Value bias) { add(bias); }

  /// [B, S, H * E]
  Value result();

  Lowering &l;
  int64_t heads, past = 0;
  Value q, k, v;

private:
  void add(Value part) {
    mask = mask ? l.binary("add.Tensor", mask, part) : part;
  }
  Value mask;
};

void Attention::hide(Value seen) {
  Type element = Lowering::element(q);
  double hidden = l.node.real("mask_filter_value", -10000);
  add(l.where(seen, l.fullReal({}, 0, element),
              l.fullReal({}, hidden, element)));
}

/// Lengths [B], or flags [B, keys] or [B, queries, keys].
bool Attention::addKeyMask(Value given) {
  ArrayRef<int64_t> dims = Lowering::dims(given);
  Value seen;
  if (dims == ArrayRef<int64_t>{batch()}) {
    Value lengths = l.reshape(l.cast(given, l.i64()), {batch(), 1, 1, 1});
    Value key = l.constantInts(iota(keys()), {1, 1, 1, keys()});
    seen = l.binary("lt.Tensor", key, lengths, {}, l.boolean());
  } else if (dims == ArrayRef<int64_t>{batch(), keys()}) {
    seen = l.reshape(l.withInt("ne.Scalar", given, 0, l.boolean()),
                     {batch(), 1, 1, keys()});
  } else if (dims == ArrayRef<int64_t>{batch(), queries(), keys()}) {
    seen = l.reshape(l.withInt("ne.Scalar", given, 0, l.boolean()),
                     {batch(), 1, queries(), keys()});
  } else {
    return false;
  }
  hide(seen);
  return true;
}

/// Query i stands at position past + i, or `filled` [B, 1, 1, 1] + i, and sees
/// the `window` keys up to there.
void Attention::addCausal(int64_t window, Value filled) {
  if (filled) {
    Value last =
        l.binary("add.Tensor", filled,
                 l.constantInts(iota(queries()), {1, 1, queries(), 1}));
    Value key = l.constantInts(iota(keys()), {1, 1, 1, keys()});
    hide(l.binary("le.Tensor", key, last, {}, l.boolean()));
    if (window > 0)
      hide(l.binary("gt.Tensor", key, l.withInt("sub.Scalar", last, window), {},
                    l.boolean()));
    return;
  }
  Value all =
      l.full({queries(), keys()}, l.builder.getBoolAttr(true), l.boolean());
  Value seen = l.unary("tril", all, {l.arg("diagonal", past)});
  if (window > 0)
    seen =
        l.binary("logical_and", seen,
                 l.unary("triu", all, {l.arg("diagonal", past - window + 1)}));
  hide(seen);
}

Value Attention::result() {
  k = repeatHeads(l, k, heads);
  v = repeatHeads(l, v, heads);
  Dims dims{batch(), heads, queries(), Lowering::dims(v)[3]};
  Value given = mask;
  if (given)
    given = l.expand(given, {batch(), heads, queries(), keys()});
  double scale = l.node.real("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(Lowering::dims(q)[3]));
  Value y = l.call("scaled_dot_product_attention", {q, k, v, given},
                   {l.arg("scale", scale)},
                   Lowering::tensor(dims, Lowering::element(q)));
  return l.reshape(l.transpose(y, 1, 2), {dims[0], dims[2], heads * dims[3]});
}

/// The last axis of `x` in parts of the given sizes.
Values parts(Lowering &l, Value x, ArrayRef<int64_t> sizes) {
  Values result;
  int64_t start = 0, last = Lowering::rank(x) - 1;
  for (int64_t size : sizes) {
    result.push_back(l.slice(x, last, start, start + size));
    start += size;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Attention, QAttention: one product of the input
//===----------------------------------------------------------------------===//

/// `qkv` [B, S, Q + K + V]; `mask`, `past` and `bias` are input positions.
LogicalResult packed(Lowering &l, Value qkv, Dims sizes, unsigned mask,
                     unsigned past, Value bias) {
  Attention a(l);
  if (a.heads < 1 ||
      llvm::any_of(sizes, [&](int64_t size) { return size % a.heads != 0; }))
    return l.refuse("num_heads must divide the hidden sizes");
  if (l.node.integer("do_rotary", 0) ||
      l.node.integer("past_present_share_buffer", 0))
    return l.refuse("rotary embeddings and shared buffers inside are not "
                    "supported");
  Values heads = parts(l, qkv, sizes);
  a.q = splitHeads(l, heads[0], a.heads);
  a.k = splitHeads(l, heads[1], a.heads);
  a.v = splitHeads(l, heads[2], a.heads);
  if (l.has(past))
    a.setPast(l.select(l.in(past), 0, 0), l.select(l.in(past), 0, 1));
  if (l.node.output(1))
    l.replace(1, l.cat({l.unsqueeze(a.k, 0), l.unsqueeze(a.v, 0)}, 0));
  if (l.has(mask) && !a.addKeyMask(l.in(mask)))
    return l.refuse("masks must be lengths [batch], or flags [batch, keys] or "
                    "[batch, queries, keys]");
  if (l.node.integer("unidirectional", 0))
    a.addCausal();
  if (bias)
    a.addBias(bias);
  return l.done(a.result());
}

Dims hiddenSizes(Lowering &l, Value weight) {
  Dims sizes = l.node.integers("qkv_hidden_sizes");
  if (sizes.size() != 3)
    sizes.assign(3, Lowering::dims(weight)[1] / 3);
  return sizes;
}

LogicalResult lowerAttention(Lowering &l) {
  Value qkv = l.matmul(l.in(0), l.in(1));
  if (l.has(2))
    qkv = l.binary("add.Tensor", qkv, l.in(2));
  return packed(l, qkv, hiddenSizes(l, l.in(1)), 3, 4, l.in(5));
}

/// Inputs: input, weight, bias, their scales, mask, their zero points, past.
LogicalResult lowerQAttention(Lowering &l) {
  Value product = integerProduct(l, l.in(0), l.in(6), l.in(1), l.in(7));
  auto scale = [&](unsigned input) { return l.cast(l.in(input), l.f32()); };
  Value factor = l.binary("mul.Tensor", scale(3), scale(4));
  Value qkv = l.binary("mul.Tensor", l.cast(product, l.f32()), factor);
  qkv = l.binary("add.Tensor", qkv, l.cast(l.in(2), l.f32()));
  qkv = l.cast(qkv, l.outType().getElementType());
  return packed(l, qkv, hiddenSizes(l, l.in(1)), 5, 8, Value());
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention, GroupQueryAttention, RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Inputs: query, key, value, bias of all three, key mask, bias of the scores,
/// past keys and values.
LogicalResult lowerMultiHeadAttention(Lowering &l) {
  Attention a(l);
  Value q = l.in(0), k = l.in(1), v = l.in(2);
  if (a.heads < 1 || l.has(8) || l.has(9) || l.node.output(3))
    return l.refuse("caches in buffers and scores as results are not "
                    "supported");
  // [B, S, H, n, E]: part i of it as [B, S, H * E].
  auto part = [&](Value x, int64_t i) {
    Value y = l.select(x, 3, i);
    ArrayRef<int64_t> d = Lowering::dims(y);
    return l.reshape(y, {d[0], d[1], d[2] * d[3]});
  };
  if (!k && Lowering::rank(q) == 5) {
    k = part(q, 1);
    v = part(q, 2);
    q = part(q, 0);
  } else if (k && !v && Lowering::rank(k) == 5) {
    v = part(k, 1);
    k = part(k, 0);
  }
  if (!k || !v || Lowering::rank(q) != 3)
    return l.refuse("keys and values must be there, or packed into one input");
  if (l.has(3)) {
    if (Lowering::rank(k) != 3 || Lowering::rank(v) != 3)
      return l.refuse("a bias needs keys and values with their heads together");
    Values biases = parts(
        l, l.in(3),
        {Lowering::dims(q)[2], Lowering::dims(k)[2], Lowering::dims(v)[2]});
    q = l.binary("add.Tensor", q, biases[0]);
    k = l.binary("add.Tensor", k, biases[1]);
    v = l.binary("add.Tensor", v, biases[2]);
  }
  for (Value x : {q, k, v})
    if (Lowering::rank(x) == 3 && Lowering::dims(x)[2] % a.heads)
      return l.refuse("num_heads must divide the hidden sizes");
  a.q = splitHeads(l, q, a.heads);
  a.k = splitHeads(l, k, a.heads);
  a.v = splitHeads(l, v, a.heads);
  if (l.has(6) && l.has(7))
    a.setPast(l.in(6), l.in(7));
  if (l.node.output(1))
    l.replace(1, a.k);
  if (l.node.output(2))
    l.replace(2, a.v);
  if (l.has(4) && !a.addKeyMask(l.in(4)))
    return l.refuse("masks must be lengths [batch], or flags [batch, keys] or "
                    "[batch, queries, keys]");
  if (l.node.integer("unidirectional", 0))
    a.addCausal();
  if (l.has(5))
    a.addBias(l.in(5));
  return l.done(a.result());
}

/// Positions [B, S]: as given, or from the one that is given on.
Value positionsOf(Lowering &l, Value given, int64_t batch, int64_t length) {
  Value all = l.constantInts(iota(length), {1, length});
  if (given && Lowering::typeOf(given).getNumElements() == 1)
    all = l.binary("add.Tensor", all, l.reshape(given, {1, 1}));
  else if (given)
    return given;
  return l.expand(all, {batch, length});
}

LogicalResult lowerRotary(Lowering &l) {
  Value x = l.in(0);
  Dims original(Lowering::dims(x));
  int64_t width = 2 * Lowering::dims(l.in(2))[1];
  int64_t heads = l.node.integer("num_heads", 0);
  int64_t count = l.node.integer("rotary_embedding_dim", 0);
  if (original.size() == 3 && heads < 1)
    heads = count ? 0 : original[2] / width;
  if (l.node.integer("is_packed_batching", 0) ||
      (original.size() == 3 && (heads < 1 || original[2] % heads)))
    return l.refuse("num_heads must divide the hidden size");
  x = splitHeads(l, x, heads);
  ArrayRef<int64_t> dims = Lowering::dims(x);
  Value positions = positionsOf(l, l.in(1), dims[0], dims[2]);
  auto table = [&](unsigned input) {
    return l.unsqueeze(rowsAt(l, l.in(input), positions), 1);
  };
  Value cosine = table(2), sine = table(3);
  Value y =
      rotated(l, x, cosine, sine, count, l.node.integer("interleaved", 0));
  if (original.size() == 3)
    y = l.transpose(y, 1, 2);
  return l.done(l.reshape(y, original));
}

/// What a cache holds after `added` [B, H, S, E] came in behind the first
/// `filled` [B, 1, 1, 1] of it, which grows to `size` keys for them.
Value cached(Lowering &l, Value past, Value added, Value filled, int64_t size) {
  Dims dims(Lowering::dims(past)), in(Lowering::dims(added));
  if (dims[2] < size) {
    dims[2] = size - dims[2];
    past = l.cat({past, l.fullReal(dims, 0, Lowering::element(past))}, 2);
    dims[2] = size;
  }
  Value at = l.binary("add.Tensor", filled,
                      l.constantInts(iota(in[2]), {1, 1, in[2], 1}));
  return l.call("scatter.src", {past, l.expand(at, in), added},
                {l.arg("dim", 2)}, Lowering::typeOf(past));
}

/// Inputs: query, key, value, past, past, last key of each batch entry, number
/// of keys, cosines, sines, positions, bias of the scores.
LogicalResult lowerGroupQueryAttention(Lowering &l) {
  Attention a(l);
  int64_t kvHeads = l.node.integer("kv_num_heads", 0);
  if (a.heads < 1 || kvHeads < 1 || a.heads % kvHeads)
    return l.refuse("kv_num_heads must divide num_heads");
  for (unsigned input = 11; input < l.node.inputCount(); ++input)
    if (l.has(input))
      return l.refuse("sinks, norms and quantized caches are not supported");
  if (l.node.real("softcap", 0) != 0 ||
      l.node.integer("smooth_softmax", -1) > 0 || l.node.output(3))
    return l.refuse("soft caps, smooth softmax and scores as results are not "
                    "supported");
  Value q = l.in(0), k = l.in(1), v = l.in(2);
  if (!k) {
    int64_t size = Lowering::dims(q)[2] / (a.heads + 2 * kvHeads);
    Values all = parts(l, q, {a.heads * size, kvHeads * size, kvHeads * size});
    q = all[0];
    k = all[1];
    v = all[2];
  }
  a.q = splitHeads(l, q, a.heads);
  a.k = splitHeads(l, k, kvHeads);
  a.v = splitHeads(l, v, kvHeads);
  Value lengths = l.withInt("add.Scalar", l.reshape(l.in(5), {a.batch()}), 1);
  // Where the cache has no more keys than come in, they are a prompt.
  bool hasPast = l.has(3) && l.has(4) && Lowering::dims(l.in(3))[2] != 0;
  auto total = hasPast ? l.ints(l.in(6)) : std::nullopt;
  if (hasPast && (!total || total->size() != 1))
    return l.refuse("a cache whose length only a run knows is not supported");
  int64_t count = hasPast ? total->front() : a.queries();
  Value filled;
  if (count != a.queries())
    filled = l.reshape(
        l.withInt("sub.Scalar", l.cast(lengths, l.i64()), a.queries()),
        {a.batch(), 1, 1, 1});
  else if (hasPast)
    filled = l.constantInts(Dims(a.batch(), 0), {a.batch(), 1, 1, 1});
  if (l.node.integer("do_rotary", 0)) {
    if (!l.has(7) || !l.has(8))
      return l.refuse("do_rotary needs cosines and sines");
    Value positions = positionsOf(l, l.in(9), a.batch(), a.queries());
    if (count != a.queries() && !l.has(9))
      positions =
          l.binary("add.Tensor", positions, l.reshape(filled, {a.batch(), 1}));
    bool interleaved = l.node.integer("rotary_interleaved", 0);
    Value cosine = l.unsqueeze(rowsAt(l, l.in(7), positions), 1);
    Value sine = l.unsqueeze(rowsAt(l, l.in(8), positions), 1);
    int64_t count = 2 * Lowering::dims(l.in(7))[1];
    a.q = rotated(l, a.q, cosine, sine, count, interleaved);
    a.k = rotated(l, a.k, cosine, sine, count, interleaved);
  }
  if (hasPast) {
    int64_t size = std::max(count, Lowering::dims(l.in(3))[2]);
    a.k = cached(l, l.in(3), a.k, filled, size);
    a.v = cached(l, l.in(4), a.v, filled, size);
  }
  if (l.node.output(1))
    l.replace(1, a.k);
  if (l.node.output(2))
    l.replace(2, a.v);
  a.addKeyMask(lengths);
  if (l.node.integer("causal", 1))
    a.addCausal(l.node.integer("local_window_size", -1), filled);
  if (l.has(10))
    a.addBias(l.in(10));
  return l.done(a.result());
}

} // namespace

void addMicrosoftAttentionHandlers(HandlerTable &table) {
  table["com.microsoft.Attention"] = lowerAttention;
  table["com.microsoft.GroupQueryAttention"] = lowerGroupQueryAttention;
  table["com.microsoft.MultiHeadAttention"] = lowerMultiHeadAttention;
  table["com.microsoft.QAttention"] = lowerQAttention;
  table["com.microsoft.RotaryEmbedding"] = lowerRotary;
}

} // namespace hethub

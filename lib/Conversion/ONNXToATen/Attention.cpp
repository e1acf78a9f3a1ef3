//===- Attention.cpp - attention and rotary embedding ---------------------===//

#include "AttentionParts.h"

using namespace mlir;

namespace hethub {

Value splitHeads(Lowering &l, Value x, int64_t heads) {
  if (Lowering::rank(x) == 4)
    return x;
  ArrayRef<int64_t> d = Lowering::dims(x);
  return l.transpose(l.reshape(x, {d[0], d[1], heads, d[2] / heads}), 1, 2);
}

Value repeatHeads(Lowering &l, Value x, int64_t heads) {
  ArrayRef<int64_t> d = Lowering::dims(x);
  if (d[1] == heads)
    return x;
  Value y = l.expand(l.unsqueeze(x, 2), {d[0], d[1], heads / d[1], d[2], d[3]});
  return l.reshape(y, {d[0], heads, d[2], d[3]});
}

Value rowsAt(Lowering &l, Value table, Value positions) {
  ArrayRef<int64_t> dims = Lowering::dims(table);
  Value index = l.wrapIndex(positions, dims[0]);
  Dims shape(Lowering::dims(index));
  shape.push_back(dims[1]);
  return l.call("embedding", {table, index}, {},
                Lowering::tensor(shape, Lowering::element(table)));
}

/// Pairs (x1, x2) of a head turned by the angle of their position: halves of
/// the head, or neighbours.
Value rotated(Lowering &l, Value x, Value cosine, Value sine, int64_t count,
              bool interleaved) {
  int64_t size = Lowering::dims(x)[3];
  count = count ? count : size;
  Value turned = l.slice(x, 3, 0, count);
  Value a = interleaved ? l.slice(turned, 3, 0, count, 2)
                        : l.slice(turned, 3, 0, count / 2);
  Value b = interleaved ? l.slice(turned, 3, 1, count, 2)
                        : l.slice(turned, 3, count / 2, count);
  auto times = [&](Value u, Value w) { return l.binary("mul.Tensor", u, w); };
  Value real = l.binary("sub.Tensor", times(a, cosine), times(b, sine));
  Value imaginary = l.binary("add.Tensor", times(a, sine), times(b, cosine));
  Values parts;
  if (interleaved)
    parts = {
        l.reshape(l.cat({l.unsqueeze(real, 4), l.unsqueeze(imaginary, 4)}, 4),
                  Lowering::dims(turned))};
  else
    parts = {real, imaginary};
  if (count < size)
    parts.push_back(l.slice(x, 3, count, size));
  return l.cat(parts, 3);
}

namespace {

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

class AttentionLowering {
public:
  explicit AttentionLowering(Lowering &l) : l(l) {}
  LogicalResult run();

private:
  void readInputs();
  /// The keys that each query may see, from causal order, window and cache
  /// length; null where all.
  Value allowedKeys();
  /// `allowedKeys` and the mask input together: a boolean or a float mask, null
  /// where neither restricts.
  Value combinedMask(Value allowed);
  Value fused(Value mask, bool causal);
  LogicalResult composed(Value mask);
  LogicalResult finish(Value y);
  bool needsComposition() const;

  Lowering &l;
  Value q, k, v;
  int64_t batch, heads, queries, keys, past = 0;
  double scale;
  bool causal;
  int64_t left, right;
};

void AttentionLowering::readInputs() {
  int64_t kvHeads = l.node.integer("kv_num_heads", 0);
  q = splitHeads(l, l.in(0), l.node.integer("q_num_heads", 0));
  k = splitHeads(l, l.in(1), kvHeads);
  v = splitHeads(l, l.in(2), kvHeads);
  if (l.has(4)) {
    past = Lowering::dims(l.in(4))[2];
    k = l.cat({l.in(4), k}, 2);
    v = l.cat({l.in(5), v}, 2);
  }
  batch = Lowering::dims(q)[0];
  heads = Lowering::dims(q)[1];
  queries = Lowering::dims(q)[2];
  keys = Lowering::dims(k)[2];
  scale = l.node.real("scale", 1 / std::sqrt(double(Lowering::dims(q)[3])));
  causal = l.node.integer("is_causal", 0);
  left = l.node.integer("left_window_size", -1);
  right = l.node.integer("right_window_size", -1);
}

Value AttentionLowering::allowedKeys() {
  Value allowed;
  auto also = [&](Value mask) {
    allowed = allowed ? l.binary("logical_and", allowed, mask) : mask;
  };
  if (!l.has(6)) {
    // Query i stands at position past + i. Triangles of a full matrix depend on
    // shapes alone.
    auto triangle = [&](StringRef name, int64_t diagonal) {
      Value all =
          l.full({queries, keys}, l.builder.getBoolAttr(true), l.boolean());
      also(l.unary(name, all, {l.arg("diagonal", diagonal)}));
    };
    if (causal)
      triangle("tril", past);
    if (left >= 0)
      triangle("triu", past - left);
    if (right >= 0)
      triangle("tril", past + right);
    return allowed;
  }
  // An external cache: of each batch entry the first `length` keys are valid,
  // and its last query is the last of them.
  Value length = l.reshape(l.cast(l.in(6), l.i64()), {batch, 1, 1, 1});
  Value key = l.constantInts(iota(keys), {1, 1, 1, keys});
  also(l.binary("lt.Tensor", key, length, {}, l.boolean()));
  Value query = l.constantInts(iota(queries), {1, 1, queries, 1});
  Value position =
      l.withInt("sub.Scalar", l.binary("add.Tensor", query, length), queries);
  Value ahead = l.binary("sub.Tensor", key, position);
  if (causal)
    also(l.withInt("le.Scalar", ahead, 0, l.boolean()));
  if (left >= 0)
    also(l.withInt("ge.Scalar", ahead, -left, l.boolean()));
  if (right >= 0)
    also(l.withInt("le.Scalar", ahead, right, l.boolean()));
  return allowed;
}

Value AttentionLowering::combinedMask(Value allowed) {
  if (!l.has(3))
    return allowed;
  Value mask = l.in(3);
  double minusInfinity = -std::numeric_limits<double>::infinity();
  bool boolean = Lowering::element(mask).isInteger(1);
  int64_t rank = Lowering::rank(mask), size = Lowering::dims(mask).back();
  if (size < keys && size != 1) {
    Dims before(rank, 0), after(rank, 0);
    after.back() = keys - size;
    mask = l.pad(mask, before, after, boolean ? 0.0 : minusInfinity);
  }
  if (!allowed)
    return mask;
  if (boolean)
    return l.binary("logical_and", allowed, mask);
  return l.where(allowed, mask,
                 l.fullReal({}, minusInfinity, Lowering::element(mask)));
}

/// Intermediate results or other precision than LibTorch's fused operator has.
bool AttentionLowering::needsComposition() const {
  Type element = Lowering::element(q);
  if (l.node.real("softcap", 0) != 0 || l.node.output(3))
    return true;
  if (!l.node.attribute("softmax_precision"))
    return false;
  Type precision = elementTypeOf(l.node.integer("softmax_precision", 1),
                                 l.builder.getContext());
  // The fused operator computes small floats in 32 bits.
  return precision != element && !(precision && precision.isF32() &&
                                   element.getIntOrFloatBitWidth() < 32);
}

Value AttentionLowering::fused(Value mask, bool torchCausal) {
  if (mask) {
    // Rank 2 or 4, and full extents of queries and keys.
    while (Lowering::rank(mask) < 2 || Lowering::rank(mask) == 3)
      mask = l.unsqueeze(mask, 0);
    Dims dims(Lowering::dims(mask));
    dims[dims.size() - 2] = queries;
    dims[dims.size() - 1] = keys;
    mask = l.expand(mask, dims);
  }
  Dims result{batch, heads, queries, Lowering::dims(v)[3]};
  return l.call("scaled_dot_product_attention", {q, k, v, mask},
                {l.arg("is_causal", torchCausal), l.arg("scale", scale),
                 l.arg("enable_gqa", heads != Lowering::dims(k)[1])},
                Lowering::tensor(result, Lowering::element(q)));
}

LogicalResult AttentionLowering::composed(Value mask) {
  Type element = Lowering::element(q);
  int64_t mode = l.node.integer("qk_matmul_output_mode", 0);
  double root = std::sqrt(scale), cap = l.node.real("softcap", 0);
  Value keysT = l.transpose(repeatHeads(l, k, heads), 2, 3);
  Value scores = l.matmul(l.withReal("mul.Scalar", q, root),
                          l.withReal("mul.Scalar", keysT, root));
  Value shown = scores;
  if (cap != 0) {
    scores = l.withReal("div.Scalar", scores, cap);
    scores = l.withReal("mul.Scalar", l.unary("tanh", scores), cap);
  }
  if (mode == 1)
    shown = scores;
  double minusInfinity = -std::numeric_limits<double>::infinity();
  Value empty; // rows without a key
  if (mask) {
    if (Lowering::element(mask).isInteger(1))
      mask = l.where(mask, l.fullReal({}, 0, element),
                     l.fullReal({}, minusInfinity, element));
    Value largest = l.reduce("amax", mask, {Lowering::rank(mask) - 1}, true);
    empty = l.withReal("eq.Scalar", largest, minusInfinity, l.boolean());
    if (mode == 2)
      shown = l.binary("add.Tensor", scores, mask);
    // Computed as if they had all keys: a softmax over nothing has gradients
    // that are not numbers.
    mask = l.where(empty, l.fullReal({}, 0, element), mask);
    scores = l.binary("add.Tensor", scores, mask);
  } else if (mode == 2) {
    shown = scores;
  }
  Type precision = l.node.attribute("softmax_precision")
                       ? elementTypeOf(l.node.integer("softmax_precision", 1),
                                       l.builder.getContext())
                       : element;
  if (!precision)
    return l.refuse("softmax_precision must be a float type");
  Value weights =
      l.unary("softmax.int", l.cast(scores, precision), {l.arg("dim", 3)});
  weights = l.cast(weights, element);
  if (empty)
    weights = l.call("masked_fill.Scalar", {weights, empty},
                     {l.arg("value", l.real(0))}, Lowering::typeOf(weights));
  if (mode == 3)
    shown = weights;
  if (l.node.output(3))
    l.replace(3, shown);
  return finish(l.matmul(weights, repeatHeads(l, v, heads)));
}

LogicalResult AttentionLowering::finish(Value y) {
  if (l.node.output(1))
    l.replace(1, k);
  if (l.node.output(2))
    l.replace(2, v);
  if (l.outType().getRank() == 3)
    y = l.reshape(l.transpose(y, 1, 2), l.outType().getShape());
  return l.done(y);
}

LogicalResult AttentionLowering::run() {
  readInputs();
  bool windowed = left >= 0 || right >= 0;
  // Without cache, mask and window, LibTorch's own causal flag means the same
  // and reads no mask.
  bool torchCausal = causal && !past && !l.has(3) && !l.has(6) && !windowed;
  if (torchCausal && !needsComposition())
    return finish(fused(nullptr, true));
  Value mask = combinedMask(allowedKeys());
  return needsComposition() ? composed(mask) : finish(fused(mask, false));
}

LogicalResult lowerAttention(Lowering &l) { return AttentionLowering(l).run(); }

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

LogicalResult lowerRotary(Lowering &l) {
  Value x = l.in(0);
  Dims original(Lowering::dims(x));
  bool headsFirst = original.size() == 4;
  if (!headsFirst) {
    int64_t heads = l.node.integer("num_heads", 0);
    if (heads <= 0 || original[2] % heads)
      return l.refuse("num_heads must divide the hidden size");
    x = l.reshape(x, {original[0], original[1], heads, original[2] / heads});
  }
  // [B, S, R/2] with an axis for the heads.
  auto table = [&](unsigned input) {
    Value cache = l.in(input);
    if (l.has(3))
      cache = rowsAt(l, cache, l.in(3));
    return l.unsqueeze(cache, headsFirst ? 1 : 2);
  };
  Value cosine = table(1), sine = table(2);
  Value y =
      rotated(l, x, cosine, sine, l.node.integer("rotary_embedding_dim", 0),
              l.node.integer("interleaved", 0));
  return l.done(l.reshape(y, original));
}

} // namespace

void addAttentionHandlers(HandlerTable &table) {
  table["Attention"] = lowerAttention;
  table["RotaryEmbedding"] = lowerRotary;
}

} // namespace hethub

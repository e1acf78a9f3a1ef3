//===- Pooling.cpp - pools over windows and over all positions ------------===//

#include "Window.h"

using namespace mlir;

namespace hethub {

namespace {

/// Whether LibTorch's own padding can express the window: the same at both
/// ends, at most half of the kernel, and an output that is not rounded up.
bool fitsTorchPool(const Window &w, ArrayRef<int64_t> in,
                   ArrayRef<int64_t> out) {
  for (size_t i = 0; i < w.axes(); ++i) {
    int64_t padded = in[i + 2] + w.before[i] + w.after[i];
    if (w.before[i] != w.after[i] || w.before[i] > w.kernel[i] / 2 ||
        (padded - w.extent(i)) / w.strides[i] + 1 != out[i + 2])
      return false;
  }
  return true;
}

/// Elements that the last window needs beyond the padded input (ceil_mode).
Dims overhang(const Window &w, ArrayRef<int64_t> in, ArrayRef<int64_t> out) {
  Dims result;
  for (size_t i = 0; i < w.axes(); ++i) {
    int64_t padded = in[i + 2] + w.before[i] + w.after[i];
    int64_t needed = (out[i + 2] - 1) * w.strides[i] + w.extent(i);
    result.push_back(std::max<int64_t>(0, needed - padded));
  }
  return result;
}

Dims sum(const Dims &a, const Dims &b) {
  Dims result(a);
  for (size_t i = 0; i < b.size(); ++i)
    result[i] += b[i];
  return result;
}

std::string pool(StringRef stem, size_t axes, StringRef suffix = "") {
  return (stem + Twine(axes) + "d" + suffix).str();
}

//===----------------------------------------------------------------------===//
// MaxPool
//===----------------------------------------------------------------------===//

/// LibTorch counts positions within the padded plane of one channel; ONNX
/// within the whole tensor, row by row or, with storage_order 1, column by
/// column.
Value globalIndices(Lowering &l, Value local, const Dims &before,
                    ArrayRef<int64_t> padded, ArrayRef<int64_t> in) {
  size_t axes = padded.size();
  bool columns = l.node.integer("storage_order", 0);
  int64_t plane = product(in.drop_front(2));
  Value result, rest = local;
  for (size_t i = axes; i-- > 0;) {
    Value position = i ? l.withInt("remainder.Scalar", rest, padded[i]) : rest;
    if (i)
      rest = l.unary("div.Scalar_mode", rest,
                     {l.arg("other", l.integer(padded[i])),
                      l.arg("rounding_mode", "floor")});
    int64_t stride =
        columns ? product(in.slice(2, i)) : product(in.drop_front(i + 3));
    if (before[i])
      position = l.withInt("sub.Scalar", position, before[i]);
    position = l.withInt("mul.Scalar", position, stride);
    result = result ? l.binary("add.Tensor", result, position) : position;
  }
  Dims starts, shape{in[0], in[1]};
  for (int64_t i = 0; i < in[0] * in[1]; ++i)
    starts.push_back(i * plane);
  shape.append(axes, 1);
  return l.binary("add.Tensor", result, l.constantInts(starts, shape));
}

LogicalResult lowerMaxPool(Lowering &l) {
  size_t rank = Lowering::rank(l.in(0));
  if (rank < 3 || rank > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  bool wantsIndices = bool(l.node.output(1));
  Values made = maxPool(l, l.in(0), l.outType().getShape(), wantsIndices);
  if (wantsIndices)
    l.replace(1, made[1]);
  return l.done(made[0]);
}

/// Values back at the positions that MaxPool's indices name; zeros elsewhere.
LogicalResult lowerMaxUnpool(Lowering &l) {
  Value y = unpooled(l);
  ArrayRef<int64_t> out = l.outType().getShape(), plain = Lowering::dims(y);
  Dims none(out.size(), 0), after;
  for (size_t i = 0; i < out.size(); ++i)
    after.push_back(out[i] - plain[i]);
  return l.done(l.pad(y, none, after, 0.0));
}

//===----------------------------------------------------------------------===//
// AveragePool, LpPool
//===----------------------------------------------------------------------===//

/// Sums over windows as a convolution with ones: any dilation, any padding done
/// before.
Value windowSums(Lowering &l, Value x, const Window &w, ArrayRef<int64_t> out) {
  Type element = Lowering::element(x);
  int64_t planes = product(Lowering::dims(x).take_front(2));
  Dims flat{planes, 1}, kernel{1, 1}, result{planes, 1};
  llvm::append_range(flat, Lowering::dims(x).drop_front(2));
  llvm::append_range(kernel, w.kernel);
  llvm::append_range(result, out.drop_front(2));
  Value ones = l.fullReal(kernel, 1, element);
  Value y =
      l.call("convolution", {l.reshape(x, flat), ones, Value()},
             {l.arg("stride", w.strides), l.arg("padding", Dims(w.axes(), 0)),
              l.arg("dilation", w.dilations), l.arg("transposed", false),
              l.arg("output_padding", Dims(w.axes(), 0)), l.arg("groups", 1)},
             Lowering::tensor(result, element));
  Dims shape(Lowering::dims(x).take_front(2));
  llvm::append_range(shape, out.drop_front(2));
  return l.reshape(y, shape);
}

LogicalResult lowerAveragePool(Lowering &l) {
  size_t rank = Lowering::rank(l.in(0));
  if (rank < 3 || rank > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  return l.done(averagePool(l, l.in(0), l.outType().getShape()));
}

/// |x|^p summed over a window, to the power 1/p.
LogicalResult lowerLpPool(Lowering &l) {
  Value x = l.in(0);
  size_t rank = Lowering::rank(x);
  if (rank < 3 || rank > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  Dims in(Lowering::dims(x));
  ArrayRef<int64_t> out = l.outType().getShape();
  Window w = readWindow(l, in, out);
  int64_t p = l.node.integer("p", 2);
  Value powers = l.withInt("pow.Tensor_Scalar", l.unary("abs", x), p);
  powers = l.pad(powers, withOuterAxes(w.before),
                 withOuterAxes(sum(w.after, overhang(w, in, out))), 0.0);
  return l.done(
      l.withReal("pow.Tensor_Scalar", windowSums(l, powers, w, out), 1.0 / p));
}

//===----------------------------------------------------------------------===//
// Global pools
//===----------------------------------------------------------------------===//

Dims spatialAxes(Value x) {
  Dims axes = iota(Lowering::rank(x));
  axes.erase(axes.begin(), axes.begin() + 2);
  return axes;
}

LogicalResult lowerGlobalPool(Lowering &l) {
  Value x = l.in(0);
  Dims axes = spatialAxes(x);
  if (axes.empty())
    return l.refuse("the input must have spatial axes");
  if (l.node.opType() == "GlobalAveragePool")
    return l.done(l.reduce("mean.dim", x, axes, true));
  if (l.node.opType() == "GlobalMaxPool")
    return l.done(l.reduce("amax", x, axes, true));
  return l.done(l.reduce("linalg_vector_norm", x, axes, true,
                         {l.arg("ord", l.integer(l.node.integer("p", 2)))}));
}

} // namespace

/// Indices count in the tensor that pooling would have had as its smallest
/// input.
Value unpooled(Lowering &l) {
  Value x = l.in(0), indices = l.in(1);
  ArrayRef<int64_t> in = Lowering::dims(x);
  Window w = readWindow(l, in, in);
  Dims plain{in[0], in[1]};
  for (size_t i = 0; i < w.axes(); ++i)
    plain.push_back((in[i + 2] - 1) * w.strides[i] + w.kernel[i] - w.before[i] -
                    w.after[i]);
  int64_t count = product(in), size = product(plain);
  Value zeros = l.fullReal({size}, 0, Lowering::element(x));
  Value y = l.call("scatter.src",
                   {zeros, l.reshape(indices, {count}), l.reshape(x, {count})},
                   {l.arg("dim", 0)}, Lowering::typeOf(zeros));
  return l.reshape(y, plain);
}

Values maxPool(Lowering &l, Value x, ArrayRef<int64_t> out, bool withIndices) {
  Type element = Lowering::element(x);
  Dims in(Lowering::dims(x));
  Window w = readWindow(l, in, out);
  // Small integers are exact as floats, and only those have fast pools.
  Value data = isFloat(element) ? x : l.cast(x, l.f32());
  Dims padding = w.before, cropped(w.axes(), 0);
  Dims padded(ArrayRef<int64_t>(in).drop_front(2));
  if (!fitsTorchPool(w, in, out)) {
    Dims after = sum(w.after, overhang(w, in, out));
    data = l.pad(data, withOuterAxes(w.before), withOuterAxes(after),
                 -std::numeric_limits<double>::infinity());
    cropped = w.before;
    padding.assign(w.axes(), 0);
    padded.assign(Lowering::dims(data).drop_front(2).begin(),
                  Lowering::dims(data).drop_front(2).end());
  }
  SmallVector<NamedArg> args{
      l.arg("kernel_size", w.kernel), l.arg("stride", w.strides),
      l.arg("padding", padding), l.arg("dilation", w.dilations)};
  RankedTensorType type = Lowering::tensor(out, Lowering::element(data));
  if (!withIndices)
    return {l.cast(l.call(pool("max_pool", w.axes()), {data}, args, type),
                   element)};
  Values results = l.calls(pool("max_pool", w.axes(), "_with_indices"), {data},
                           args, {type, Lowering::tensor(out, l.i64())});
  Value indices = globalIndices(l, results[1], cropped, padded, in);
  return {l.cast(results[0], element), indices};
}

Value averagePool(Lowering &l, Value x, ArrayRef<int64_t> out) {
  size_t rank = Lowering::rank(x);
  Dims in(Lowering::dims(x));
  RankedTensorType type = Lowering::tensor(out, Lowering::element(x));
  Window w = readWindow(l, in, out);
  bool countPads = l.node.integer("count_include_pad", 0);
  bool dilated = llvm::any_of(w.dilations, [](int64_t d) { return d != 1; });
  if (!dilated && fitsTorchPool(w, in, out))
    return l.call(pool("avg_pool", w.axes()), {x},
                  {l.arg("kernel_size", w.kernel), l.arg("stride", w.strides),
                   l.arg("padding", w.before),
                   l.arg("count_include_pad", countPads)},
                  type);
  // Sum of the elements over the number of those that count; what ceil_mode
  // hangs over never counts.
  Dims before = withOuterAxes(w.before), after = withOuterAxes(w.after);
  Dims over = withOuterAxes(overhang(w, in, out)), none(rank, 0);
  Value data = l.pad(x, before, sum(after, over), 0.0);
  Dims onesShape(in);
  onesShape[0] = onesShape[1] = 1;
  Value ones = l.fullReal(onesShape, 1, Lowering::element(x));
  ones = l.pad(ones, before, after, countPads ? 1.0 : 0.0);
  ones = l.pad(ones, none, over, 0.0);
  return l.binary("div.Tensor", windowSums(l, data, w, out),
                  windowSums(l, ones, w, out));
}

void addPoolingHandlers(HandlerTable &table) {
  table["MaxPool"] = lowerMaxPool;
  table["MaxUnpool"] = lowerMaxUnpool;
  table["AveragePool"] = lowerAveragePool;
  table["LpPool"] = lowerLpPool;
  for (const char *name :
       {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
    table[name] = lowerGlobalPool;
}

} // namespace hethub

//===- Quantization.cpp - integers that stand for real numbers ------------===//
//
// A tensor of small integers q with a scale and a zero point stands for (q -
// zero point) * scale. Products of such tensors are computed as LibTorch
// computes them best and exactly: in floats that hold any sum of them.
//===----------------------------------------------------------------------===//

#include "Quantized.h"
#include "Window.h"

using namespace mlir;

namespace hethub {

Value shaped(Lowering &l, Value value, ArrayRef<int64_t> dims, int64_t axis,
             int64_t block) {
  int64_t rank = Lowering::rank(value);
  if (Lowering::typeOf(value).getNumElements() == 1)
    return l.reshape(value, {});
  if (rank > 1 && block == 0)
    return value;
  int64_t given = rank == 1 ? 0 : axis, length = dims.size();
  if (axis < 0 || axis >= length || given >= rank || block < 0 ||
      (rank > 1 && rank != length)) {
    (void)l.refuse("scales and zero points must stand along an axis");
    return value;
  }
  if (rank == 1 && (block == 0 || length > 1)) {
    Dims shape(length, 1);
    shape[axis] = Lowering::dims(value).front();
    return l.reshape(value, shape);
  }
  Dims repeated(Lowering::dims(value)), flat(repeated);
  repeated.insert(repeated.begin() + axis + 1, block);
  flat[axis] *= block;
  Value blocks = l.expand(l.unsqueeze(value, axis + 1), repeated);
  return l.slice(l.reshape(blocks, flat), axis, 0, dims[axis]);
}

Value toInteger(Lowering &l, Value quotient, Value zero, Type type) {
  Value q = l.unary("round", l.cast(quotient, l.f32()));
  if (zero)
    q = l.binary("add.Tensor", q, l.cast(zero, l.f32()));
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isUnsignedType = type.isUnsignedInteger();
  double low = isUnsignedType ? 0 : -std::exp2(bits - 1);
  double high = std::exp2(isUnsignedType ? bits : bits - 1) - 1;
  q = l.unary("clamp", q, {l.arg("min", low), l.arg("max", high)});
  return l.cast(q, type);
}

/// An integer tensor minus its zero point, of a wider type. A vector of zero
/// points stands along `axis`.
static Value centred(Lowering &l, Value x, Value zero, int64_t axis,
                     Type type) {
  Value y = l.cast(x, type);
  if (!zero)
    return y;
  ArrayRef<int64_t> dims = Lowering::dims(x);
  return l.binary("sub.Tensor", y,
                  l.cast(shaped(l, zero, dims, axis, 0), type));
}

/// In floats, which hold every sum of 8-bit products exactly and whose products
/// are the fast ones: a sum of 2^8 products fits 24 bits.
Value integerProduct(Lowering &l, Value a, Value aZero, Value b, Value bZero) {
  int64_t terms = Lowering::dims(a).back();
  bool few = !ShapedType::isDynamic(terms) && terms <= 256;
  Type wide = few ? Type(l.f32()) : Type(l.builder.getF64Type());
  return l.matmul(
      centred(l, a, aZero, std::max<int64_t>(0, Lowering::rank(a) - 2), wide),
      centred(l, b, bZero, Lowering::rank(b) - 1, wide));
}

QuantizedData dynamicallyQuantized(Lowering &l, Value x, Type type) {
  Dims axes = iota(Lowering::rank(x));
  Value high =
      l.unary("clamp", l.reduce("amax", x, axes, false), {l.arg("min", 0.0)});
  Value low =
      l.unary("clamp", l.reduce("amin", x, axes, false), {l.arg("max", 0.0)});
  Value scale =
      l.withReal("div.Scalar", l.binary("sub.Tensor", high, low), 255);
  // Nothing but zeros: any scale will do.
  Value flat = l.withReal("eq.Scalar", scale, 0, l.boolean());
  scale = l.call("masked_fill.Scalar", {scale, flat},
                 {l.arg("value", l.real(1))}, Lowering::typeOf(scale));
  Value zero = toInteger(l, l.binary("div.Tensor", l.unary("neg", low), scale),
                         Value(), type);
  return {toInteger(l, l.binary("div.Tensor", x, scale), zero, type), scale,
          zero};
}

Value dequantized(Lowering &l, Value x, Value scale, Value zero, int64_t axis) {
  ArrayRef<int64_t> dims = Lowering::dims(x);
  Value y = l.cast(decode(l, x), l.f32());
  if (zero)
    y = l.binary("sub.Tensor", y,
                 l.cast(shaped(l, zero, dims, axis, 0), l.f32()));
  return l.binary("mul.Tensor", y,
                  l.cast(shaped(l, scale, dims, axis, 0), l.f32()));
}

Value quantized(Lowering &l, Value x, Value scale, Value zero, Type type) {
  Value quotient =
      l.binary("div.Tensor", x, l.cast(l.reshape(scale, {}), l.f32()));
  return toInteger(l, quotient, zero ? l.reshape(zero, {}) : Value(), type);
}

namespace {

/// The type in which values are divided by their scale.
Type quotientType(Lowering &l, Value x, Value scale) {
  if (int64_t given = l.node.integer("precision", 0))
    if (Type type = elementTypeOf(given, l.builder.getContext()))
      return type;
  Type a = Lowering::element(x), b = Lowering::element(scale);
  if (!isFloat(a) || a.getIntOrFloatBitWidth() < b.getIntOrFloatBitWidth())
    a = b;
  return a.getIntOrFloatBitWidth() < 16 ? Type(l.f32()) : a;
}

LogicalResult lowerQuantize(Lowering &l) {
  Value x = l.in(0);
  ArrayRef<int64_t> dims = Lowering::dims(x);
  int64_t axis = l.axis("axis", 1, dims.size());
  int64_t block = l.node.integer("block_size", 0);
  Type type = l.outType().getElementType();
  Type computed = quotientType(l, x, l.in(1));
  Value scale = l.cast(shaped(l, l.in(1), dims, axis, block), computed);
  Value quotient = l.binary("div.Tensor", l.cast(x, computed), scale);
  Value zero = l.has(2) ? shaped(l, l.in(2), dims, axis, block) : Value();
  if (isCoded(type) && zero)
    quotient =
        l.binary("add.Tensor", quotient, l.cast(decode(l, zero), computed));
  if (isFloat(type)) // the zero point of 8-bit floats is 0
    return l.done(convert(l, quotient, type));
  return l.done(toInteger(l, quotient, zero, type));
}

LogicalResult lowerDequantize(Lowering &l) {
  Value x = l.in(0);
  ArrayRef<int64_t> dims = Lowering::dims(x);
  int64_t axis = l.axis("axis", 1, dims.size());
  int64_t block = l.node.integer("block_size", 0);
  Value y = l.cast(decode(l, x), l.f32());
  if (l.has(2) && !isFloat(Lowering::element(x)))
    y = l.binary("sub.Tensor", y,
                 l.cast(shaped(l, l.in(2), dims, axis, block), l.f32()));
  Value scale = l.cast(shaped(l, l.in(1), dims, axis, block), l.f32());
  return l.done(
      l.cast(l.binary("mul.Tensor", y, scale), l.outType().getElementType()));
}

LogicalResult lowerDynamicQuantize(Lowering &l) {
  QuantizedData made =
      dynamicallyQuantized(l, l.in(0), l.outType().getElementType());
  if (l.node.output(1))
    l.replace(1, made.scale);
  if (l.node.output(2))
    l.replace(2, made.zero);
  return l.done(made.values);
}

LogicalResult lowerMatMulInteger(Lowering &l) {
  return l.done(l.cast(integerProduct(l, l.in(0), l.in(2), l.in(1), l.in(3)),
                       l.outType().getElementType()));
}

/// Inputs: a, scale, zero, b, scale, zero, then scale and zero of the output.
LogicalResult lowerQLinearMatMul(Lowering &l) {
  Value product =
      l.cast(integerProduct(l, l.in(0), l.in(2), l.in(3), l.in(5)), l.f32());
  ArrayRef<int64_t> dims = Lowering::dims(product);
  int64_t rank = dims.size();
  auto scale = [&](unsigned input, int64_t axis) {
    return l.cast(shaped(l, l.in(input), dims, std::max<int64_t>(0, axis), 0),
                  l.f32());
  };
  Value factor = l.binary("mul.Tensor", scale(1, rank - 2), scale(4, rank - 1));
  factor = l.binary("div.Tensor", factor, scale(6, rank - 2));
  Value zero = shaped(l, l.in(7), dims, std::max<int64_t>(0, rank - 2), 0);
  return l.done(toInteger(l, l.binary("mul.Tensor", product, factor), zero,
                          l.outType().getElementType()));
}

/// Padding is the zero point, that is 0 after it is subtracted. LibTorch's fast
/// convolutions are those of 32-bit floats: with up to 256 taps these hold
/// every sum; with more, sums for the upper and the lower bits of the weights
/// do.
Value integerConvolution(Lowering &l, Value x, Value xZero, Value w,
                         Value wZero, ArrayRef<int64_t> out) {
  auto convolved = [&](Value data, Value weight) {
    return convolve(l, data, weight, Value(), out);
  };
  Type f32 = l.f32(), f64 = l.builder.getF64Type();
  ArrayRef<int64_t> dims = Lowering::dims(w).drop_front(1);
  int64_t taps = product(dims);
  if (ShapedType::isDynamicShape(dims) || taps > 4096)
    return convolved(centred(l, x, xZero, 1, f64),
                     centred(l, w, wZero, 0, f64));
  x = centred(l, x, xZero, 1, f32);
  w = centred(l, w, wZero, 0, f32);
  if (taps <= 256)
    return l.cast(convolved(x, w), f64);
  Value upper = l.unary("floor", l.withReal("mul.Scalar", w, 1.0 / 16));
  Value lower = l.binary("sub.Tensor", w, l.withReal("mul.Scalar", upper, 16));
  Value sum = l.withReal("mul.Scalar", l.cast(convolved(x, upper), f64), 16);
  return l.binary("add.Tensor", sum, l.cast(convolved(x, lower), f64));
}

LogicalResult lowerConvInteger(Lowering &l) {
  if (Lowering::rank(l.in(0)) < 3 || Lowering::rank(l.in(0)) > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  Value y = integerConvolution(l, l.in(0), l.in(2), l.in(1), l.in(3),
                               l.outType().getShape());
  return l.done(l.cast(y, l.outType().getElementType()));
}

/// Inputs: x, scale, zero, w, scale, zero, scale and zero of the output, bias
/// in units of the product.
LogicalResult lowerQLinearConv(Lowering &l) {
  if (Lowering::rank(l.in(0)) < 3 || Lowering::rank(l.in(0)) > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  bool last = l.node.integer("channels_last", 0); // of com.microsoft
  Value x = last ? channelsFirst(l, l.in(0)) : l.in(0);
  Dims out(l.outType().getShape());
  if (last)
    out = channelsFirst(out);
  Value y = integerConvolution(l, x, l.in(2), l.in(3), l.in(5), out);
  ArrayRef<int64_t> dims = Lowering::dims(y);
  if (l.has(8))
    y = l.binary("add.Tensor", y,
                 l.cast(shaped(l, l.in(8), dims, 1, 0), Lowering::element(y)));
  auto scale = [&](unsigned input) {
    return l.cast(shaped(l, l.in(input), dims, 1, 0), l.f32());
  };
  Value factor = l.binary("div.Tensor",
                          l.binary("mul.Tensor", scale(1), scale(4)), scale(6));
  Value zero = shaped(l, l.in(7), dims, 1, 0);
  y = l.binary("mul.Tensor", l.cast(y, l.f32()), factor);
  y = toInteger(l, y, zero, l.outType().getElementType());
  return l.done(last ? channelsLast(l, y) : y);
}

} // namespace

void addQuantizationHandlers(HandlerTable &table) {
  table["QuantizeLinear"] = lowerQuantize;
  table["DequantizeLinear"] = lowerDequantize;
  table["DynamicQuantizeLinear"] = lowerDynamicQuantize;
  table["MatMulInteger"] = lowerMatMulInteger;
  table["QLinearMatMul"] = lowerQLinearMatMul;
  table["ConvInteger"] = lowerConvInteger;
  table["QLinearConv"] = lowerQLinearConv;
  // As onnxruntime's optimiser writes them; both know more element types.
  table["com.microsoft.QLinearConv"] = lowerQLinearConv;
  table["com.microsoft.QuantizeLinear"] = lowerQuantize;
  table["com.microsoft.DequantizeLinear"] = lowerDequantize;
}

} // namespace hethub

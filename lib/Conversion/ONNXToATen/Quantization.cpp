//===- Quantization.cpp - integers that stand for real numbers ------------===//
//
// A tensor of small integers q with a scale and a zero point stands for (q -
// zero point) * scale. Products of such tensors are computed as LibTorch
// computes them best and exactly: in 32-bit integers, convolutions in doubles,
// which hold any sum of 8-bit products.
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace mlir;

namespace hethub {

namespace {

/// A scale or zero point in a shape that broadcasts to `dims`: one number, one
/// an index of the axis, or one a block of `block` elements of the axis.
Value shaped(Lowering &l, Value value, ArrayRef<int64_t> dims, int64_t axis,
             int64_t block) {
  int64_t rank = Lowering::rank(value);
  if (Lowering::typeOf(value).getNumElements() == 1)
    return l.reshape(value, {});
  if (rank == 1) {
    Dims shape(dims.size(), 1);
    shape[axis] = Lowering::dims(value).front();
    return l.reshape(value, shape);
  }
  if (block == 0)
    return value;
  Dims repeated(Lowering::dims(value)), flat(repeated);
  repeated.insert(repeated.begin() + axis + 1, block);
  flat[axis] *= block;
  Value blocks = l.expand(l.unsqueeze(value, axis + 1), repeated);
  return l.slice(l.reshape(blocks, flat), axis, 0, dims[axis]);
}

/// Rounded, moved by the zero point and cut to the range of the integer type.
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

LogicalResult lowerQuantize(Lowering &l) {
  Value x = l.in(0);
  ArrayRef<int64_t> dims = Lowering::dims(x);
  int64_t axis = l.axis("axis", 1, dims.size());
  int64_t block = l.node.integer("block_size", 0);
  if (!isFloat(Lowering::element(x)))
    return l.refuse("only floats can be quantized");
  Type type = l.outType().getElementType();
  Value scale =
      l.cast(shaped(l, l.in(1), dims, axis, block), Lowering::element(x));
  Value quotient = l.binary("div.Tensor", x, scale);
  if (isFloat(type)) // the zero point of floats is 0
    return l.done(convert(l, quotient, type));
  Value zero = l.has(2) ? shaped(l, l.in(2), dims, axis, block) : Value();
  return l.done(toInteger(l, quotient, zero, type));
}

LogicalResult lowerDequantize(Lowering &l) {
  Value x = l.in(0);
  ArrayRef<int64_t> dims = Lowering::dims(x);
  int64_t axis = l.axis("axis", 1, dims.size());
  int64_t block = l.node.integer("block_size", 0);
  Value y = l.cast(x, l.f32());
  if (l.has(2))
    y = l.binary("sub.Tensor", y,
                 l.cast(shaped(l, l.in(2), dims, axis, block), l.f32()));
  Value scale = l.cast(shaped(l, l.in(1), dims, axis, block), l.f32());
  return l.done(
      l.cast(l.binary("mul.Tensor", y, scale), l.outType().getElementType()));
}

/// Scale and zero point from the extent of the data, widened to hold 0.
LogicalResult lowerDynamicQuantize(Lowering &l) {
  Value x = l.in(0);
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
  Type u8 = l.outType().getElementType();
  Value zero = toInteger(l, l.binary("div.Tensor", l.unary("neg", low), scale),
                         Value(), u8);
  if (l.node.output(1))
    l.replace(1, scale);
  if (l.node.output(2))
    l.replace(2, zero);
  return l.done(toInteger(l, l.binary("div.Tensor", x, scale), zero, u8));
}

/// An integer tensor minus its zero point, of a wider type. A vector of zero
/// points stands along `axis`.
Value centred(Lowering &l, Value x, Value zero, int64_t axis, Type type) {
  Value y = l.cast(x, type);
  if (!zero)
    return y;
  ArrayRef<int64_t> dims = Lowering::dims(x);
  return l.binary("sub.Tensor", y,
                  l.cast(shaped(l, zero, dims, axis, 0), type));
}

/// Zero points of A stand along its rows, those of B along its columns.
Value integerProduct(Lowering &l, Value a, Value aZero, Value b, Value bZero) {
  Type i32 = l.builder.getI32Type();
  return l.matmul(
      centred(l, a, aZero, std::max<int64_t>(0, Lowering::rank(a) - 2), i32),
      centred(l, b, bZero, Lowering::rank(b) - 1, i32));
}

LogicalResult lowerMatMulInteger(Lowering &l) {
  return l.done(integerProduct(l, l.in(0), l.in(2), l.in(1), l.in(3)));
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

/// Padding is the zero point, that is 0 after it is subtracted.
Value integerConvolution(Lowering &l, Value x, Value xZero, Value w,
                         Value wZero) {
  Type f64 = l.builder.getF64Type();
  return convolve(l, centred(l, x, xZero, 1, f64), centred(l, w, wZero, 0, f64),
                  Value());
}

LogicalResult lowerConvInteger(Lowering &l) {
  if (Lowering::rank(l.in(0)) < 3 || Lowering::rank(l.in(0)) > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  Value y = integerConvolution(l, l.in(0), l.in(2), l.in(1), l.in(3));
  return l.done(l.cast(y, l.outType().getElementType()));
}

/// Inputs: x, scale, zero, w, scale, zero, scale and zero of the output, bias
/// in units of the product.
LogicalResult lowerQLinearConv(Lowering &l) {
  if (Lowering::rank(l.in(0)) < 3 || Lowering::rank(l.in(0)) > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  Value y = integerConvolution(l, l.in(0), l.in(2), l.in(3), l.in(5));
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
  return l.done(toInteger(l, y, zero, l.outType().getElementType()));
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
}

} // namespace hethub

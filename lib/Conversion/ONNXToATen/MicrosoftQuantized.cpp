//===- MicrosoftQuantized.cpp - quantized operators of onnxruntime --------===//
//
// What com.microsoft computes on 8-bit data is computed on the numbers that
// they stand for, and quantized again; products are exact sums of integers.
//===----------------------------------------------------------------------===//

#include "Quantized.h"
#include "Window.h"

using namespace mlir;

namespace hethub {

namespace {

/// Value, scale and zero point from input `first` on.
Value real(Lowering &l, unsigned first) {
  return dequantized(l, l.in(first), l.in(first + 1), l.in(first + 2));
}

/// Ends a handler: quantized with the scale and zero point from input `first`
/// on.
LogicalResult done(Lowering &l, Value y, unsigned first) {
  return l.done(quantized(l, y, l.in(first), l.in(first + 1),
                          l.outType().getElementType()));
}

LogicalResult lowerBinary(Lowering &l) {
  bool add = l.node.opType() == "QLinearAdd";
  return done(
      l, l.binary(add ? "add.Tensor" : "mul.Tensor", real(l, 0), real(l, 3)),
      6);
}

LogicalResult lowerSigmoid(Lowering &l) {
  return done(l, l.unary("sigmoid", real(l, 0)), 3);
}

LogicalResult lowerLeakyRelu(Lowering &l) {
  double slope = l.node.real("alpha", 0.01f);
  return done(l,
              l.unary("leaky_relu", real(l, 0),
                      {l.arg("negative_slope", l.real(slope))}),
              3);
}

/// Before opset 13 all axes from `axis` on are one.
LogicalResult lowerSoftmax(Lowering &l) {
  Value x = real(l, 0);
  int64_t rank = Lowering::rank(x), axis = l.axis("axis", -1, rank);
  if (axis < 0 || axis >= rank)
    return l.refuse("axis must be one of the input");
  Dims dims(Lowering::dims(x)), flat(dims);
  if (l.node.integer("opset", 13) < 13) {
    flat.resize(axis);
    flat.push_back(product(ArrayRef(dims).drop_front(axis)));
  }
  Value y = l.unary("softmax.int", l.reshape(x, flat), {l.arg("dim", axis)});
  return done(l, l.reshape(y, dims), 3);
}

/// Condition, then X and Y with scale and zero point each.
LogicalResult lowerWhere(Lowering &l) {
  return done(l, l.where(l.in(0), real(l, 1), real(l, 4)), 7);
}

LogicalResult lowerConcat(Lowering &l) {
  Values parts;
  for (unsigned i = 2; i + 2 < l.node.inputCount(); i += 3)
    parts.push_back(real(l, i));
  if (parts.empty())
    return l.refuse("there must be an input with scale and zero point");
  int64_t rank = Lowering::rank(parts.front()), axis = l.axis("axis", 0, rank);
  if (axis < 0 || axis >= rank)
    return l.refuse("axis must be one of the input");
  return done(l, l.cat(parts, axis), 0);
}

LogicalResult lowerReduceMean(Lowering &l) {
  Value x = real(l, 0);
  Dims axes = l.node.integers("axes");
  for (int64_t &axis : axes)
    axis += axis < 0 ? Lowering::rank(x) : 0;
  return done(l, l.reduce("mean.dim", x, axes, l.node.integer("keepdims", 1)),
              3);
}

LogicalResult lowerGlobalAveragePool(Lowering &l) {
  Value x = real(l, 0);
  int64_t first = l.node.integer("channels_last", 0) ? 1 : 2;
  Dims axes;
  for (int64_t i = 0; i < Lowering::rank(x) - 2; ++i)
    axes.push_back(first + i);
  return done(l, l.reduce("mean.dim", x, axes, true), 3);
}

LogicalResult lowerAveragePool(Lowering &l) {
  int64_t rank = Lowering::rank(l.in(0));
  if (rank < 3 || rank > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  Dims out(l.outType().getShape());
  if (!l.node.integer("channels_last", 0))
    return done(l, averagePool(l, real(l, 0), out), 3);
  Value x = channelsFirst(l, real(l, 0));
  return done(l, channelsLast(l, averagePool(l, x, channelsFirst(out))), 3);
}

LogicalResult lowerNhwcMaxPool(Lowering &l) {
  int64_t rank = Lowering::rank(l.in(0));
  if (rank < 3 || rank > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  Value x = channelsFirst(l, l.in(0));
  Dims out = channelsFirst(l.outType().getShape());
  return l.done(channelsLast(l, maxPool(l, x, out, false).front()));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A product of integers in the unit of both scales, plus a bias.
Value scaledProduct(Lowering &l, Value product, Value aScale, Value bScale,
                    Value bias, Type type) {
  ArrayRef<int64_t> dims = Lowering::dims(product);
  int64_t rank = dims.size();
  auto scale = [&](Value v, int64_t axis) {
    return l.cast(shaped(l, v, dims, std::max<int64_t>(0, axis), 0), l.f32());
  };
  Value factor =
      l.binary("mul.Tensor", scale(aScale, rank - 2), scale(bScale, rank - 1));
  Value y = l.binary("mul.Tensor", l.cast(product, l.f32()), factor);
  if (bias)
    y = l.binary("add.Tensor", y, l.cast(bias, l.f32()));
  return l.cast(y, type);
}

LogicalResult lowerMatMulIntegerToFloat(Lowering &l) {
  Value product = integerProduct(l, l.in(0), l.in(4), l.in(1), l.in(5));
  return l.done(scaledProduct(l, product, l.in(2), l.in(3), l.in(6),
                              l.outType().getElementType()));
}

LogicalResult lowerDynamicQuantizeMatMul(Lowering &l) {
  Type u8 = IntegerType::get(l.builder.getContext(), 8, IntegerType::Unsigned);
  QuantizedData a = dynamicallyQuantized(l, l.in(0), u8);
  Value product = integerProduct(l, a.values, a.zero, l.in(1), l.in(3));
  return l.done(scaledProduct(l, product, a.scale, l.in(2), l.in(4),
                              l.outType().getElementType()));
}

/// Inputs: A, scale, zero, B, scale, zero, C in the unit of the product, scale
/// and zero of the result.
LogicalResult lowerGemm(Lowering &l) {
  Value a = l.in(0), b = l.in(3);
  if (l.node.integer("transA", 0))
    a = l.transpose(a, 0, 1);
  if (l.node.integer("transB", 0))
    b = l.transpose(b, 0, 1);
  Type f64 = l.builder.getF64Type();
  Value product = l.cast(integerProduct(l, a, l.in(2), b, l.in(5)), f64);
  if (l.has(6))
    product = l.binary("add.Tensor", product, l.cast(l.in(6), f64));
  Value y = scaledProduct(l, product, l.in(1), l.in(4), Value(), l.f32());
  if (double alpha = l.node.real("alpha", 1); alpha != 1)
    y = l.withReal("mul.Scalar", y, alpha);
  return l.has(7) ? done(l, y, 7) : l.done(y);
}

/// Codes of less than a byte, packed lowest first: [..., n] bytes become [...,
/// n
/// * 8 / bits] bytes.
Value unpack(Lowering &l, Value packed, int64_t bits) {
  if (bits == 8)
    return packed;
  Type element = Lowering::element(packed);
  auto number = [&](int64_t value) {
    auto type = Lowering::tensor({}, element);
    return l.constant(DenseElementsAttr::get(
        type, llvm::APInt(8, static_cast<uint64_t>(value))));
  };
  Dims dims(Lowering::dims(packed));
  int64_t last = dims.size();
  Values parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value part =
        shift ? l.binary("bitwise_right_shift.Tensor", packed, number(shift))
              : packed;
    part = l.binary("bitwise_and.Tensor", part, number((1 << bits) - 1));
    parts.push_back(l.unsqueeze(part, last));
  }
  dims.back() *= 8 / bits;
  return l.reshape(l.cat(parts, last), dims);
}

/// A [..., K] times the transposed of B, whose N rows are blocks of codes [N,
/// blocks, bytes] with a scale each.
LogicalResult lowerMatMulNBits(Lowering &l) {
  int64_t bits = l.node.integer("bits", 4), size = l.node.integer("K", 0);
  int64_t rows = l.node.integer("N", 0);
  int64_t block = l.node.integer("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8)
    return l.refuse("bits must be 2, 4 or 8, got: " + Twine(bits));
  if (block < 1 || size < 1 || rows < 1 || l.has(4) ||
      l.node.integer("weight_prepacked", 0))
    return l.refuse("only weights in blocks of their own order are supported");
  int64_t blocks = (size + block - 1) / block;
  Type element = Lowering::element(l.in(0));
  if (product(Lowering::dims(l.in(1))) != rows * blocks * block * bits / 8)
    return l.refuse("weights must be N rows of K codes in blocks");
  Value codes =
      unpack(l, l.reshape(l.in(1), {rows, blocks, block * bits / 8}), bits);
  Value zeros;
  if (Value given = l.in(3);
      given && !isFloat(Lowering::element(given))) { // rows end on a byte
    int64_t bytes = (blocks * bits + 7) / 8;
    Value all = unpack(l, l.reshape(given, {rows, bytes}), bits);
    zeros = l.cast(l.slice(all, 1, 0, blocks), element);
  } else if (given) {
    zeros = l.reshape(given, {rows, blocks});
  } else {
    zeros = l.fullReal({rows, blocks}, 1 << (bits - 1), element);
  }
  auto perBlock = [&](Value v) { return l.reshape(v, {rows, blocks, 1}); };
  Value weight =
      l.binary("sub.Tensor", l.cast(codes, element), perBlock(zeros));
  weight = l.binary("mul.Tensor", weight, perBlock(l.in(2)));
  weight = l.slice(l.reshape(weight, {rows, blocks * block}), 1, 0, size);
  return l.done(l.call("linear", {l.in(0), weight, l.in(5)}, {}, l.outType()));
}

/// Rows of a quantized table. Packed bytes hold codes along the last axis,
/// which stand around the middle of their range where no zero point is given.
LogicalResult lowerGatherBlockQuantized(Lowering &l) {
  Value codes = l.in(0), scale = l.in(2), zero = l.in(3);
  int64_t rank = Lowering::rank(codes);
  int64_t bits = l.node.integer("bits", 4);
  int64_t axis = l.axis("quantize_axis", 1, rank);
  int64_t from = l.axis("gather_axis", 0, rank);
  int64_t block = l.node.integer("block_size", 128);
  if (axis < 0 || axis >= rank || from < 0 || from >= rank || block < 1 ||
      Lowering::rank(scale) != rank)
    return l.refuse("scales must stand along an axis of the table");
  Type element = l.outType().getElementType();
  if (Lowering::element(codes).isUnsignedInteger(8)) {
    if ((bits != 4 && bits != 8) || axis != rank - 1)
      return l.refuse("packed tables need 4 or 8 bits along their last axis");
    codes = unpack(l, codes, bits);
    if (zero)
      zero =
          l.slice(unpack(l, zero, bits), axis, 0, Lowering::dims(scale)[axis]);
  }
  bool packed = codes != l.in(0) || bits == 8;
  ArrayRef<int64_t> dims = Lowering::dims(codes);
  Value table = l.cast(decode(l, codes), element);
  if (zero)
    table = l.binary("sub.Tensor", table,
                     l.cast(shaped(l, zero, dims, axis, block), element));
  else if (packed)
    table = l.withReal("sub.Scalar", table, 1 << (bits - 1));
  table = l.binary("mul.Tensor", table, shaped(l, scale, dims, axis, block));
  Value index = l.wrapIndex(l.in(1), dims[from]);
  index = l.reshape(index, {product(Lowering::dims(index))});
  return l.done(
      l.reshape(l.indexSelect(table, from, index), l.outType().getShape()));
}

} // namespace

void addMicrosoftQuantizedHandlers(HandlerTable &table) {
  struct Entry {
    const char *name;
    Handler handler;
  };
  constexpr Entry entries[] = {
      {"DynamicQuantizeMatMul", lowerDynamicQuantizeMatMul},
      {"GatherBlockQuantized", lowerGatherBlockQuantized},
      {"MatMulIntegerToFloat", lowerMatMulIntegerToFloat},
      {"MatMulNBits", lowerMatMulNBits},
      {"NhwcMaxPool", lowerNhwcMaxPool},
      {"QGemm", lowerGemm},
      {"QLinearAdd", lowerBinary},
      {"QLinearAveragePool", lowerAveragePool},
      {"QLinearConcat", lowerConcat},
      {"QLinearGlobalAveragePool", lowerGlobalAveragePool},
      {"QLinearLeakyRelu", lowerLeakyRelu},
      {"QLinearMul", lowerBinary},
      {"QLinearReduceMean", lowerReduceMean},
      {"QLinearSigmoid", lowerSigmoid},
      {"QLinearSoftmax", lowerSoftmax},
      {"QLinearWhere", lowerWhere},
  };
  for (const Entry &entry : entries)
    table[("com.microsoft." + Twine(entry.name)).str()] = entry.handler;
}

} // namespace hethub

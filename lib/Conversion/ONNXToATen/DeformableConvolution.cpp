//===- DeformableConvolution.cpp - a convolution whose taps are moved -----===//
//
// Each tap of the kernel reads the image at an offset of its own, between
// elements: a grid_sampler. What the taps read is multiplied with the weights
// as in any convolution.
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace mlir;

namespace hethub {

namespace {

/// Where taps lie along one axis without offsets: [1, taps, outputs] with the
/// outputs in the axis of the result that they belong to.
Value positions(Lowering &l, const Window &w, size_t axis, int64_t outputs,
                Type element) {
  SmallVector<double> values;
  int64_t columns = w.kernel[1];
  for (int64_t tap = 0; tap < w.kernel[0] * columns; ++tap) {
    int64_t along = axis == 0 ? tap / columns : tap % columns;
    for (int64_t i = 0; i < outputs; ++i)
      values.push_back(double(i * w.strides[axis] - w.before[axis] +
                              along * w.dilations[axis]));
  }
  Dims dims{1, w.kernel[0] * columns, 1, 1};
  dims[2 + axis] = outputs;
  return l.constantReals(values, dims, element);
}

LogicalResult lowerDeformConv(Lowering &l) {
  Value x = l.in(0), weight = l.in(1), offset = l.in(2), mask = l.in(4);
  if (Lowering::rank(x) != 4)
    return l.refuse("only 2 spatial axes are supported");
  RankedTensorType result = l.outType();
  Type element = result.getElementType();
  // Kernels that sample know 32 and 64 bits alone.
  Type computed =
      element.getIntOrFloatBitWidth() < 32 ? Type(l.f32()) : element;
  x = l.cast(x, computed);
  weight = l.cast(weight, computed);
  offset = l.cast(offset, computed);
  Dims in(Lowering::dims(x)), out(result.getShape());
  Window w = readWindow(l, in, out, Lowering::dims(weight).drop_front(2));
  int64_t sets = l.node.integer("offset_group", 1);
  int64_t groups = l.node.integer("group", 1);
  int64_t taps = w.kernel[0] * w.kernel[1], pixels = out[2] * out[3];
  if (sets < 1 || groups < 1 || in[1] % sets || in[1] % groups ||
      out[1] % groups)
    return l.refuse("group and offset_group must divide the channels");

  // [batch * sets, taps, rows, columns], from -1 to 1 over whole elements.
  offset = l.reshape(offset, {in[0] * sets, taps, 2, out[2], out[3]});
  auto coordinate = [&](size_t axis) {
    Value at =
        l.binary("add.Tensor", l.select(offset, 2, static_cast<int64_t>(axis)),
                 positions(l, w, axis, out[2 + axis], computed));
    at = l.withReal("mul.Scalar", at, 2.0 / in[2 + axis]);
    at = l.withReal("add.Scalar", at, 1.0 / in[2 + axis] - 1);
    return l.unsqueeze(at, 4);
  };
  Value grid = l.cat({coordinate(1), coordinate(0)}, 4);
  grid = l.reshape(grid, {in[0] * sets, taps * out[2], out[3], 2});
  int64_t perSet = in[1] / sets;
  Value image = l.reshape(x, {in[0] * sets, perSet, in[2], in[3]});
  Value read =
      l.call("grid_sampler", {image, grid},
             {l.arg("interpolation_mode", 0), l.arg("padding_mode", 0),
              l.arg("align_corners", false)},
             Lowering::tensor({in[0] * sets, perSet, taps * out[2], out[3]},
                              computed));
  read = l.reshape(read, {in[0] * sets, perSet, taps, pixels});
  if (mask)
    read = l.binary(
        "mul.Tensor", read,
        l.reshape(l.cast(mask, computed), {in[0] * sets, 1, taps, pixels}));

  int64_t columns = in[1] / groups * taps;
  read = l.reshape(read, {in[0], groups, columns, pixels});
  weight = l.reshape(weight, {1, groups, out[1] / groups, columns});
  Value y = l.reshape(l.matmul(weight, read), out);
  if (l.has(3))
    y = l.binary("add.Tensor", y,
                 l.reshape(l.cast(l.in(3), computed), {1, out[1], 1, 1}));
  return l.done(l.cast(y, element));
}

} // namespace

void addDeformableConvolutionHandlers(HandlerTable &table) {
  table["DeformConv"] = lowerDeformConv;
}

} // namespace hethub

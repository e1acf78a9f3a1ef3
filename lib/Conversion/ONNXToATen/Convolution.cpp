//===- Convolution.cpp - convolutions in 1 to 3 dimensions ----------------===//

#include "Window.h"

using namespace mlir;

namespace hethub {

Window readWindow(Lowering &l, ArrayRef<int64_t> input,
                  ArrayRef<int64_t> output, ArrayRef<int64_t> kernel) {
  size_t axes = input.size() - 2;
  auto orOnes = [&](StringRef name) {
    Dims values = l.node.integers(name);
    if (values.empty())
      values.assign(axes, 1);
    return values;
  };
  Window w;
  w.kernel = l.node.integers("kernel_shape");
  if (w.kernel.empty())
    w.kernel.assign(kernel.begin(), kernel.end());
  w.strides = orOnes("strides");
  w.dilations = orOnes("dilations");
  w.before.assign(axes, 0);
  w.after.assign(axes, 0);
  StringRef automatic = l.node.string("auto_pad", "NOTSET");
  Dims pads = l.node.integers("pads");
  for (size_t i = 0; i < axes; ++i) {
    if (automatic.starts_with("SAME")) {
      int64_t needed = (output[i + 2] - 1) * w.strides[i] + w.extent(i);
      int64_t total = std::max<int64_t>(0, needed - input[i + 2]);
      // The odd element goes to the end for SAME_UPPER, to the front for
      // SAME_LOWER.
      w.before[i] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      w.after[i] = total - w.before[i];
    } else if (automatic == "NOTSET" && !pads.empty()) {
      w.before[i] = pads[i];
      w.after[i] = pads[i + axes];
    }
  }
  return w;
}

Dims withOuterAxes(ArrayRef<int64_t> values) {
  Dims result{0, 0};
  llvm::append_range(result, values);
  return result;
}

namespace {

Value convolution(Lowering &l, Value x, Value weight, Value bias,
                  const Window &w, ArrayRef<int64_t> padding, bool transposed,
                  ArrayRef<int64_t> outputPadding, RankedTensorType type) {
  return l.call("convolution", {x, weight, bias},
                {l.arg("stride", w.strides), l.arg("padding", padding),
                 l.arg("dilation", w.dilations),
                 l.arg("transposed", transposed),
                 l.arg("output_padding", outputPadding),
                 l.arg("groups", l.node.integer("group", 1))},
                type);
}

LogicalResult lowerConv(Lowering &l) {
  if (Lowering::rank(l.in(0)) < 3 || Lowering::rank(l.in(0)) > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  return l.done(convolve(l, l.in(0), l.in(1), l.in(2), l.outType().getShape()));
}

/// The full transposed convolution has (in - 1) * stride + extent elements an
/// axis; pads crop it, output padding extends it at the end.
LogicalResult lowerConvTranspose(Lowering &l) {
  Value x = l.in(0), weight = l.in(1), bias = l.in(2);
  if (Lowering::rank(x) < 3 || Lowering::rank(x) > 5)
    return l.refuse("only 1 to 3 spatial axes are supported");
  ArrayRef<int64_t> in = Lowering::dims(x), out = l.outType().getShape();
  Window w = readWindow(l, in, in, Lowering::dims(weight).drop_front(2));
  StringRef automatic = l.node.string("auto_pad", "NOTSET");
  Dims extra = l.node.integers("output_padding");
  if (extra.empty())
    extra.assign(w.axes(), 0);
  bool direct = true;
  Dims full, before(w.axes()), after(w.axes());
  for (size_t i = 0; i < w.axes(); ++i) {
    full.push_back((in[i + 2] - 1) * w.strides[i] + w.extent(i));
    if (automatic.starts_with("SAME") ||
        !l.node.integers("output_shape").empty()) {
      // The padding follows from the wanted output.
      int64_t total = full[i] + extra[i] - out[i + 2];
      w.before[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
        w.before[i] = total - (total - total / 2);
    }
    before[i] = -w.before[i];
    after[i] = out[i + 2] - full[i] + w.before[i];
    // What LibTorch does by itself: the same padding at both ends, and a little
    // more output.
    int64_t more = after[i] - before[i];
    direct &= w.before[i] >= 0 && more >= 0 &&
              more < std::max(w.strides[i], w.dilations[i]);
    extra[i] = more;
  }
  if (direct)
    return l.done(
        convolution(l, x, weight, bias, w, w.before, true, extra, l.outType()));
  Dims fullDims{out[0], out[1]};
  llvm::append_range(fullDims, full);
  Value y = convolution(l, x, weight, Value(), w, Dims(w.axes(), 0), true,
                        Dims(w.axes(), 0),
                        Lowering::tensor(fullDims, Lowering::element(x)));
  y = l.pad(y, withOuterAxes(before), withOuterAxes(after), 0.0);
  if (bias) {
    Dims shape(Lowering::rank(x), 1);
    shape[1] = out[1];
    y = l.binary("add.Tensor", y, l.reshape(bias, shape));
  }
  return l.done(y);
}

/// Columns of [N, C * product(block), L] added up where they lie in the image.
LogicalResult lowerCol2Im(Lowering &l) {
  Value x = l.in(0);
  auto image = l.ints(l.in(1)), block = l.ints(l.in(2));
  if (!image || !block)
    return l.refuse("image and block shape must be constants");
  if (image->size() != 2)
    return l.refuse("only two image axes are supported");
  ArrayRef<int64_t> out = l.outType().getShape();
  Window w = readWindow(l, out, out, *block);
  if (!w.symmetric())
    return l.refuse("pads must be the same at both ends");
  return l.done(
      l.call("col2im", {x},
             {l.arg("output_size", *image), l.arg("kernel_size", *block),
              l.arg("dilation", w.dilations), l.arg("padding", w.before),
              l.arg("stride", w.strides)},
             l.outType()));
}

} // namespace

Dims channelsFirst(ArrayRef<int64_t> dims) {
  Dims result(dims);
  std::rotate(result.begin() + 1, result.end() - 1, result.end());
  return result;
}

Value channelsFirst(Lowering &l, Value x) {
  return l.permute(x, channelsFirst(iota(Lowering::rank(x))));
}

Value channelsLast(Lowering &l, Value x) {
  Dims order = iota(Lowering::rank(x));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return l.permute(x, order);
}

Value convolve(Lowering &l, Value x, Value weight, Value bias,
               ArrayRef<int64_t> out) {
  Window w = readWindow(l, Lowering::dims(x), out,
                        Lowering::dims(weight).drop_front(2));
  bool negative = llvm::any_of(w.before, [](int64_t pad) { return pad < 0; });
  if (!w.symmetric() || negative) {
    x = l.pad(x, withOuterAxes(w.before), withOuterAxes(w.after), 0.0);
    w.before.assign(w.axes(), 0);
  }
  return convolution(l, x, weight, bias, w, w.before, false, Dims(w.axes(), 0),
                     Lowering::tensor(out, Lowering::element(x)));
}

void addConvolutionHandlers(HandlerTable &table) {
  table["Conv"] = lowerConv;
  table["ConvTranspose"] = lowerConvTranspose;
  table["Col2Im"] = lowerCol2Im;
}

} // namespace hethub

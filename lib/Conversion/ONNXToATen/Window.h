//===- Window.h - sliding windows of convolutions and pools ----*- C++ -*-===//

#ifndef HETHUB_LIB_CONVERSION_ONNXTOATEN_WINDOW_H
#define HETHUB_LIB_CONVERSION_ONNXTOATEN_WINDOW_H

#include "Lowering.h"

namespace hethub {

/// Geometry of a window over the spatial axes, auto_pad resolved.
struct Window {
  Dims kernel, strides, dilations, before, after;

  size_t axes() const { return kernel.size(); }
  int64_t extent(size_t axis) const {
    return (kernel[axis] - 1) * dilations[axis] + 1;
  }
  bool symmetric() const { return before == after; }
};

/// Reads kernel_shape (or `kernel` where the attribute is absent), strides,
/// dilations, pads and auto_pad. Padding of SAME_* follows from the sizes of
/// input and output.
Window readWindow(Lowering &l, llvm::ArrayRef<int64_t> input,
                  llvm::ArrayRef<int64_t> output,
                  llvm::ArrayRef<int64_t> kernel = {});

/// `values` of the spatial axes with two zeros in front, for batch and
/// channels.
Dims withOuterAxes(llvm::ArrayRef<int64_t> values);

/// MaxUnpool without what a larger output is padded with.
Value unpooled(Lowering &l);

/// The average pool of shape `out` that the node's attributes describe, of 1 to
/// 3 spatial axes and of the element type of `x`.
Value averagePool(Lowering &l, Value x, llvm::ArrayRef<int64_t> out);

/// The same of the largest elements, and where those are as ONNX counts them
/// (second value) if asked for.
Values maxPool(Lowering &l, Value x, llvm::ArrayRef<int64_t> out,
               bool withIndices);

/// The convolution of shape `out` that the node's attributes describe, padded
/// with zeros, of the element type of `x`.
Value convolve(Lowering &l, Value x, Value weight, Value bias,
               llvm::ArrayRef<int64_t> out);

/// [N, ..., C] -> [N, C, ...] and back, for data whose channels stand behind
/// the image.
Value channelsFirst(Lowering &l, Value x);
Value channelsLast(Lowering &l, Value x);
Dims channelsFirst(llvm::ArrayRef<int64_t> dims);

} // namespace hethub

#endif // HETHUB_LIB_CONVERSION_ONNXTOATEN_WINDOW_H

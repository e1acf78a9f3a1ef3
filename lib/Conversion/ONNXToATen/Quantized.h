//===- Quantized.h - integers that stand for real numbers ------*- C++ -*-===//

#ifndef HETHUB_LIB_CONVERSION_ONNXTOATEN_QUANTIZED_H
#define HETHUB_LIB_CONVERSION_ONNXTOATEN_QUANTIZED_H

#include "Lowering.h"

namespace hethub {

/// A scale or zero point in a shape that broadcasts to `dims`: one number, one
/// an index of the axis, or one a block of `block` elements of the axis.
Value shaped(Lowering &l, Value value, llvm::ArrayRef<int64_t> dims,
             int64_t axis, int64_t block);

/// Rounded, moved by the zero point and cut to the range of the integer type.
Value toInteger(Lowering &l, Value quotient, Value zero, Type type);

/// (x - zero) * scale in float32; a vector of scales stands along `axis`.
Value dequantized(Lowering &l, Value x, Value scale, Value zero,
                  int64_t axis = 0);
/// float32 x / scale + zero, with one scale for all.
Value quantized(Lowering &l, Value x, Value scale, Value zero, Type type);

struct QuantizedData {
  Value values, scale, zero;
};
/// With a scale and zero point from the extent of the data, widened to hold 0.
QuantizedData dynamicallyQuantized(Lowering &l, Value x, Type type);

/// (a - zero of a) times (b - zero of b), exact, in floats that hold it. Zero
/// points of A stand along its rows, those of B along its columns.
Value integerProduct(Lowering &l, Value a, Value aZero, Value b, Value bZero);

} // namespace hethub

#endif // HETHUB_LIB_CONVERSION_ONNXTOATEN_QUANTIZED_H

// RUN: hh-opt %s --onnx-raise-patterns --split-input-file | FileCheck %s

hh.parameter @w : tensor<8x4xf32> from "weights.bin" offset 0 length 128
hh.parameter @v : tensor<4x8xf32> from "weights.bin" offset 128 length 128

// CHECK-LABEL: @matrix
// CHECK: onnx.Gemm(%arg0, %{{.*}}, %arg1) : (tensor<3x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
func.func @matrix(%x: tensor<3x8xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %w = hh.get_parameter @w : tensor<8x4xf32>
  %0 = onnx.MatMul(%x, %w) : (tensor<3x8xf32>, tensor<8x4xf32>) -> (tensor<3x4xf32>)
  %1 = onnx.Add(%b, %0) : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
  return %1 : tensor<3x4xf32>
}

// A weight that is stored transposed, and more dimensions: rows are put together and taken apart again.
// CHECK-LABEL: @batched
// CHECK: %[[X:.*]] = onnx.Reshape(%arg0, %{{.*}}) : (tensor<2x3x8xf32>, tensor<2xi64>) -> (tensor<6x8xf32>)
// CHECK: %[[G:.*]] = onnx.Gemm(%[[X]], %{{.*}}, %arg1) {transB = 1 : i64} : (tensor<6x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<6x4xf32>)
// CHECK: onnx.Reshape(%[[G]], %{{.*}}) : (tensor<6x4xf32>, tensor<3xi64>) -> (tensor<2x3x4xf32>)
// CHECK-NOT: onnx.Transpose
func.func @batched(%x: tensor<2x3x8xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %v = hh.get_parameter @v : tensor<4x8xf32>
  %t = onnx.Transpose(%v) {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> (tensor<8x4xf32>)
  %0 = onnx.MatMul(%x, %t) : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> (tensor<2x3x4xf32>)
  %1 = onnx.Add(%0, %b) : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>)
  return %1 : tensor<2x3x4xf32>
}

// A residual is no bias, nor is one number a row; and no product of two activations is a linear layer.
// CHECK-LABEL: @no_linear
// CHECK-NOT: onnx.Gemm
func.func @no_linear(%x: tensor<2x3x8xf32>, %r: tensor<2x3x4xf32>, %c: tensor<3x1xf32>, %a: tensor<8x4xf32>, %b: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %w = hh.get_parameter @w : tensor<8x4xf32>
  %0 = onnx.MatMul(%x, %w) : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> (tensor<2x3x4xf32>)
  %1 = onnx.Add(%0, %r) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>)
  %2 = onnx.MatMul(%x, %w) : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> (tensor<2x3x4xf32>)
  %3 = onnx.Add(%2, %c) : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> (tensor<2x3x4xf32>)
  %4 = onnx.MatMul(%x, %a) : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> (tensor<2x3x4xf32>)
  %5 = onnx.Add(%4, %b) : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>)
  return %1, %3, %5 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// TensorFlow writes the bias with as many dimensions as the product.
// CHECK-LABEL: @wide_bias
// CHECK: %[[B:.*]] = onnx.Reshape(%arg1, %{{.*}}) : (tensor<1x1x4xf32>, tensor<1xi64>) -> (tensor<4xf32>)
// CHECK: onnx.Gemm(%{{.*}}, %{{.*}}, %[[B]])
func.func @wide_bias(%x: tensor<2x3x8xf32>, %b: tensor<1x1x4xf32>) -> tensor<2x3x4xf32> {
  %w = hh.get_parameter @w : tensor<8x4xf32>
  %0 = onnx.MatMul(%x, %w) : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> (tensor<2x3x4xf32>)
  %1 = onnx.Add(%0, %b) : (tensor<2x3x4xf32>, tensor<1x1x4xf32>) -> (tensor<2x3x4xf32>)
  return %1 : tensor<2x3x4xf32>
}

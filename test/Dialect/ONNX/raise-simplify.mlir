// RUN: hh-opt %s --onnx-raise-patterns --split-input-file | FileCheck %s

// Numbers that change nothing.
// CHECK-LABEL: @neutral
// CHECK-NEXT: %[[Y:.*]] = onnx.Relu(%arg0)
// CHECK-NEXT: return %[[Y]]
func.func @neutral(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = onnx.Constant() {value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %one = onnx.Constant() {value = dense<1.0> : tensor<1xf32>} : () -> (tensor<1xf32>)
  %0 = onnx.Add(%zero, %x) : (tensor<f32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %1 = onnx.Mul(%0, %one) : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>)
  %2 = onnx.Relu(%1) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %3 = onnx.Div(%2, %one) : (tensor<2x3xf32>, tensor<1xf32>) -> (tensor<2x3xf32>)
  %4 = onnx.Sub(%3, %zero) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>)
  return %4 : tensor<2x3xf32>
}

// -----

// 0 - x and 1 / x do, and so does a number that broadcasts x.
// CHECK-LABEL: @not_neutral
// CHECK: onnx.Sub
// CHECK: onnx.Div
// CHECK: onnx.Add
func.func @not_neutral(%x: tensor<3xf32>) -> tensor<1x3xf32> {
  %zero = onnx.Constant() {value = dense<0.0> : tensor<1x1xf32>} : () -> (tensor<1x1xf32>)
  %scalar = onnx.Constant() {value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %one = onnx.Constant() {value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Sub(%scalar, %x) : (tensor<f32>, tensor<3xf32>) -> (tensor<3xf32>)
  %1 = onnx.Div(%one, %0) : (tensor<f32>, tensor<3xf32>) -> (tensor<3xf32>)
  %2 = onnx.Add(%1, %zero) : (tensor<3xf32>, tensor<1x1xf32>) -> (tensor<1x3xf32>)
  return %2 : tensor<1x3xf32>
}

// -----

// What conversion from opset 12 leaves of a softmax over the last axis; over two axes it stays.
// CHECK-LABEL: @softmax
// CHECK: %[[S:.*]] = onnx.Softmax(%arg0) {axis = -1 : i64} : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>)
// CHECK: onnx.Flatten(%[[S]]) {axis = 1 : i64}
func.func @softmax(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %shape = onnx.Constant() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  %0 = onnx.Flatten(%x) {axis = 2 : i64} : (tensor<2x3x4xf32>) -> (tensor<6x4xf32>)
  %1 = onnx.Softmax(%0) {axis = -1 : i64} : (tensor<6x4xf32>) -> (tensor<6x4xf32>)
  %2 = onnx.Reshape(%1, %shape) : (tensor<6x4xf32>, tensor<3xi64>) -> (tensor<2x3x4xf32>)
  %3 = onnx.Flatten(%2) {axis = 1 : i64} : (tensor<2x3x4xf32>) -> (tensor<2x12xf32>)
  %4 = onnx.Softmax(%3) {axis = -1 : i64} : (tensor<2x12xf32>) -> (tensor<2x12xf32>)
  %5 = onnx.Reshape(%4, %shape) : (tensor<2x12xf32>, tensor<3xi64>) -> (tensor<2x3x4xf32>)
  return %5 : tensor<2x3x4xf32>
}

// -----

// A Reshape of reshaped values reads the first one, whatever 0 and -1 meant there; Transposes are one.
// CHECK-LABEL: @views
// CHECK: %[[S:.*]] = onnx.Constant() {value = dense<[4, 6]> : tensor<2xi64>}
// CHECK: %[[R:.*]] = onnx.Reshape(%arg0, %[[S]]) : (tensor<2x3x4xf32>, tensor<2xi64>) -> (tensor<4x6xf32>)
// CHECK: %[[T:.*]] = onnx.Transpose(%arg1) {perm = array<i64: 1, 2, 0>}
// CHECK: return %[[R]], %[[T]], %arg0
func.func @views(%x: tensor<2x3x4xf32>, %y: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<3x4x2xf32>, tensor<2x3x4xf32>) {
  %axes = onnx.Constant() {value = dense<0> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %s1 = onnx.Constant() {value = dense<[0, 4, -1]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  %s2 = onnx.Constant() {value = dense<[4, -1]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %0 = onnx.Unsqueeze(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> (tensor<1x2x3x4xf32>)
  %1 = onnx.Reshape(%0, %s1) : (tensor<1x2x3x4xf32>, tensor<3xi64>) -> (tensor<1x4x6xf32>)
  %2 = onnx.Reshape(%1, %s2) : (tensor<1x4x6xf32>, tensor<2xi64>) -> (tensor<4x6xf32>)
  %3 = onnx.Transpose(%y) {perm = array<i64: 2, 1, 0>} : (tensor<2x3x4xf32>) -> (tensor<4x3x2xf32>)
  %4 = onnx.Transpose(%3) {perm = array<i64: 1, 0, 2>} : (tensor<4x3x2xf32>) -> (tensor<3x4x2xf32>)
  %5 = onnx.Transpose(%x) {perm = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> (tensor<3x2x4xf32>)
  %6 = onnx.Transpose(%5) {perm = array<i64: 1, 0, 2>} : (tensor<3x2x4xf32>) -> (tensor<2x3x4xf32>)
  return %2, %4, %6 : tensor<4x6xf32>, tensor<3x4x2xf32>, tensor<2x3x4xf32>
}

// -----

// A size of 0 means itself.
// CHECK-LABEL: @empty
// CHECK: %[[S:.*]] = onnx.Constant() {value = dense<[4, 0]> : tensor<2xi64>}
// CHECK: onnx.Reshape(%arg0, %[[S]]) {allowzero = 1 : i64} : (tensor<3x0xf32>, tensor<2xi64>) -> (tensor<4x0xf32>)
func.func @empty(%x: tensor<3x0xf32>) -> tensor<4x0xf32> {
  %s1 = onnx.Constant() {value = dense<[0, 5]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %s2 = onnx.Constant() {value = dense<[4, 0]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %0 = onnx.Reshape(%x, %s1) {allowzero = 1 : i64} : (tensor<3x0xf32>, tensor<2xi64>) -> (tensor<0x5xf32>)
  %1 = onnx.Reshape(%0, %s2) {allowzero = 1 : i64} : (tensor<0x5xf32>, tensor<2xi64>) -> (tensor<4x0xf32>)
  return %1 : tensor<4x0xf32>
}

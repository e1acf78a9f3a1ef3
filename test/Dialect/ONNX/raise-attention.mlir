// RUN: hh-opt %s --onnx-raise-patterns --split-input-file | FileCheck %s

// torch's exporter: q and k scaled by sqrt(scale), k transposed in three dimensions, a mask, rows without a key as 0.
// CHECK-LABEL: @exported
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x6x16xf32>, %[[K:.*]]: tensor<2x4x6x16xf32>, %[[V:.*]]: tensor<2x4x6x16xf32>, %[[M:.*]]: tensor<2x1x6x6xf32>
// CHECK: %[[Y:.*]] = onnx.Attention(%[[Q]], %[[K]], %[[V]], %[[M]]) {scale = 2.500000e-01 : f32}
// CHECK-NEXT: return %[[Y]]
func.func @exported(%q: tensor<2x4x6x16xf32>, %k: tensor<2x4x6x16xf32>, %v: tensor<2x4x6x16xf32>, %m: tensor<2x1x6x6xf32>) -> tensor<2x4x6x16xf32> {
  %flat = onnx.Constant() {value = dense<[8, 6, 16]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  %full = onnx.Constant() {value = dense<[2, 4, 16, 6]> : tensor<4xi64>} : () -> (tensor<4xi64>)
  %s = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)
  %zero = onnx.Constant() {value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Reshape(%k, %flat) : (tensor<2x4x6x16xf32>, tensor<3xi64>) -> (tensor<8x6x16xf32>)
  %1 = onnx.Transpose(%0) {perm = array<i64: 0, 2, 1>} : (tensor<8x6x16xf32>) -> (tensor<8x16x6xf32>)
  %2 = onnx.Reshape(%1, %full) : (tensor<8x16x6xf32>, tensor<4xi64>) -> (tensor<2x4x16x6xf32>)
  %3 = onnx.Mul(%q, %s) : (tensor<2x4x6x16xf32>, tensor<f32>) -> (tensor<2x4x6x16xf32>)
  %4 = onnx.Mul(%2, %s) : (tensor<2x4x16x6xf32>, tensor<f32>) -> (tensor<2x4x16x6xf32>)
  %5 = onnx.MatMul(%3, %4) : (tensor<2x4x6x16xf32>, tensor<2x4x16x6xf32>) -> (tensor<2x4x6x6xf32>)
  %6 = onnx.Add(%5, %m) : (tensor<2x4x6x6xf32>, tensor<2x1x6x6xf32>) -> (tensor<2x4x6x6xf32>)
  %7 = onnx.Softmax(%6) {axis = -1 : i64} : (tensor<2x4x6x6xf32>) -> (tensor<2x4x6x6xf32>)
  %8 = onnx.IsNaN(%7) : (tensor<2x4x6x6xf32>) -> (tensor<2x4x6x6xi1>)
  %9 = onnx.Where(%8, %zero, %7) : (tensor<2x4x6x6xi1>, tensor<f32>, tensor<2x4x6x6xf32>) -> (tensor<2x4x6x6xf32>)
  %10 = onnx.MatMul(%9, %v) : (tensor<2x4x6x6xf32>, tensor<2x4x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  return %10 : tensor<2x4x6x16xf32>
}

// -----

// The legacy exporter transposes heads and keys in one step; scores divided; axis written from the front.
// CHECK-LABEL: @legacy
// CHECK: %[[K:.*]] = onnx.Transpose(%arg1) {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x16xf32>) -> (tensor<2x4x6x16xf32>)
// CHECK: onnx.Attention(%arg0, %[[K]], %arg2) {scale = 2.500000e-01 : f32}
// CHECK-NEXT: return
func.func @legacy(%q: tensor<2x4x6x16xf32>, %k: tensor<2x6x4x16xf32>, %v: tensor<2x4x6x16xf32>) -> tensor<2x4x6x16xf32> {
  %four = onnx.Constant() {value = dense<4.0> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Transpose(%k) {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x6x4x16xf32>) -> (tensor<2x4x16x6xf32>)
  %1 = onnx.MatMul(%q, %0) : (tensor<2x4x6x16xf32>, tensor<2x4x16x6xf32>) -> (tensor<2x4x6x6xf32>)
  %2 = onnx.Div(%1, %four) : (tensor<2x4x6x6xf32>, tensor<f32>) -> (tensor<2x4x6x6xf32>)
  %3 = onnx.Softmax(%2) {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> (tensor<2x4x6x6xf32>)
  %4 = onnx.MatMul(%3, %v) : (tensor<2x4x6x6xf32>, tensor<2x4x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  return %4 : tensor<2x4x6x16xf32>
}

// -----

// A bool mask, true where a key is hidden; softmax in float32.
// CHECK-LABEL: @bool_mask_half
// CHECK: %[[M:.*]] = onnx.Not(%arg3)
// CHECK: onnx.Attention(%arg0, %{{.*}}, %arg2, %[[M]]) {scale = 1.000000e+00 : f32, softmax_precision = 1 : i64}
// CHECK-NEXT: return
func.func @bool_mask_half(%q: tensor<2x4x6x16xf16>, %k: tensor<2x4x16x7xf16>, %v: tensor<2x4x7x8xf16>, %m: tensor<6x7xi1>) -> tensor<2x4x6x8xf16> {
  %fill = onnx.Constant() {value = dense<0xFC00> : tensor<f16>} : () -> (tensor<f16>)
  %0 = onnx.MatMul(%q, %k) : (tensor<2x4x6x16xf16>, tensor<2x4x16x7xf16>) -> (tensor<2x4x6x7xf16>)
  %1 = onnx.Where(%m, %fill, %0) : (tensor<6x7xi1>, tensor<f16>, tensor<2x4x6x7xf16>) -> (tensor<2x4x6x7xf16>)
  %2 = onnx.Cast(%1) {to = 1 : i64} : (tensor<2x4x6x7xf16>) -> (tensor<2x4x6x7xf32>)
  %3 = onnx.Softmax(%2) {axis = -1 : i64} : (tensor<2x4x6x7xf32>) -> (tensor<2x4x6x7xf32>)
  %4 = onnx.Cast(%3) {to = 10 : i64} : (tensor<2x4x6x7xf32>) -> (tensor<2x4x6x7xf16>)
  %5 = onnx.MatMul(%4, %v) : (tensor<2x4x6x7xf16>, tensor<2x4x7x8xf16>) -> (tensor<2x4x6x8xf16>)
  return %5 : tensor<2x4x6x8xf16>
}

// -----

// A large finite fill becomes a float mask: a row without a key stays even.
// CHECK-LABEL: @finite_mask
// CHECK: %[[M:.*]] = onnx.Where(%arg3, %{{.*}}, %{{.*}}) : (tensor<6x6xi1>, tensor<f32>, tensor<f32>) -> (tensor<6x6xf32>)
// CHECK: onnx.Attention(%arg0, %{{.*}}, %arg2, %[[M]])
func.func @finite_mask(%q: tensor<1x4x6x16xf32>, %k: tensor<1x4x6x16xf32>, %v: tensor<1x4x6x16xf32>, %m: tensor<6x6xi1>) -> tensor<1x4x6x16xf32> {
  %fill = onnx.Constant() {value = dense<-3.40282347E+38> : tensor<f32>} : () -> (tensor<f32>)
  %kt = onnx.Transpose(%k) {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x4x6x16xf32>) -> (tensor<1x4x16x6xf32>)
  %0 = onnx.MatMul(%q, %kt) : (tensor<1x4x6x16xf32>, tensor<1x4x16x6xf32>) -> (tensor<1x4x6x6xf32>)
  %1 = onnx.Where(%m, %0, %fill) : (tensor<6x6xi1>, tensor<1x4x6x6xf32>, tensor<f32>) -> (tensor<1x4x6x6xf32>)
  %2 = onnx.Softmax(%1) {axis = -1 : i64} : (tensor<1x4x6x6xf32>) -> (tensor<1x4x6x6xf32>)
  %3 = onnx.MatMul(%2, %v) : (tensor<1x4x6x6xf32>, tensor<1x4x6x16xf32>) -> (tensor<1x4x6x16xf32>)
  return %3 : tensor<1x4x6x16xf32>
}

// -----

// Two heads of k and v serve four of q: read without the repetition.
// CHECK-LABEL: @grouped
// CHECK: onnx.Attention(%arg0, %arg1, %arg2) {{.*}} : (tensor<1x4x6x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x16xf32>)
// CHECK-NEXT: return
func.func @grouped(%q: tensor<1x4x6x16xf32>, %k: tensor<1x2x6x16xf32>, %v: tensor<1x2x6x16xf32>) -> tensor<1x4x6x16xf32> {
  %axis = onnx.Constant() {value = dense<2> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %wide = onnx.Constant() {value = dense<[1, 2, 2, 6, 16]> : tensor<5xi64>} : () -> (tensor<5xi64>)
  %full = onnx.Constant() {value = dense<[1, 4, 6, 16]> : tensor<4xi64>} : () -> (tensor<4xi64>)
  %k1 = onnx.Unsqueeze(%k, %axis) : (tensor<1x2x6x16xf32>, tensor<1xi64>) -> (tensor<1x2x1x6x16xf32>)
  %k2 = onnx.Expand(%k1, %wide) : (tensor<1x2x1x6x16xf32>, tensor<5xi64>) -> (tensor<1x2x2x6x16xf32>)
  %k3 = onnx.Reshape(%k2, %full) : (tensor<1x2x2x6x16xf32>, tensor<4xi64>) -> (tensor<1x4x6x16xf32>)
  %kt = onnx.Transpose(%k3) {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x4x6x16xf32>) -> (tensor<1x4x16x6xf32>)
  %v1 = onnx.Unsqueeze(%v, %axis) : (tensor<1x2x6x16xf32>, tensor<1xi64>) -> (tensor<1x2x1x6x16xf32>)
  %v2 = onnx.Expand(%v1, %wide) : (tensor<1x2x1x6x16xf32>, tensor<5xi64>) -> (tensor<1x2x2x6x16xf32>)
  %v3 = onnx.Reshape(%v2, %full) : (tensor<1x2x2x6x16xf32>, tensor<4xi64>) -> (tensor<1x4x6x16xf32>)
  %0 = onnx.MatMul(%q, %kt) : (tensor<1x4x6x16xf32>, tensor<1x4x16x6xf32>) -> (tensor<1x4x6x6xf32>)
  %1 = onnx.Softmax(%0) {axis = -1 : i64} : (tensor<1x4x6x6xf32>) -> (tensor<1x4x6x6xf32>)
  %2 = onnx.MatMul(%1, %v3) : (tensor<1x4x6x6xf32>, tensor<1x4x6x16xf32>) -> (tensor<1x4x6x16xf32>)
  return %2 : tensor<1x4x6x16xf32>
}

// -----

// The model gives the weights away too.
// CHECK-LABEL: @no_attention_weights_read
// CHECK-NOT: onnx.Attention
func.func @no_attention_weights_read(%q: tensor<1x4x6x16xf32>, %k: tensor<1x4x16x6xf32>, %v: tensor<1x4x6x16xf32>) -> (tensor<1x4x6x16xf32>, tensor<1x4x6x6xf32>) {
  %0 = onnx.MatMul(%q, %k) : (tensor<1x4x6x16xf32>, tensor<1x4x16x6xf32>) -> (tensor<1x4x6x6xf32>)
  %1 = onnx.Softmax(%0) {axis = -1 : i64} : (tensor<1x4x6x6xf32>) -> (tensor<1x4x6x6xf32>)
  %2 = onnx.MatMul(%1, %v) : (tensor<1x4x6x6xf32>, tensor<1x4x6x16xf32>) -> (tensor<1x4x6x16xf32>)
  return %2, %1 : tensor<1x4x6x16xf32>, tensor<1x4x6x6xf32>
}

// -----

// Softmax over the queries; a fill that a score may exceed; a mask that says nothing for each key.
// CHECK-LABEL: @no_attention_forms
// CHECK-NOT: onnx.Attention
func.func @no_attention_forms(%q: tensor<1x4x6x16xf32>, %k: tensor<1x4x16x6xf32>, %v: tensor<1x4x6x16xf32>, %m: tensor<6x6xi1>, %r: tensor<6x1xf32>) -> (tensor<1x4x6x16xf32>, tensor<1x4x6x16xf32>, tensor<1x4x6x16xf32>) {
  %fill = onnx.Constant() {value = dense<-1.0e+4> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.MatMul(%q, %k) : (tensor<1x4x6x16xf32>, tensor<1x4x16x6xf32>) -> (tensor<1x4x6x6xf32>)
  %1 = onnx.Softmax(%0) {axis = 2 : i64} : (tensor<1x4x6x6xf32>) -> (tensor<1x4x6x6xf32>)
  %2 = onnx.MatMul(%1, %v) : (tensor<1x4x6x6xf32>, tensor<1x4x6x16xf32>) -> (tensor<1x4x6x16xf32>)
  %3 = onnx.MatMul(%q, %k) : (tensor<1x4x6x16xf32>, tensor<1x4x16x6xf32>) -> (tensor<1x4x6x6xf32>)
  %4 = onnx.Where(%m, %3, %fill) : (tensor<6x6xi1>, tensor<1x4x6x6xf32>, tensor<f32>) -> (tensor<1x4x6x6xf32>)
  %5 = onnx.Softmax(%4) {axis = -1 : i64} : (tensor<1x4x6x6xf32>) -> (tensor<1x4x6x6xf32>)
  %6 = onnx.MatMul(%5, %v) : (tensor<1x4x6x6xf32>, tensor<1x4x6x16xf32>) -> (tensor<1x4x6x16xf32>)
  %7 = onnx.MatMul(%q, %k) : (tensor<1x4x6x16xf32>, tensor<1x4x16x6xf32>) -> (tensor<1x4x6x6xf32>)
  %8 = onnx.Add(%7, %r) : (tensor<1x4x6x6xf32>, tensor<6x1xf32>) -> (tensor<1x4x6x6xf32>)
  %9 = onnx.Softmax(%8) {axis = -1 : i64} : (tensor<1x4x6x6xf32>) -> (tensor<1x4x6x6xf32>)
  %10 = onnx.MatMul(%9, %v) : (tensor<1x4x6x6xf32>, tensor<1x4x6x16xf32>) -> (tensor<1x4x6x16xf32>)
  return %2, %6, %10 : tensor<1x4x6x16xf32>, tensor<1x4x6x16xf32>, tensor<1x4x6x16xf32>
}

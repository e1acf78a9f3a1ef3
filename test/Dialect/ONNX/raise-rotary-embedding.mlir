// RUN: hh-opt %s --onnx-raise-patterns --split-input-file | FileCheck %s

// cos and sin of concat(f, f): the halves are made from f, once for each sample.
// CHECK-LABEL: @rotate_half
// CHECK-SAME: %[[X:.*]]: tensor<2x4x6x16xf32>, %[[F:.*]]: tensor<1x6x8xf32>
// CHECK: %[[COS:.*]] = onnx.Cos(%[[F]]) : (tensor<1x6x8xf32>) -> (tensor<1x6x8xf32>)
// CHECK: %[[C:.*]] = onnx.Expand(%[[COS]], %{{.*}}) : (tensor<1x6x8xf32>, tensor<3xi64>) -> (tensor<2x6x8xf32>)
// CHECK: %[[SIN:.*]] = onnx.Sin(%[[F]])
// CHECK: %[[S:.*]] = onnx.Expand(%[[SIN]], %{{.*}})
// CHECK: %[[Y:.*]] = onnx.RotaryEmbedding(%[[X]], %[[C]], %[[S]])
// CHECK-NEXT: return %[[Y]]
func.func @rotate_half(%x: tensor<2x4x6x16xf32>, %f: tensor<1x6x8xf32>) -> tensor<2x4x6x16xf32> {
  %one = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %zero = onnx.Constant() {value = dense<0> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %half = onnx.Constant() {value = dense<8> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %end = onnx.Constant() {value = dense<9223372036854775807> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %axis = onnx.Constant() {value = dense<3> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %0 = onnx.Concat(%f, %f) {axis = -1 : i64} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> (tensor<1x6x16xf32>)
  %1 = onnx.Cos(%0) : (tensor<1x6x16xf32>) -> (tensor<1x6x16xf32>)
  %2 = onnx.Sin(%0) : (tensor<1x6x16xf32>) -> (tensor<1x6x16xf32>)
  %3 = onnx.Unsqueeze(%1, %one) : (tensor<1x6x16xf32>, tensor<1xi64>) -> (tensor<1x1x6x16xf32>)
  %4 = onnx.Unsqueeze(%2, %one) : (tensor<1x6x16xf32>, tensor<1xi64>) -> (tensor<1x1x6x16xf32>)
  %5 = onnx.Mul(%x, %3) : (tensor<2x4x6x16xf32>, tensor<1x1x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  %6 = onnx.Slice(%x, %zero, %half, %axis, %one) : (tensor<2x4x6x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<2x4x6x8xf32>)
  %7 = onnx.Slice(%x, %half, %end, %axis, %one) : (tensor<2x4x6x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<2x4x6x8xf32>)
  %8 = onnx.Neg(%7) : (tensor<2x4x6x8xf32>) -> (tensor<2x4x6x8xf32>)
  %9 = onnx.Concat(%8, %6) {axis = -1 : i64} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> (tensor<2x4x6x16xf32>)
  %10 = onnx.Mul(%9, %4) : (tensor<2x4x6x16xf32>, tensor<1x1x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  %11 = onnx.Add(%5, %10) : (tensor<2x4x6x16xf32>, tensor<2x4x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  return %11 : tensor<2x4x6x16xf32>
}

// -----

// Tables whose halves nobody can see, and halves put together in the other order.
// CHECK-LABEL: @no_rotary
// CHECK-NOT: onnx.RotaryEmbedding
func.func @no_rotary(%x: tensor<2x4x6x16xf32>, %cos: tensor<1x1x6x16xf32>, %sin: tensor<1x1x6x16xf32>, %f: tensor<1x6x8xf32>) -> (tensor<2x4x6x16xf32>, tensor<2x4x6x16xf32>) {
  %one = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %zero = onnx.Constant() {value = dense<0> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %half = onnx.Constant() {value = dense<8> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %end = onnx.Constant() {value = dense<16> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %axis = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %low, %high = onnx.Split(%x) {axis = -1 : i64, num_outputs = 2 : i64} : (tensor<2x4x6x16xf32>) -> (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>)
  %0 = onnx.Neg(%high) : (tensor<2x4x6x8xf32>) -> (tensor<2x4x6x8xf32>)
  %1 = onnx.Concat(%0, %low) {axis = -1 : i64} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> (tensor<2x4x6x16xf32>)
  %2 = onnx.Mul(%x, %cos) : (tensor<2x4x6x16xf32>, tensor<1x1x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  %3 = onnx.Mul(%1, %sin) : (tensor<2x4x6x16xf32>, tensor<1x1x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  %4 = onnx.Add(%2, %3) : (tensor<2x4x6x16xf32>, tensor<2x4x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  %5 = onnx.Concat(%f, %f) {axis = -1 : i64} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> (tensor<1x6x16xf32>)
  %6 = onnx.Cos(%5) : (tensor<1x6x16xf32>) -> (tensor<1x6x16xf32>)
  %7 = onnx.Unsqueeze(%6, %one) : (tensor<1x6x16xf32>, tensor<1xi64>) -> (tensor<1x1x6x16xf32>)
  %8 = onnx.Slice(%x, %zero, %half, %axis, %one) : (tensor<2x4x6x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<2x4x6x8xf32>)
  %9 = onnx.Slice(%x, %half, %end, %axis, %one) : (tensor<2x4x6x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<2x4x6x8xf32>)
  %10 = onnx.Neg(%8) : (tensor<2x4x6x8xf32>) -> (tensor<2x4x6x8xf32>)
  %11 = onnx.Concat(%10, %9) {axis = -1 : i64} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> (tensor<2x4x6x16xf32>)
  %12 = onnx.Mul(%x, %7) : (tensor<2x4x6x16xf32>, tensor<1x1x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  %13 = onnx.Mul(%11, %7) : (tensor<2x4x6x16xf32>, tensor<1x1x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  %14 = onnx.Add(%12, %13) : (tensor<2x4x6x16xf32>, tensor<2x4x6x16xf32>) -> (tensor<2x4x6x16xf32>)
  return %4, %14 : tensor<2x4x6x16xf32>, tensor<2x4x6x16xf32>
}

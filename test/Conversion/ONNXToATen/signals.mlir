// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @spectrum(%x: tensor<2x5x1xf32>) -> tensor<2x3x2xf32> {
  %l = onnx.Constant() {value = dense<4> : tensor<i64>} : () -> (tensor<i64>)
  %y = onnx.DFT(%x, %l) {onesided = 1 : i64} : (tensor<2x5x1xf32>, tensor<i64>) -> (tensor<2x3x2xf32>)
  return %y : tensor<2x3x2xf32>
}
// CHECK-LABEL: @spectrum(
// CHECK: aten.hethub.dft(%{{.*}}) {axis = 1 : i64, inverse = false, length = 4 : i64, onesided = true} : (tensor<2x5x1xf32>) -> (tensor<2x3x2xf32>)

// Windows over the signal are a view.
func.func @frames(%x: tensor<1x16x1xf32>, %w: tensor<8xf32>) -> tensor<1x3x5x2xf32> {
  %step = onnx.Constant() {value = dense<4> : tensor<i64>} : () -> (tensor<i64>)
  %y = onnx.STFT(%x, %step, %w) : (tensor<1x16x1xf32>, tensor<i64>, tensor<8xf32>) -> (tensor<1x3x5x2xf32>)
  return %y : tensor<1x3x5x2xf32>
}
// CHECK-LABEL: @frames(
// CHECK: %[[U:.*]] = aten.unfold(%{{.*}}) {dimension = 1 : i64, size = 8 : i64, step = 4 : i64} : (tensor<1x16x1xf32>) -> (tensor<1x3x1x8xf32>)
// CHECK: %[[T:.*]] = aten.transpose.int(%[[U]])
// CHECK: %[[W:.*]] = aten.reshape(%{{.*}}) {shape = array<i64: 8, 1>}
// CHECK: %[[M:.*]] = aten.mul.Tensor(%[[T]], %[[W]])
// CHECK: aten.hethub.dft(%[[M]]) {axis = 2 : i64, inverse = false, length = 8 : i64, onesided = true}

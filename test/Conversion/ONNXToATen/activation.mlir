// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @activations(%x: tensor<2x4xf32>, %slope: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = onnx.Gelu(%x) {approximate = "tanh"} : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
  %1 = onnx.HardSigmoid(%0) {alpha = 0.166666672 : f32} : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
  %2 = onnx.HardSigmoid(%1) : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
  %3 = onnx.PRelu(%2, %slope) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
  %4 = onnx.Swish(%3) : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
  %5 = onnx.Softmax(%4) : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
  return %5 : tensor<2x4xf32>
}
// CHECK-LABEL: @activations(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.gelu(%[[A]]) {approximate = "tanh"}
// CHECK: %[[V1:.*]] = aten.hardsigmoid(%[[V0]])
// CHECK: %[[V2:.*]] = aten.mul.Scalar(%[[V1]]) {other = 0.20000000298023224 : f64}
// CHECK: %[[V3:.*]] = aten.add.Scalar(%[[V2]]) {other = 5.000000e-01 : f64}
// CHECK: %[[V4:.*]] = aten.clamp(%[[V3]]) {max = 1.000000e+00 : f64, min = 0.000000e+00 : f64}
// CHECK: %[[V5:.*]] = aten.lt.Scalar(%[[V4]]) {other = 0.000000e+00 : f64}
// CHECK: %[[V6:.*]] = aten.mul.Tensor(%[[V4]], %[[B]])
// CHECK: %[[V7:.*]] = aten.where.self(%[[V5]], %[[V6]], %[[V4]])
// CHECK: %[[V8:.*]] = aten.silu(%[[V7]])
// CHECK: %[[V9:.*]] = aten.softmax.int(%[[V8]]) {dim = 1 : i64}
// CHECK: return %[[V9]]

func.func @dropout(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %y, %mask = onnx.Dropout(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>)
  return %y, %mask : tensor<4xf32>, tensor<4xi1>
}
// CHECK-LABEL: @dropout(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.full() {dtype = i1, fill_value = true, size = array<i64: 4>}
// CHECK: return %[[A]], %[[V0]]

func.func @isinf(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = onnx.IsInf(%x) {detect_positive = 0 : i64} : (tensor<4xf32>) -> (tensor<4xi1>)
  return %0 : tensor<4xi1>
}
// CHECK-LABEL: @isinf(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.eq.Scalar(%[[A]]) {other = 0xFFF0000000000000 : f64}
// CHECK: return %[[V0]]

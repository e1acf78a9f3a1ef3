// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @norms(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<4xf32>) -> tensor<2x4x8xf32> {
  %0 = onnx.LayerNormalization(%x, %w, %b) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>)
  %1 = onnx.RMSNormalization(%0, %w) : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>)
  %2 = onnx.GroupNormalization(%1, %c, %c) {num_groups = 2 : i64} : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8xf32>)
  %3 = onnx.InstanceNormalization(%2, %c, %c) : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8xf32>)
  %4 = onnx.BatchNormalization(%3, %c, %c, %c, %c) : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8xf32>)
  return %4 : tensor<2x4x8xf32>
}
// CHECK-LABEL: @norms(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}, %[[D:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.layer_norm(%[[A]], %[[B]], %[[C]]) {eps = 9.9999997473787516E-6 : f64, normalized_shape = array<i64: 8>}
// CHECK: %[[V1:.*]] = aten.rms_norm(%[[V0]], %[[B]]) {eps = 9.9999997473787516E-6 : f64, normalized_shape = array<i64: 8>}
// CHECK: %[[V2:.*]] = aten.group_norm(%[[V1]], %[[D]], %[[D]]) {eps = 9.9999997473787516E-6 : f64, num_groups = 2 : i64}
// CHECK: %[[V3:.*]] = aten.instance_norm(%[[V2]], %[[D]], %[[D]], none, none) {cudnn_enabled = true, eps = 9.9999997473787516E-6 : f64, momentum = 0.000000e+00 : f64, use_input_stats = true}
// CHECK: %[[V4:.*]] = aten.batch_norm(%[[V3]], %[[D]], %[[D]], %[[D]], %[[D]]) {cudnn_enabled = true, eps = 9.9999997473787516E-6 : f64, momentum = 0.000000e+00 : f64, training = false}
// CHECK: return %[[V4]]

func.func @statistics(%x: tensor<2x8xf64>, %w: tensor<8xf64>) -> (tensor<2x8xf64>, tensor<2x1xf32>) {
  %y, %mean = onnx.LayerNormalization(%x, %w) : (tensor<2x8xf64>, tensor<8xf64>) -> (tensor<2x8xf64>, tensor<2x1xf32>)
  return %y, %mean : tensor<2x8xf64>, tensor<2x1xf32>
}
// CHECK-LABEL: @statistics(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.to.dtype(%[[A]]) {dtype = f32}
// CHECK: %[[V1:.*]]:3 = aten.native_layer_norm(%[[V0]], none, none) {eps = 9.9999997473787516E-6 : f64, normalized_shape = array<i64: 8>}
// CHECK: %[[V2:.*]] = aten.to.dtype(%[[V1]]#0) {dtype = f64}
// CHECK: %[[V3:.*]] = aten.mul.Tensor(%[[V2]], %[[B]])
// CHECK: return %[[V3]], %[[V1]]#1

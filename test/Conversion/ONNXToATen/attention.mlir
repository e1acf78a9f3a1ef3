// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @masked(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %m: tensor<2x1x3x5xi1>) -> tensor<2x4x3x8xf32> {
  %0 = onnx.Attention(%q, %k, %k, %m) {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>, tensor<2x1x3x5xi1>) -> (tensor<2x4x3x8xf32>)
  return %0 : tensor<2x4x3x8xf32>
}
// CHECK-LABEL: @masked(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.scaled_dot_product_attention(%[[A]], %[[B]], %[[B]], %[[C]]) {enable_gqa = true, scale = 2.500000e-01 : f64}
// CHECK: return %[[V0]]

func.func @causal(%q: tensor<2x3x16xf32>) -> tensor<2x3x16xf32> {
  %0 = onnx.Attention(%q, %q, %q) {is_causal = 1 : i64, kv_num_heads = 2 : i64, q_num_heads = 2 : i64} : (tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<2x3x16xf32>) -> (tensor<2x3x16xf32>)
  return %0 : tensor<2x3x16xf32>
}
// CHECK-LABEL: @causal(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.reshape(%[[A]]) {shape = array<i64: 2, 3, 2, 8>}
// CHECK: %[[V1:.*]] = aten.transpose.int(%[[V0]]) {dim0 = 1 : i64, dim1 = 2 : i64}
// CHECK: %[[V2:.*]] = aten.reshape(%[[A]]) {shape = array<i64: 2, 3, 2, 8>}
// CHECK: %[[V3:.*]] = aten.transpose.int(%[[V2]]) {dim0 = 1 : i64, dim1 = 2 : i64}
// CHECK: %[[V4:.*]] = aten.reshape(%[[A]]) {shape = array<i64: 2, 3, 2, 8>}
// CHECK: %[[V5:.*]] = aten.transpose.int(%[[V4]]) {dim0 = 1 : i64, dim1 = 2 : i64}
// CHECK: %[[V6:.*]] = aten.scaled_dot_product_attention(%[[V1]], %[[V3]], %[[V5]], none) {is_causal = true, scale = 0.35355339059327373 : f64}
// CHECK: %[[V7:.*]] = aten.transpose.int(%[[V6]]) {dim0 = 1 : i64, dim1 = 2 : i64}
// CHECK: %[[V8:.*]] = aten.reshape(%[[V7]]) {shape = array<i64: 2, 3, 16>}
// CHECK: return %[[V8]]

func.func @cache(%q: tensor<1x2x1x8xf32>, %past: tensor<1x2x4x8xf32>) -> (tensor<1x2x1x8xf32>, tensor<1x2x5x8xf32>) {
  %0, %1, %2 = onnx.Attention(%q, %q, %q, none, %past, %past) {is_causal = 1 : i64} : (tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32>, none, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x1x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>)
  return %0, %1 : tensor<1x2x1x8xf32>, tensor<1x2x5x8xf32>
}
// CHECK-LABEL: @cache(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.cat({{\[}}%[[B]], %[[A]]]) {dim = 2 : i64}
// CHECK: %[[V1:.*]] = aten.cat({{\[}}%[[B]], %[[A]]]) {dim = 2 : i64}
// CHECK: %[[V2:.*]] = aten.full() {dtype = i1, fill_value = true, size = array<i64: 1, 5>}
// CHECK: %[[V3:.*]] = aten.tril(%[[V2]]) {diagonal = 4 : i64}
// CHECK: %[[V4:.*]] = aten.scaled_dot_product_attention(%[[A]], %[[V0]], %[[V1]], %[[V3]]) {scale = 0.35355339059327373 : f64}
// CHECK: return %[[V4]], %[[V0]]

func.func @softcap(%q: tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32> {
  %0 = onnx.Attention(%q, %q, %q) {softcap = 30.0 : f32} : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> (tensor<1x2x3x8xf32>)
  return %0 : tensor<1x2x3x8xf32>
}
// CHECK-LABEL: @softcap(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.transpose.int(%[[A]]) {dim0 = 2 : i64, dim1 = 3 : i64}
// CHECK: %[[V1:.*]] = aten.mul.Scalar(%[[V0]]) {other = 0.59460355750136051 : f64}
// CHECK: %[[V2:.*]] = aten.mul.Scalar(%[[A]]) {other = 0.59460355750136051 : f64}
// CHECK: %[[V3:.*]] = aten.matmul(%[[V2]], %[[V1]])
// CHECK: %[[V4:.*]] = aten.div.Scalar(%[[V3]]) {other = 3.000000e+01 : f64}
// CHECK: %[[V5:.*]] = aten.tanh(%[[V4]])
// CHECK: %[[V6:.*]] = aten.mul.Scalar(%[[V5]]) {other = 3.000000e+01 : f64}
// CHECK: %[[V7:.*]] = aten.softmax.int(%[[V6]]) {dim = 3 : i64}
// CHECK: %[[V8:.*]] = aten.matmul(%[[V7]], %[[A]])
// CHECK: return %[[V8]]

func.func @rotary(%x: tensor<2x4x3x8xf32>, %cos: tensor<1x3x4xf32>, %sin: tensor<1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %0 = onnx.RotaryEmbedding(%x, %cos, %sin) : (tensor<2x4x3x8xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> (tensor<2x4x3x8xf32>)
  return %0 : tensor<2x4x3x8xf32>
}
// CHECK-LABEL: @rotary(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.unsqueeze(%[[B]]) {dim = 1 : i64}
// CHECK: %[[V1:.*]] = aten.unsqueeze(%[[C]]) {dim = 1 : i64}
// CHECK: %[[V2:.*]] = aten.slice.Tensor(%[[A]]) {dim = 3 : i64, end = 4 : i64, start = 0 : i64}
// CHECK: %[[V3:.*]] = aten.slice.Tensor(%[[A]]) {dim = 3 : i64, end = 8 : i64, start = 4 : i64}
// CHECK: %[[V4:.*]] = aten.mul.Tensor(%[[V3]], %[[V1]])
// CHECK: %[[V5:.*]] = aten.mul.Tensor(%[[V2]], %[[V0]])
// CHECK: %[[V6:.*]] = aten.sub.Tensor(%[[V5]], %[[V4]])
// CHECK: %[[V7:.*]] = aten.mul.Tensor(%[[V3]], %[[V0]])
// CHECK: %[[V8:.*]] = aten.mul.Tensor(%[[V2]], %[[V1]])
// CHECK: %[[V9:.*]] = aten.add.Tensor(%[[V8]], %[[V7]])
// CHECK: %[[V10:.*]] = aten.cat({{\[}}%[[V6]], %[[V9]]]) {dim = 3 : i64}
// CHECK: return %[[V10]]

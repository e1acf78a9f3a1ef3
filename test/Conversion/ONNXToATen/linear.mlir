// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @gemm(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>, %v: tensor<4x4xf32>, %b: tensor<4xf32>, %c: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = onnx.Gemm(%x, %w, %b) {transB = 1 : i64} : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
  %1 = onnx.Gemm(%0, %v, %c) {alpha = 2.0 : f32} : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x1xf32>) -> (tensor<2x4xf32>)
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: @gemm(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}, %[[D:.*]]: {{.*}}, %[[E:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.linear(%[[A]], %[[B]], %[[D]])
// CHECK: %[[V1:.*]] = aten.addmm(%[[E]], %[[V0]], %[[C]]) {alpha = 2.000000e+00 : f64, beta = 1.000000e+00 : f64}
// CHECK: return %[[V0]], %[[V1]]

func.func @matmul(%x: tensor<2x3x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x3x4xf32> {
  %0 = onnx.MatMul(%x, %w) : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> (tensor<2x3x4xf32>)
  return %0 : tensor<2x3x4xf32>
}
// CHECK-LABEL: @matmul(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.matmul(%[[A]], %[[B]])
// CHECK: return %[[V0]]

func.func @einsum(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = onnx.Einsum(%x, %y) {equation = "ij,kj->ik"} : (tensor<2x3xf32>, tensor<4x3xf32>) -> (tensor<2x4xf32>)
  return %0 : tensor<2x4xf32>
}
// CHECK-LABEL: @einsum(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.einsum({{\[}}%[[A]], %[[B]]]) {equation = "ij,kj->ik"}
// CHECK: return %[[V0]]

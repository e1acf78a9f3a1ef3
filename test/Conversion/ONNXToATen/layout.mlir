// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @softmax_of_a_view(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  %0 = onnx.Transpose(%x) {perm = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> (tensor<2x4x3xf32>) loc("turn")
  %1 = onnx.Softmax(%0) : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>) loc("softmax")
  return %1 : tensor<2x4x3xf32>
}
// CHECK-LABEL: @softmax_of_a_view(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.permute(%[[A]]) {dims = array<i64: 0, 2, 1>}
// CHECK: %[[V1:.*]] = aten.contiguous(%[[V0]])
// CHECK: %[[V2:.*]] = aten.softmax.int(%[[V1]]) {dim = 2 : i64}
// CHECK: return %[[V2]]

func.func @sum_is_exact_in_any_order(%x: tensor<3x4xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = onnx.Transpose(%x) {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> (tensor<4x3xf32>) loc("turn")
  %1 = onnx.Add(%0, %y) : (tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>) loc("add")
  return %1 : tensor<4x3xf32>
}
// CHECK-LABEL: @sum_is_exact_in_any_order(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.permute(%[[A]]) {dims = array<i64: 1, 0>}
// CHECK: %[[V1:.*]] = aten.add.Tensor(%[[V0]], %[[B]])
// CHECK: return %[[V1]]

func.func @functions_want_the_order_of_memory(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<3x2xf32>) {
  %0 = onnx.Transpose(%x) {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> (tensor<4x3xf32>) loc("turn")
  %1 = onnx.Exp(%0) : (tensor<4x3xf32>) -> (tensor<4x3xf32>) loc("exp")
  %2, %3 = onnx.Split(%x) {axis = 1 : i64, num_outputs = 2 : i64} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) loc("split")
  %4 = onnx.Exp(%3) : (tensor<3x2xf32>) -> (tensor<3x2xf32>) loc("exp_of_part")
  return %1, %4 : tensor<4x3xf32>, tensor<3x2xf32>
}
// CHECK-LABEL: @functions_want_the_order_of_memory(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.permute(%[[A]]) {dims = array<i64: 1, 0>}
// CHECK: %[[V1:.*]] = aten.contiguous(%[[V0]])
// CHECK: %[[V2:.*]] = aten.exp(%[[V1]])
// CHECK: %[[V3:.*]] = aten.slice.Tensor(%[[A]]) {dim = 1 : i64, end = 4 : i64, start = 2 : i64}
// CHECK: %[[V4:.*]] = aten.contiguous(%[[V3]])
// CHECK: %[[V5:.*]] = aten.exp(%[[V4]])
// CHECK: return %[[V2]], %[[V5]]

func.func @own_views_and_first_rows_stay(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %b: tensor<5xf32>) -> tensor<2x5xf32> {
  %0, %1 = onnx.Split(%x) {axis = 0 : i64, num_outputs = 2 : i64} : (tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) loc("split")
  %2 = onnx.Gemm(%1, %w, %b) : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<5xf32>) -> (tensor<2x5xf32>) loc("gemm")
  return %2 : tensor<2x5xf32>
}
// CHECK-LABEL: @own_views_and_first_rows_stay(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.slice.Tensor(%[[A]]) {end = 4 : i64, start = 2 : i64}
// CHECK: %[[V1:.*]] = aten.transpose.int(%[[B]]) {dim0 = 0 : i64, dim1 = 1 : i64}
// CHECK: %[[V2:.*]] = aten.linear(%[[V0]], %[[V1]], %[[C]])
// CHECK: return %[[V2]]

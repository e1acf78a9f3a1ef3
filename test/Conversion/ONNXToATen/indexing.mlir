// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @gathers(%table: tensor<10x4xf32>, %ids: tensor<2x3xi64>, %x: tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x4xf32>, tensor<2x2x4xf32>) {
  %last = onnx.Constant() {value = dense<-1> : tensor<i64>} : () -> (tensor<i64>)
  %pair = onnx.Constant() {value = dense<[0, -2]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %0 = onnx.Gather(%table, %ids) : (tensor<10x4xf32>, tensor<2x3xi64>) -> (tensor<2x3x4xf32>)
  %1 = onnx.Gather(%x, %last) {axis = 1 : i64} : (tensor<2x5x4xf32>, tensor<i64>) -> (tensor<2x4xf32>)
  %2 = onnx.Gather(%x, %pair) {axis = 1 : i64} : (tensor<2x5x4xf32>, tensor<2xi64>) -> (tensor<2x2x4xf32>)
  return %0, %1, %2 : tensor<2x3x4xf32>, tensor<2x4xf32>, tensor<2x2x4xf32>
}
// CHECK-LABEL: @gathers(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.hethub.wrap_index(%[[B]]) {size = 10 : i64}
// CHECK: %[[V1:.*]] = aten.embedding(%[[A]], %[[V0]])
// CHECK: %[[V2:.*]] = aten.select.int(%[[C]]) {dim = 1 : i64, index = 4 : i64}
// CHECK: %[[V3:.*]] = hh.constant dense<[0, 3]> : tensor<2xi64>
// CHECK: %[[V4:.*]] = aten.index_select(%[[C]], %[[V3]]) {dim = 1 : i64}
// CHECK: return %[[V1]], %[[V2]], %[[V4]]

func.func @gather_nd(%x: tensor<2x5x4xf32>, %i: tensor<2x1xi64>) -> tensor<2x4xf32> {
  %0 = onnx.GatherND(%x, %i) {batch_dims = 1 : i64} : (tensor<2x5x4xf32>, tensor<2x1xi64>) -> (tensor<2x4xf32>)
  return %0 : tensor<2x4xf32>
}
// CHECK-LABEL: @gather_nd(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = hh.constant dense<[0, 1]> : tensor<2xi64>
// CHECK: %[[V1:.*]] = aten.select.int(%[[B]]) {dim = 1 : i64, index = 0 : i64}
// CHECK: %[[V2:.*]] = aten.index.Tensor(%[[A]], {{\[}}%[[V0]], %[[V1]]])
// CHECK: return %[[V2]]

func.func @topk(%x: tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %k = onnx.Constant() {value = dense<3> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %0, %1 = onnx.TopK(%x, %k) : (tensor<2x5xf32>, tensor<1xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xi64>
}
// CHECK-LABEL: @topk(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]]:2 = aten.sort.stable(%[[A]]) {descending = true, dim = 1 : i64, stable = true}
// CHECK: %[[V1:.*]] = aten.slice.Tensor(%[[V0]]#0) {dim = 1 : i64, end = 3 : i64, start = 0 : i64}
// CHECK: %[[V2:.*]] = aten.slice.Tensor(%[[V0]]#1) {dim = 1 : i64, end = 3 : i64, start = 0 : i64}
// CHECK: return %[[V1]], %[[V2]]

func.func @scatters(%x: tensor<5x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>, %rows: tensor<2x1xi64>) -> tensor<5x4xf32> {
  %0 = onnx.ScatterElements(%x, %i, %u) : (tensor<5x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> (tensor<5x4xf32>)
  %1 = onnx.ScatterElements(%0, %i, %u) {reduction = "max"} : (tensor<5x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> (tensor<5x4xf32>)
  %2 = onnx.ScatterND(%1, %rows, %u) {reduction = "add"} : (tensor<5x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> (tensor<5x4xf32>)
  %3 = onnx.ScatterND(%2, %rows, %u) {reduction = "mul"} : (tensor<5x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> (tensor<5x4xf32>)
  return %3 : tensor<5x4xf32>
}
// CHECK-LABEL: @scatters(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}, %[[D:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.hethub.wrap_index(%[[B]]) {size = 5 : i64}
// CHECK: %[[V1:.*]] = aten.scatter.src(%[[A]], %[[V0]], %[[C]]) {dim = 0 : i64}
// CHECK: %[[V2:.*]] = aten.hethub.wrap_index(%[[B]]) {size = 5 : i64}
// CHECK: %[[V3:.*]] = aten.scatter_reduce.two(%[[V1]], %[[V2]], %[[C]]) {dim = 0 : i64, reduce = "amax"}
// CHECK: %[[V4:.*]] = aten.select.int(%[[D]]) {dim = 1 : i64, index = 0 : i64}
// CHECK: %[[V5:.*]] = aten.index_put(%[[V3]], {{\[}}%[[V4]]], %[[C]]) {accumulate = true}
// CHECK: %[[V6:.*]] = aten.select.int(%[[D]]) {dim = 1 : i64, index = 0 : i64}
// CHECK: %[[V7:.*]] = aten.hethub.wrap_index(%[[V6]]) {size = 5 : i64}
// CHECK: %[[V8:.*]] = aten.reshape(%[[V7]]) {shape = array<i64: 2, 1>}
// CHECK: %[[V9:.*]] = aten.expand(%[[V8]]) {size = array<i64: 2, 4>}
// CHECK: %[[V10:.*]] = aten.scatter_reduce.two(%[[V5]], %[[V9]], %[[C]]) {dim = 0 : i64, reduce = "prod"}
// CHECK: return %[[V10]]

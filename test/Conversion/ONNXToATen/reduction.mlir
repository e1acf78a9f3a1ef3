// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<2x1x4xf32>, tensor<f32>, tensor<2xf32>, tensor<2x3x4xf32>) {
  %one = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %last = onnx.Constant() {value = dense<[-1, 1]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %0 = onnx.ReduceMean(%x, %one) : (tensor<2x3x4xf32>, tensor<1xi64>) -> (tensor<2x1x4xf32>)
  %1 = onnx.ReduceMax(%x) {keepdims = 0 : i64} : (tensor<2x3x4xf32>) -> (tensor<f32>)
  %2 = onnx.ReduceProd(%x, %last) {keepdims = 0 : i64} : (tensor<2x3x4xf32>, tensor<2xi64>) -> (tensor<2xf32>)
  %3 = onnx.ReduceSumSquare(%x) {noop_with_empty_axes = 1 : i64} : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>)
  return %0, %1, %2, %3 : tensor<2x1x4xf32>, tensor<f32>, tensor<2xf32>, tensor<2x3x4xf32>
}
// CHECK-LABEL: @reductions(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.mean.dim(%[[A]]) {dim = array<i64: 1>, keepdim = true}
// CHECK: %[[V1:.*]] = aten.amax(%[[A]]) {dim = array<i64: 0, 1, 2>}
// CHECK: %[[V2:.*]] = aten.prod.dim_int(%[[A]]) {dim = 2 : i64, dtype = f32}
// CHECK: %[[V3:.*]] = aten.prod.dim_int(%[[V2]]) {dim = 1 : i64, dtype = f32}
// CHECK: %[[V4:.*]] = aten.mul.Tensor(%[[A]], %[[A]])
// CHECK: return %[[V0]], %[[V1]], %[[V3]], %[[V4]]

func.func @small_integers_stay_small(%x: tensor<2x3xi32>) -> tensor<2x1xi32> {
  %one = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %0 = onnx.ReduceSum(%x, %one) : (tensor<2x3xi32>, tensor<1xi64>) -> (tensor<2x1xi32>)
  return %0 : tensor<2x1xi32>
}
// CHECK-LABEL: @small_integers_stay_small(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.sum.dim_IntList(%[[A]]) {dim = array<i64: 1>, dtype = i32, keepdim = true}
// CHECK: return %[[V0]]

func.func @nothing_to_reduce(%x: tensor<2x0xi32>) -> tensor<2x1xi32> {
  %one = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %0 = onnx.ReduceMax(%x, %one) : (tensor<2x0xi32>, tensor<1xi64>) -> (tensor<2x1xi32>)
  return %0 : tensor<2x1xi32>
}
// CHECK-LABEL: @nothing_to_reduce(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = hh.constant dense<-2147483648> : tensor<i32>
// CHECK: %[[V1:.*]] = aten.expand(%[[V0]]) {size = array<i64: 2, 1>}
// CHECK: return %[[V1]]

func.func @last_index(%x: tensor<2x3xf32>) -> tensor<2xi64> {
  %0 = onnx.ArgMax(%x) {axis = 1 : i64, keepdims = 0 : i64, select_last_index = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2xi64>)
  return %0 : tensor<2xi64>
}
// CHECK-LABEL: @last_index(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.flip(%[[A]]) {dims = array<i64: 1>}
// CHECK: %[[V1:.*]] = aten.argmax(%[[V0]]) {dim = 1 : i64}
// CHECK: %[[V2:.*]] = aten.rsub.Scalar(%[[V1]]) {other = 2 : i64}
// CHECK: return %[[V2]]

func.func @exclusive(%x: tensor<5xf32>) -> tensor<5xf32> {
  %axis = onnx.Constant() {value = dense<0> : tensor<i64>} : () -> (tensor<i64>)
  %0 = onnx.CumSum(%x, %axis) {exclusive = 1 : i64} : (tensor<5xf32>, tensor<i64>) -> (tensor<5xf32>)
  return %0 : tensor<5xf32>
}
// CHECK-LABEL: @exclusive(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.constant_pad_nd(%[[A]]) {pad = array<i64: 1, -1>, value = 0.000000e+00 : f64}
// CHECK: %[[V1:.*]] = aten.cumsum(%[[V0]]) {dim = 0 : i64, dtype = f32}
// CHECK: return %[[V1]]

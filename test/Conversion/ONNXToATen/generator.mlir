// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @makers(%i: tensor<3xi64>) -> (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3x4xi64>, tensor<4xi64>) {
  %shape = onnx.Constant() {value = dense<[2, 3]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %depth = onnx.Constant() {value = dense<4> : tensor<i64>} : () -> (tensor<i64>)
  %values = onnx.Constant() {value_floats = array<f32: 0.0, 1.0>} : () -> (tensor<2xf32>)
  %one = onnx.Constant() {value_int = 1 : i64} : () -> (tensor<i64>)
  %five = onnx.Constant() {value = dense<5> : tensor<i64>} : () -> (tensor<i64>)
  %0 = onnx.ConstantOfShape(%shape) : (tensor<2xi64>) -> (tensor<2x3xf32>)
  %1 = onnx.OneHot(%i, %depth, %values) : (tensor<3xi64>, tensor<i64>, tensor<2xf32>) -> (tensor<3x4xf32>)
  %2 = onnx.EyeLike(%1) {dtype = 7 : i64, k = 1 : i64} : (tensor<3x4xf32>) -> (tensor<3x4xi64>)
  %3 = onnx.Range(%one, %five, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<4xi64>)
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<3x4xf32>, tensor<3x4xi64>, tensor<4xi64>
}
// CHECK-LABEL: @makers(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = hh.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK: %[[V1:.*]] = aten.full() {dtype = f32, fill_value = 0.000000e+00 : f64, size = array<i64: 2, 3>}
// CHECK: %[[V2:.*]] = aten.lt.Scalar(%[[A]]) {other = 0 : i64}
// CHECK: %[[V3:.*]] = aten.add.Scalar(%[[A]]) {other = 4 : i64}
// CHECK: %[[V4:.*]] = aten.where.self(%[[V2]], %[[V3]], %[[A]])
// CHECK: %[[V5:.*]] = hh.constant dense<{{\[\[}}0, 1, 2, 3]]> : tensor<1x4xi64>
// CHECK: %[[V6:.*]] = aten.unsqueeze(%[[V4]]) {dim = 1 : i64}
// CHECK: %[[V7:.*]] = aten.eq.Tensor(%[[V6]], %[[V5]])
// CHECK: %[[V8:.*]] = aten.select.int(%[[V0]]) {dim = 0 : i64, index = 0 : i64}
// CHECK: %[[V9:.*]] = aten.select.int(%[[V0]]) {dim = 0 : i64, index = 1 : i64}
// CHECK: %[[V10:.*]] = aten.where.self(%[[V7]], %[[V9]], %[[V8]])
// CHECK: %[[V11:.*]] = aten.eye.m() {dtype = i64, m = 4 : i64, n = 4 : i64}
// CHECK: %[[V12:.*]] = aten.slice.Tensor(%[[V11]]) {end = 4 : i64, start = 1 : i64}
// CHECK: %[[V13:.*]] = aten.arange.start_step() {dtype = i64, end = 5 : i64, start = 1 : i64}
// CHECK: return %[[V1]], %[[V10]], %[[V12]], %[[V13]]

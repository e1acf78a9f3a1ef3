// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @views(%x: tensor<2x6xf32>) -> tensor<3x2x2xf32> {
  %shape = onnx.Constant() {value = dense<[2, 2, -1]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  %0 = onnx.Reshape(%x, %shape) : (tensor<2x6xf32>, tensor<3xi64>) -> (tensor<2x2x3xf32>)
  %1 = onnx.Transpose(%0) {perm = array<i64: 2, 0, 1>} : (tensor<2x2x3xf32>) -> (tensor<3x2x2xf32>)
  return %1 : tensor<3x2x2xf32>
}
// CHECK-LABEL: @views(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.reshape(%[[A]]) {shape = array<i64: 2, 2, 3>}
// CHECK: %[[V1:.*]] = aten.permute(%[[V0]]) {dims = array<i64: 2, 0, 1>}
// CHECK: return %[[V1]]

func.func @slices(%x: tensor<5x8xf32>) -> (tensor<5x3xf32>, tensor<2x8xf32>) {
  %starts = onnx.Constant() {value = dense<-3> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %ends = onnx.Constant() {value = dense<9223372036854775807> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %axes = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %0 = onnx.Slice(%x, %starts, %ends, %axes) : (tensor<5x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<5x3xf32>)
  %from = onnx.Constant() {value = dense<3> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %to = onnx.Constant() {value = dense<0> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %step = onnx.Constant() {value = dense<-2> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %1 = onnx.Slice(%x, %from, %to, none, %step) : (tensor<5x8xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> (tensor<2x8xf32>)
  return %0, %1 : tensor<5x3xf32>, tensor<2x8xf32>
}
// CHECK-LABEL: @slices(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.slice.Tensor(%[[A]]) {dim = 1 : i64, end = 8 : i64, start = 5 : i64}
// CHECK: %[[V1:.*]] = aten.flip(%[[A]]) {dims = array<i64: 0>}
// CHECK: %[[V2:.*]] = aten.slice.Tensor(%[[V1]]) {end = 4 : i64, start = 1 : i64, step = 2 : i64}
// CHECK: return %[[V0]], %[[V2]]

func.func @joins(%x: tensor<2x4xui16>) -> (tensor<2x1xui16>, tensor<2x3xui16>, tensor<2x8xui16>) {
  %sizes = onnx.Constant() {value = dense<[1, 3]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %0, %1 = onnx.Split(%x, %sizes) {axis = 1 : i64} : (tensor<2x4xui16>, tensor<2xi64>) -> (tensor<2x1xui16>, tensor<2x3xui16>)
  %2 = onnx.Concat(%x, %x) {axis = -1 : i64} : (tensor<2x4xui16>, tensor<2x4xui16>) -> (tensor<2x8xui16>)
  return %0, %1, %2 : tensor<2x1xui16>, tensor<2x3xui16>, tensor<2x8xui16>
}
// CHECK-LABEL: @joins(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.slice.Tensor(%[[A]]) {dim = 1 : i64, end = 1 : i64, start = 0 : i64}
// CHECK: %[[V1:.*]] = aten.slice.Tensor(%[[A]]) {dim = 1 : i64, end = 4 : i64, start = 1 : i64}
// CHECK: %[[V2:.*]] = aten.view.dtype(%[[A]]) {dtype = i16}
// CHECK: %[[V3:.*]] = aten.view.dtype(%[[A]]) {dtype = i16}
// CHECK: %[[V4:.*]] = aten.cat({{\[}}%[[V2]], %[[V3]]]) {dim = 1 : i64}
// CHECK: %[[V5:.*]] = aten.view.dtype(%[[V4]]) {dtype = ui16}
// CHECK: return %[[V0]], %[[V1]], %[[V5]]

func.func @shape(%x: tensor<2x4x6xf32>) -> (tensor<2xi64>, tensor<i64>) {
  %0 = onnx.Shape(%x) {start = -2 : i64} : (tensor<2x4x6xf32>) -> (tensor<2xi64>)
  %1 = onnx.Size(%x) : (tensor<2x4x6xf32>) -> (tensor<i64>)
  return %0, %1 : tensor<2xi64>, tensor<i64>
}
// CHECK-LABEL: @shape(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = hh.constant dense<[4, 6]> : tensor<2xi64>
// CHECK: %[[V1:.*]] = hh.constant dense<48> : tensor<i64>
// CHECK: return %[[V0]], %[[V1]]

func.func @pads(%x: tensor<1x2x4xf32>) -> (tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<1x2x9xf32>) {
  %pads = onnx.Constant() {value = dense<[0, 0, 1, 0, 0, 2]> : tensor<6xi64>} : () -> (tensor<6xi64>)
  %wide = onnx.Constant() {value = dense<[0, 0, 0, 0, 0, 5]> : tensor<6xi64>} : () -> (tensor<6xi64>)
  %0 = onnx.Pad(%x, %pads) : (tensor<1x2x4xf32>, tensor<6xi64>) -> (tensor<1x2x7xf32>)
  %1 = onnx.Pad(%x, %pads) {mode = "reflect"} : (tensor<1x2x4xf32>, tensor<6xi64>) -> (tensor<1x2x7xf32>)
  %2 = onnx.Pad(%x, %wide) {mode = "wrap"} : (tensor<1x2x4xf32>, tensor<6xi64>) -> (tensor<1x2x9xf32>)
  return %0, %1, %2 : tensor<1x2x7xf32>, tensor<1x2x7xf32>, tensor<1x2x9xf32>
}
// CHECK-LABEL: @pads(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.constant_pad_nd(%[[A]]) {pad = array<i64: 1, 2>, value = 0.000000e+00 : f64}
// CHECK: %[[V1:.*]] = aten.pad(%[[A]]) {mode = "reflect", pad = array<i64: 1, 2>}
// CHECK: %[[V2:.*]] = hh.constant dense<[0, 1, 2, 3, 0, 1, 2, 3, 0]> : tensor<9xi64>
// CHECK: %[[V3:.*]] = aten.index_select(%[[A]], %[[V2]]) {dim = 2 : i64}
// CHECK: return %[[V0]], %[[V1]], %[[V3]]

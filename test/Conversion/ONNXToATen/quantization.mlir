// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @linear(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %z: tensor<3xi8>) -> (tensor<2x3xi8>, tensor<2x3xf32>) {
  %q = onnx.QuantizeLinear(%x, %s, %z) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xi8>) -> (tensor<2x3xi8>)
  %y = onnx.DequantizeLinear(%q, %s, %z) : (tensor<2x3xi8>, tensor<3xf32>, tensor<3xi8>) -> (tensor<2x3xf32>)
  return %q, %y : tensor<2x3xi8>, tensor<2x3xf32>
}
// CHECK-LABEL: @linear(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.reshape(%[[B]]) {shape = array<i64: 1, 3>}
// CHECK: %[[V1:.*]] = aten.div.Tensor(%[[A]], %[[V0]])
// CHECK: %[[V2:.*]] = aten.reshape(%[[C]]) {shape = array<i64: 1, 3>}
// CHECK: %[[V3:.*]] = aten.round(%[[V1]])
// CHECK: %[[V4:.*]] = aten.to.dtype(%[[V2]]) {dtype = f32}
// CHECK: %[[V5:.*]] = aten.add.Tensor(%[[V3]], %[[V4]])
// CHECK: %[[V6:.*]] = aten.clamp(%[[V5]]) {max = 1.270000e+02 : f64, min = -1.280000e+02 : f64}
// CHECK: %[[V7:.*]] = aten.to.dtype(%[[V6]]) {dtype = i8}
// CHECK: %[[V8:.*]] = aten.to.dtype(%[[V7]]) {dtype = f32}
// CHECK: %[[V9:.*]] = aten.reshape(%[[C]]) {shape = array<i64: 1, 3>}
// CHECK: %[[V10:.*]] = aten.to.dtype(%[[V9]]) {dtype = f32}
// CHECK: %[[V11:.*]] = aten.sub.Tensor(%[[V8]], %[[V10]])
// CHECK: %[[V12:.*]] = aten.reshape(%[[B]]) {shape = array<i64: 1, 3>}
// CHECK: %[[V13:.*]] = aten.mul.Tensor(%[[V11]], %[[V12]])
// CHECK: return %[[V7]], %[[V13]]

func.func @product(%a: tensor<2x3xui8>, %b: tensor<3x4xi8>, %z: tensor<ui8>) -> tensor<2x4xi32> {
  %y = onnx.MatMulInteger(%a, %b, %z) : (tensor<2x3xui8>, tensor<3x4xi8>, tensor<ui8>) -> (tensor<2x4xi32>)
  return %y : tensor<2x4xi32>
}
// CHECK-LABEL: @product(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.to.dtype(%[[B]]) {dtype = f32}
// CHECK: %[[V1:.*]] = aten.to.dtype(%[[A]]) {dtype = f32}
// CHECK: %[[V2:.*]] = aten.to.dtype(%[[C]]) {dtype = f32}
// CHECK: %[[V3:.*]] = aten.sub.Tensor(%[[V1]], %[[V2]])
// CHECK: %[[V4:.*]] = aten.matmul(%[[V3]], %[[V0]])
// CHECK: %[[V5:.*]] = aten.to.dtype(%[[V4]]) {dtype = i32}
// CHECK: return %[[V5]]

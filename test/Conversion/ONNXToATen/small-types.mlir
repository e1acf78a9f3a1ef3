// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

// Values keep their type; numbers of less than a byte are wrapped by hand.
func.func @int4(%x: tensor<3xf32>) -> (tensor<3xi4>, tensor<3xui4>) {
  %a = onnx.Cast(%x) {to = 22 : i64} : (tensor<3xf32>) -> (tensor<3xi4>)
  %b = onnx.Cast(%x) {to = 21 : i64} : (tensor<3xf32>) -> (tensor<3xui4>)
  return %a, %b : tensor<3xi4>, tensor<3xui4>
}
// CHECK-LABEL: @int4(
// CHECK: %[[I:.*]] = aten.to.dtype(%{{.*}}) {dtype = i32}
// CHECK: %[[A:.*]] = aten.add.Scalar(%[[I]]) {other = 8 : i64}
// CHECK: %[[R:.*]] = aten.remainder.Scalar(%[[A]]) {other = 16 : i64}
// CHECK: %[[S:.*]] = aten.sub.Scalar(%[[R]]) {other = 8 : i64}
// CHECK: aten.to.dtype(%[[S]]) {dtype = i4} : (tensor<3xi32>) -> (tensor<3xi4>)
// CHECK: aten.to.dtype(%{{.*}}) {dtype = ui4} : (tensor<3xi32>) -> (tensor<3xui4>)

func.func @float4(%x: tensor<3xf32>) -> tensor<3xf16> {
  %a = onnx.Cast(%x) {to = 23 : i64} : (tensor<3xf32>) -> (tensor<3xf4E2M1FN>)
  %b = onnx.Cast(%a) {to = 10 : i64} : (tensor<3xf4E2M1FN>) -> (tensor<3xf16>)
  return %b : tensor<3xf16>
}
// CHECK-LABEL: @float4(
// CHECK: %[[C:.*]] = aten.hethub.encode_float(%{{.*}}) {format = "f4E2M1FN", round_mode = "up", saturate = true} : (tensor<3xf32>) -> (tensor<3xf4E2M1FN>)
// CHECK: %[[D:.*]] = aten.hethub.decode_float(%[[C]]) {format = "f4E2M1FN"} : (tensor<3xf4E2M1FN>) -> (tensor<3xf32>)
// CHECK: aten.to.dtype(%[[D]]) {dtype = f16}

func.func @dequantize(%x: tensor<2x4xui4>, %s: tensor<2x2xf32>, %z: tensor<2x2xui4>) -> tensor<2x4xf32> {
  %y = onnx.DequantizeLinear(%x, %s, %z) {axis = 1 : i64, block_size = 2 : i64} : (tensor<2x4xui4>, tensor<2x2xf32>, tensor<2x2xui4>) -> (tensor<2x4xf32>)
  return %y : tensor<2x4xf32>
}
// CHECK-LABEL: @dequantize(
// CHECK: aten.to.dtype(%{{.*}}) {dtype = f32} : (tensor<2x4xui4>) -> (tensor<2x4xf32>)
// CHECK: aten.expand(%{{.*}}) {size = array<i64: 2, 2, 2>} : (tensor<2x2x1xui4>) -> (tensor<2x2x2xui4>)

// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @numbers(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %two = onnx.Constant() {value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Add(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  %1 = onnx.Mul(%two, %0) : (tensor<f32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %2 = onnx.Sub(%two, %1) : (tensor<f32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %3 = onnx.Div(%two, %2) : (tensor<f32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %4 = onnx.Pow(%3, %two) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>)
  return %4 : tensor<2x3xf32>
}
// CHECK-LABEL: @numbers(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = hh.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[V1:.*]] = aten.add.Tensor(%[[A]], %[[B]])
// CHECK: %[[V2:.*]] = aten.mul.Scalar(%[[V1]]) {other = 2.000000e+00 : f64}
// CHECK: %[[V3:.*]] = aten.rsub.Scalar(%[[V2]]) {other = 2.000000e+00 : f64}
// CHECK: %[[V4:.*]] = aten.div.Tensor(%[[V0]], %[[V3]])
// CHECK: %[[V5:.*]] = aten.pow.Tensor_Scalar(%[[V4]]) {exponent = 2.000000e+00 : f64}
// CHECK: return %[[V5]]

func.func @scalar_of_higher_rank(%x: tensor<3xf32>) -> tensor<1x1x3xf32> {
  %two = onnx.Constant() {value = dense<2.0> : tensor<1x1x1xf32>} : () -> (tensor<1x1x1xf32>)
  %0 = onnx.Add(%x, %two) : (tensor<3xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x3xf32>)
  return %0 : tensor<1x1x3xf32>
}
// CHECK-LABEL: @scalar_of_higher_rank(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = hh.constant dense<2.000000e+00> : tensor<1x1x1xf32>
// CHECK: %[[V1:.*]] = aten.add.Tensor(%[[A]], %[[V0]])
// CHECK: return %[[V1]]

func.func @integers(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %0 = onnx.Div(%a, %b) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>)
  %1 = onnx.Mod(%0, %b) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>)
  %2 = onnx.Mod(%1, %b) {fmod = 1 : i64} : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>)
  return %2 : tensor<4xi32>
}
// CHECK-LABEL: @integers(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.div.Tensor_mode(%[[A]], %[[B]]) {rounding_mode = "trunc"}
// CHECK: %[[V1:.*]] = aten.remainder.Tensor(%[[V0]], %[[B]])
// CHECK: %[[V2:.*]] = aten.fmod.Tensor(%[[V1]], %[[B]])
// CHECK: return %[[V2]]

func.func @unsigned(%a: tensor<4xui16>, %b: tensor<4xui64>) -> (tensor<4xui16>, tensor<4xui64>, tensor<4xi1>) {
  %0 = onnx.Add(%a, %a) : (tensor<4xui16>, tensor<4xui16>) -> (tensor<4xui16>)
  %1 = onnx.Div(%b, %b) : (tensor<4xui64>, tensor<4xui64>) -> (tensor<4xui64>)
  %2 = onnx.Greater(%b, %1) : (tensor<4xui64>, tensor<4xui64>) -> (tensor<4xi1>)
  return %0, %1, %2 : tensor<4xui16>, tensor<4xui64>, tensor<4xi1>
}
// CHECK-LABEL: @unsigned(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.to.dtype(%[[A]]) {dtype = i32}
// CHECK: %[[V1:.*]] = aten.to.dtype(%[[A]]) {dtype = i32}
// CHECK: %[[V2:.*]] = aten.add.Tensor(%[[V1]], %[[V0]])
// CHECK: %[[V3:.*]] = aten.to.dtype(%[[V2]]) {dtype = ui16}
// CHECK: %[[V4:.*]] = aten.hethub.unsigned_binary(%[[B]], %[[B]]) {operation = "divide"}
// CHECK: %[[V5:.*]] = aten.hethub.unsigned_binary(%[[V4]], %[[B]]) {operation = "less"}
// CHECK: return %[[V3]], %[[V4]], %[[V5]]

func.func @variadic(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = onnx.Max(%a, %b, %a) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  %1 = onnx.Mean(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @variadic(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.maximum(%[[A]], %[[B]])
// CHECK: %[[V1:.*]] = aten.maximum(%[[V0]], %[[A]])
// CHECK: %[[V2:.*]] = aten.add.Tensor(%[[A]], %[[B]])
// CHECK: %[[V3:.*]] = aten.div.Scalar(%[[V2]]) {other = 2.000000e+00 : f64}
// CHECK: return %[[V1]], %[[V3]]

func.func @clip(%x: tensor<4xf32>, %low: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %six = onnx.Constant() {value = dense<6.0> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Clip(%x, none, %six) : (tensor<4xf32>, none, tensor<f32>) -> (tensor<4xf32>)
  %1 = onnx.Clip(%x, %low) : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>)
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @clip(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.clamp(%[[A]]) {max = 6.000000e+00 : f64}
// CHECK: %[[V1:.*]] = aten.clamp.Tensor(%[[A]], %[[B]], none)
// CHECK: return %[[V0]], %[[V1]]

func.func @casts(%x: tensor<4xf32>) -> (tensor<4xi64>, tensor<4xf8E4M3FN>) {
  %0 = onnx.Cast(%x) {to = 7 : i64} : (tensor<4xf32>) -> (tensor<4xi64>)
  %1 = onnx.Cast(%x) {to = 17 : i64} : (tensor<4xf32>) -> (tensor<4xf8E4M3FN>)
  return %0, %1 : tensor<4xi64>, tensor<4xf8E4M3FN>
}
// CHECK-LABEL: @casts(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.to.dtype(%[[A]]) {dtype = i64}
// CHECK: %[[V1:.*]] = aten.clamp(%[[A]]) {max = 4.480000e+02 : f64, min = -4.480000e+02 : f64}
// CHECK: %[[V2:.*]] = aten.to.dtype(%[[V1]]) {dtype = f8E4M3FN}
// CHECK: return %[[V0]], %[[V2]]

// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @skip(%x: tensor<2x4xf32>, %s: tensor<2x4xf32>, %w: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %y, %sum = com_microsoft.SkipSimplifiedLayerNormalization(%x, %s, %w) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, none, none, tensor<2x4xf32>)
  return %y, %sum : tensor<2x4xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: @skip(
// CHECK: %[[S:.*]] = aten.add.Tensor(%{{.*}}, %{{.*}})
// CHECK: %[[Y:.*]] = aten.rms_norm(%[[S]], %{{.*}}) {{{.*}}normalized_shape = array<i64: 4>}
// CHECK: return %[[Y]], %[[S]]

// Codes of four bits, two to a byte.
func.func @bits(%x: tensor<2x32xf32>, %b: tensor<3x2x8xui8>, %s: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %y = com_microsoft.MatMulNBits(%x, %b, %s) {K = 32 : i64, N = 3 : i64, block_size = 16 : i64} : (tensor<2x32xf32>, tensor<3x2x8xui8>, tensor<3x2xf32>) -> (tensor<2x3xf32>)
  return %y : tensor<2x3xf32>
}
// CHECK-LABEL: @bits(
// CHECK: aten.bitwise_and.Tensor
// CHECK: aten.bitwise_right_shift.Tensor
// CHECK: aten.cat([%{{.*}}, %{{.*}}]) {dim = 3 : i64}
// CHECK: aten.linear(%{{.*}}, %{{.*}}, none) : (tensor<2x32xf32>, tensor<3x32xf32>, none) -> (tensor<2x3xf32>)

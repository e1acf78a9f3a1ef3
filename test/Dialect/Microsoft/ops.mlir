// RUN: hh-opt %s | FileCheck %s
// RUN: hh-opt %s | hh-opt | FileCheck %s
// RUN: hh-opt %s --mlir-print-op-generic | hh-opt | FileCheck %s

// CHECK-LABEL: func.func @fused
// CHECK: com_microsoft.FusedMatMul(%{{.*}}, %{{.*}}) {alpha = 5.000000e-01 : f32, transB = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xf32>) -> (tensor<2x4xf32>)
// CHECK: com_microsoft.SkipLayerNormalization(%{{.*}}, %{{.*}}, %{{.*}}, none, %{{.*}}) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, none, tensor<4xf32>) -> (tensor<2x4xf32>, none, none, tensor<2x4xf32>)
func.func @fused(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>, %skip: tensor<2x4xf32>, %w: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %m = com_microsoft.FusedMatMul(%a, %b) {alpha = 0.5 : f32, transB = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xf32>) -> (tensor<2x4xf32>)
  %y, %sum = com_microsoft.SkipLayerNormalization(%m, %skip, %w, none, %w) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, none, tensor<4xf32>) -> (tensor<2x4xf32>, none, none, tensor<2x4xf32>)
  return %y, %sum : tensor<2x4xf32>, tensor<2x4xf32>
}

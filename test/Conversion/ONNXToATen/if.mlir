// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @choice(%c: tensor<1xi1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = onnx.If(%c) : (tensor<1xi1>) -> (tensor<2xf32>) then_branch {
    %1 = onnx.Relu(%x) : (tensor<2xf32>) -> (tensor<2xf32>)
    onnx.Yield %1 : tensor<2xf32>
  } else_branch {
    onnx.Yield %x : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
// CHECK-LABEL: @choice(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.reshape(%[[A]]) {shape = array<i64>}
// CHECK: %[[V1:.*]] = hh.if %[[V0]]
// CHECK: %[[V2:.*]] = aten.relu(%[[B]])
// CHECK: hh.yield %[[V2]] : tensor<2xf32>
// CHECK: } else {
// CHECK: hh.yield %[[B]] : tensor<2xf32>
// CHECK: return %[[V1]]

// RUN: hh-opt %s --hh-differentiate --hh-verify-phase=phase=differentiate | FileCheck %s

// A gradient passes a branch by a branch: the side that was taken is computed again and gone back through, so that
// nothing of the other side is kept. Parameters that a side reads are read outside, where their gradients add up.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4xf32> from "m.onnx" offset 0 length 16
  hh.parameter @v : tensor<4xf32> from "m.onnx" offset 16 length 16
  hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64, onnx.name = "x"}, %c: tensor<i1> {onnx.index = 1 : i64, onnx.name = "c"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4xf32>
    %y = hh.if %c : (tensor<i1>) -> tensor<4xf32> {
      %v = hh.get_parameter @v : tensor<4xf32>
      %a = aten.mul.Tensor(%w, %v) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
      %b = aten.tanh(%a) : (tensor<4xf32>) -> (tensor<4xf32>)
      hh.yield %b : tensor<4xf32>
    } else {
      %b = aten.mul.Tensor(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
      hh.yield %b : tensor<4xf32>
    }
    %loss = aten.sum.dim_IntList(%y) {dim = array<i64: 0>} : (tensor<4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(
// CHECK-SAME: tensor<i1> {hh.saved = 0 : i64}, tensor<4xf32> {hh.saved = 1 : i64})
// CHECK: hh.get_parameter @v
// CHECK: hh.if
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-SAME: -> (tensor<4xf32> {hh.gradient = @w}, tensor<4xf32> {hh.gradient = @v})
// CHECK: %[[G:.*]] = aten.expand
// CHECK: %[[W:.*]] = hh.get_parameter @w
// CHECK: %[[V:.*]] = hh.get_parameter @v
// CHECK: %[[GRADIENTS:.*]]:2 = hh.if %arg0 : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT: %[[A:.*]] = aten.mul.Tensor(%[[W]], %[[V]])
// CHECK-NEXT: %[[B:.*]] = aten.tanh(%[[A]])
// CHECK-NEXT: %[[GA:.*]] = aten.tanh_backward(%[[G]], %[[B]])
// CHECK-NEXT: %[[GW:.*]] = aten.mul.Tensor(%[[GA]], %[[V]])
// CHECK-NEXT: %[[GV:.*]] = aten.mul.Tensor(%[[GA]], %[[W]])
// CHECK-NEXT: hh.yield %[[GW]], %[[GV]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[GW2:.*]] = aten.mul.Tensor(%[[G]], %arg1)
// CHECK-NEXT: %[[ZERO:.*]] = aten.full() {{.*}}fill_value = 0.0
// CHECK-NEXT: hh.yield %[[GW2]], %[[ZERO]]
// CHECK: hh.return %[[GRADIENTS]]#0, %[[GRADIENTS]]#1

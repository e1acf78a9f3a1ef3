// RUN: hh-opt %s --hh-differentiate --hh-verify-phase=phase=differentiate | FileCheck %s
// RUN: hh-opt %s --hh-differentiate=split-weight --hh-verify-phase=phase=differentiate | FileCheck %s --check-prefix=SPLIT

// Only what the stage is given is kept; the backward program begins with what it needs of the forward program. Random
// numbers come from a generator that starts alike in both: all of them are drawn again, in the same order.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<8x4xf32> from "m.onnx" offset 0 length 128
  hh.parameter @state : tensor<3x8xf32> from "m.onnx" offset 128 length 96
  hh.program @stage_0(%x: tensor<3x8xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}, tensor<3x8xf32> {hh.update = @state, onnx.index = 1 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64, hh.recompute} {
    %w = hh.get_parameter @w : tensor<8x4xf32>
    %first, %m1 = aten.native_dropout(%x) {p = 0.5 : f64, train = true} : (tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xi1>)
    %a = aten.mm(%x, %w) : (tensor<3x8xf32>, tensor<8x4xf32>) -> (tensor<3x4xf32>)
    %b, %m2 = aten.native_dropout(%a) {p = 0.25 : f64, train = true} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi1>)
    %d = aten.mul.Tensor(%b, %b) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    %loss = aten.sum.dim_IntList(%d) {dim = array<i64: 0, 1>} : (tensor<3x4xf32>) -> (tensor<f32>)
    hh.return %loss, %first : tensor<f32>, tensor<3x8xf32>
  }
}

// CHECK-LABEL: hh.program @stage_0(%arg0: {{.*}}) -> (tensor<f32> {hh.loss, {{.*}}}, tensor<3x8xf32> {hh.update = @state, onnx.index = 1 : i64}, tensor<3x8xf32> {hh.saved = 0 : i64})
// CHECK: hh.return %{{.*}}, %{{.*}}, %arg0
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-SAME: %[[X:.*]]: tensor<3x8xf32> {hh.saved = 0 : i64}) -> (tensor<8x4xf32> {hh.gradient = @w})
// CHECK: aten.native_dropout(%[[X]]) {p = 5.000000e-01
// CHECK: %[[A:.*]] = aten.mm(%[[X]]
// CHECK: %[[B:.*]]:2 = aten.native_dropout(%[[A]]) {p = 2.500000e-01
// CHECK-NOT: aten.sum
// CHECK: aten.native_dropout_backward(%{{.*}}, %[[B]]#1)

// The weight program reads what the backward program has computed again, and draws nothing.
// SPLIT-LABEL: hh.program @stage_0_backward(
// SPLIT-SAME: -> (tensor<3x4xf32> {hh.saved = 1 : i64})
// SPLIT: aten.native_dropout(
// SPLIT-LABEL: hh.program @stage_0_weight(
// SPLIT-SAME: tensor<3x8xf32> {hh.saved = 0 : i64}
// SPLIT-NOT: aten.native_dropout(

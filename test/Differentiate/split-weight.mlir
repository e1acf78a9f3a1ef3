// RUN: hh-opt %s --hh-differentiate=split-weight --hh-verify-phase=phase=differentiate | FileCheck %s

// Gradients of parameters in programs of their own: the backward program hands over what they read of it. Each is saved
// once, by the program that makes it; parameters and constants are read again.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w1 : tensor<8x4xf32> from "m.onnx" offset 0 length 128
  hh.parameter @w2 : tensor<4x2xf32> from "m.onnx" offset 128 length 32
  hh.program @stage_0(%x: tensor<3x8xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w1 = hh.get_parameter @w1 : tensor<8x4xf32>
    %w2 = hh.get_parameter @w2 : tensor<4x2xf32>
    %a = aten.mm(%x, %w1) : (tensor<3x8xf32>, tensor<8x4xf32>) -> (tensor<3x4xf32>)
    %b = aten.relu(%a) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    %c = aten.mm(%b, %w2) : (tensor<3x4xf32>, tensor<4x2xf32>) -> (tensor<3x2xf32>)
    %d = aten.mul.Tensor(%c, %c) : (tensor<3x2xf32>, tensor<3x2xf32>) -> (tensor<3x2xf32>)
    %loss = aten.sum.dim_IntList(%d) {dim = array<i64: 0, 1>} : (tensor<3x2xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(
// CHECK-SAME: -> (tensor<f32> {hh.loss, {{.*}}}, tensor<3x2xf32> {hh.saved = [[C:[0-9]]] : i64}, tensor<3x4xf32> {hh.saved = [[B:[0-9]]] : i64}, tensor<3x8xf32> {hh.saved = [[X:[0-9]]] : i64})
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-SAME: tensor<3x2xf32> {hh.saved = [[C]] : i64}, %{{.*}}: tensor<3x4xf32> {hh.saved = [[B]] : i64}) -> (tensor<3x2xf32> {hh.saved = [[GC:[0-9]]] : i64}, tensor<3x4xf32> {hh.saved = [[GA:[0-9]]] : i64})
// CHECK: hh.get_parameter @w2
// CHECK-NOT: hh.get_parameter @w1
// CHECK: aten.threshold_backward
// CHECK-NOT: aten.mm
// CHECK-LABEL: hh.program @stage_0_weight(
// CHECK-SAME: -> (tensor<8x4xf32> {hh.gradient = @w1}, tensor<4x2xf32> {hh.gradient = @w2})
// CHECK-SAME: part = "weight"
// CHECK-COUNT-2: aten.mm
// CHECK-NOT: aten.mm

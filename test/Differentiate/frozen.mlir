// RUN: hh-opt %s --hh-differentiate="frozen=encoder.*,*bias" --verify-diagnostics --hh-verify-phase=phase=differentiate | FileCheck %s

// Patterns of names that are not trained. Nothing is sent back to a stage that needs no gradient, which has no backward
// program, and what no gradient reaches is told. Outputs that are not the loss go, with the messages that only they need.

// expected-warning@below {{parameters that no gradient reaches are not trained: lonely}}
module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @encoder.weight : tensor<4xf32> from "m.onnx" offset 0 length 16
  hh.parameter @decoder.weight : tensor<4xf32> from "m.onnx" offset 16 length 16
  hh.parameter @decoder.bias : tensor<4xf32> from "m.onnx" offset 32 length 16
  hh.parameter @lonely : tensor<4xf32> from "m.onnx" offset 48 length 16
  // expected-remark@below {{an output is left out of the training programs: hidden}}
  hh.program @stage_0(%x: tensor<2x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.index = 0 : i64, onnx.name = "hidden"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @encoder.weight : tensor<4xf32>
    %y = aten.mul.Tensor(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    %l = hh.get_parameter @lonely : tensor<4xf32>
    %z = aten.mul.Tensor(%x, %l) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    hh.send %z on 0 to 1 : tensor<2x4xf32>
    hh.send %y on 1 to 1 : tensor<2x4xf32>
    hh.return %y : tensor<2x4xf32>
  }
  // expected-remark@below {{an output is left out of the training programs: other}}
  hh.program @stage_1() -> (tensor<2x4xf32> {onnx.index = 1 : i64, onnx.name = "other"}, tensor<f32> {hh.loss, onnx.index = 2 : i64, onnx.name = "loss"}) attributes {stage = 1 : i64, device = @host, replicas = 1 : i64} {
    %z = hh.recv on 0 from 0 : tensor<2x4xf32>
    %y = hh.recv on 1 from 0 : tensor<2x4xf32>
    %w = hh.get_parameter @decoder.weight : tensor<4xf32>
    %b = hh.get_parameter @decoder.bias : tensor<4xf32>
    %m = aten.mul.Tensor(%y, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    %a = aten.add.Tensor(%m, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    %loss = aten.sum.dim_IntList(%a) {dim = array<i64: 0, 1>} : (tensor<2x4xf32>) -> (tensor<f32>)
    hh.return %z, %loss : tensor<2x4xf32>, tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(
// CHECK-NOT: @lonely
// CHECK: hh.send %{{.*}} on 0 to 1
// CHECK-NOT: hh.send
// CHECK: hh.return{{$}}
// CHECK-NOT: hh.program @stage_0_backward
// CHECK-LABEL: hh.program @stage_1()
// CHECK-SAME: -> (tensor<f32> {hh.loss, onnx.index = 2 : i64, onnx.name = "loss"}, tensor<2x4xf32> {hh.saved = 0 : i64})
// CHECK-LABEL: hh.program @stage_1_backward(
// CHECK-SAME: -> (tensor<4xf32> {hh.gradient = @decoder.weight})
// CHECK-NOT: hh.send

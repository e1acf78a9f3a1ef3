// RUN: %named-hh-opt %s --hh-differentiate | FileCheck %s

// The model's names go on to gradients: calls of the backward pass are called after the node whose gradient they make,
// saved values after themselves, messages after the value whose gradient they carry.

module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<4xf32> from "m.onnx" offset 0 length 16
  hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4xf32>
    %h = aten.mul.Tensor(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>) loc("encoder")
    hh.send %h on 0 to 1 : tensor<4xf32> loc("encoder")
    hh.return
  }
  hh.program @stage_1() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 1 : i64, device = @host, replicas = 1 : i64} {
    %h = hh.recv on 0 from 0 : tensor<4xf32> loc("encoder")
    %y = aten.mul.Tensor(%h, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>) loc("square")
    %loss = aten.sum.dim_IntList(%y) {dim = array<i64: 0>} : (tensor<4xf32>) -> (tensor<f32>) loc("total")
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-SAME: %x: tensor<4xf32> {hh.saved = 0 : i64} loc("x")
// CHECK: %grad_encoder = hh.recv on 1 from 1 {{.*}} loc(#[[GRAD:.*]])
// CHECK: %encoder = aten.mul.Tensor(%grad_encoder, %x)
// CHECK-LABEL: hh.program @stage_1_backward(
// CHECK-SAME: %encoder: tensor<4xf32> {hh.saved = 0 : i64} loc("encoder")
// CHECK: %total{{.*}} = aten.expand
// CHECK: %square = aten.mul.Tensor(%total{{.*}}, %encoder)
// CHECK: hh.send %square{{.*}} on 1 to 0 {{.*}} loc(#[[GRAD]])
// CHECK: #[[GRAD]] = loc("grad encoder")

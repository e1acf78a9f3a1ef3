// RUN: hh-opt %s --split-input-file --hh-differentiate --hh-verify-phase=phase=differentiate | FileCheck %s

// A call whose backward operator needs more than its result becomes the form that gives it: a layer norm its mean and
// deviation, attention on a processor its sums of exponentials. The values of all rules are checked in test_gradients.py.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<8xf32> from "m.onnx" offset 0 length 32
  hh.program @stage_0(%x: tensor<2x1x4x8xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<8xf32>
    %n = aten.layer_norm(%x, %w, none) {normalized_shape = array<i64: 8>} : (tensor<2x1x4x8xf32>, tensor<8xf32>, none) -> (tensor<2x1x4x8xf32>)
    %a = aten.scaled_dot_product_attention(%n, %n, %x, none) {is_causal = true} : (tensor<2x1x4x8xf32>, tensor<2x1x4x8xf32>, tensor<2x1x4x8xf32>, none) -> (tensor<2x1x4x8xf32>)
    %loss = aten.sum.dim_IntList(%a) {dim = array<i64: 0, 1, 2, 3>} : (tensor<2x1x4x8xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(
// CHECK-NOT: aten.layer_norm
// CHECK: %[[N:.*]]:3 = aten.native_layer_norm({{.*}}) -> (tensor<2x1x4x8xf32>, tensor<2x1x4x1xf32>, tensor<2x1x4x1xf32>)
// CHECK-NOT: aten.scaled_dot_product_attention
// CHECK: %[[A:.*]]:2 = aten._scaled_dot_product_flash_attention_for_cpu(%[[N]]#0, %[[N]]#0, %arg0, none) {is_causal = true, scale = {{.*}}} : {{.*}} -> (tensor<2x1x4x8xf32>, tensor<2x1x4xf32>)
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: %[[G:.*]]:3 = aten._scaled_dot_product_flash_attention_for_cpu_backward(
// CHECK: aten.add.Tensor(%[[G]]#{{[01]}}, %[[G]]#{{[01]}})
// CHECK: aten.native_layer_norm_backward({{.*}}output_mask = array<i1: false, true, false>

// -----

// On other devices attention is composed of products and a softmax, whose rules follow.

module {
  hh.device_type @gpu kind "cuda" count 1 memory 1073741824
  hh.parameter @w : tensor<2x1x4x8xf32> from "m.onnx" offset 0 length 256
  hh.program @stage_0(%x: tensor<2x1x4x8xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @gpu, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<2x1x4x8xf32>
    %a = aten.scaled_dot_product_attention(%x, %w, %x, none) : (tensor<2x1x4x8xf32>, tensor<2x1x4x8xf32>, tensor<2x1x4x8xf32>, none) -> (tensor<2x1x4x8xf32>)
    %loss = aten.sum.dim_IntList(%a) {dim = array<i64: 0, 1, 2, 3>} : (tensor<2x1x4x8xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(
// CHECK-NOT: attention
// CHECK: %[[W:.*]] = aten.softmax.int(
// CHECK: aten.matmul(%[[W]], %arg0)
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: aten._softmax_backward_data(

// -----

// A recurrent network becomes its steps.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<5x2xf32> from "m.onnx" offset 0 length 40
  hh.parameter @r : tensor<5x5xf32> from "m.onnx" offset 40 length 100
  hh.program @stage_0(%x: tensor<2x3x2xf32> {onnx.index = 0 : i64, onnx.name = "x"}, %h: tensor<1x3x5xf32> {onnx.index = 1 : i64, onnx.name = "h"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<5x2xf32>
    %r = hh.get_parameter @r : tensor<5x5xf32>
    %y:2 = aten.rnn_tanh.input(%x, %h, [%w, %r]) {has_biases = false, num_layers = 1 : i64, dropout = 0.0 : f64, train = false, bidirectional = false, batch_first = false} : (tensor<2x3x2xf32>, tensor<1x3x5xf32>, [tensor<5x2xf32>, tensor<5x5xf32>]) -> (tensor<2x3x5xf32>, tensor<1x3x5xf32>)
    %loss = aten.sum.dim_IntList(%y#0) {dim = array<i64: 0, 1, 2>} : (tensor<2x3x5xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(
// CHECK-NOT: aten.rnn_tanh
// CHECK: %[[H0:.*]] = aten.tanh(
// CHECK: aten.linear(%[[H0]], %{{.*}}, none)
// CHECK: %[[H1:.*]] = aten.tanh(
// CHECK: aten.stack([%[[H0]], %[[H1]]])
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-COUNT-2: aten.tanh_backward(
// CHECK-NOT: select_backward
// CHECK: aten.cat(

// RUN: hh-opt %s --split-input-file --hh-differentiate --verify-diagnostics

// Forms of a call that its rule cannot differentiate.

// expected-error@below {{1 of 2 operations on the way of gradients cannot be differentiated: aten.batch_norm (1)}}
module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<3xf32> from "m.onnx" offset 0 length 12
  hh.program @stage_0(%x: tensor<2x3x4xf32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<3xf32>
    // expected-error@below {{aten.batch_norm cannot be differentiated: batch norm must not overwrite its running statistics: native_batch_norm gives those of the batch}}
    %y = aten.batch_norm(%x, %w, none, %w, %w) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true} : (tensor<2x3x4xf32>, tensor<3xf32>, none, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>)
    %loss = aten.sum.dim_IntList(%y) {dim = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// -----

// expected-error@below {{2 of 4 operations on the way of gradients cannot be differentiated: aten.scaled_dot_product_attention (1), aten.scatter.src (1)}}
module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<1x1x2x4xf32> from "m.onnx" offset 0 length 32
  hh.program @stage_0(%i: tensor<1x1x2x3xi64> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<1x1x2x4xf32>
    // expected-error@below {{aten.scaled_dot_product_attention cannot be differentiated: attention with dropout has no gradient}}
    %a = aten.scaled_dot_product_attention(%w, %w, %w, none) {dropout_p = 0.5 : f64} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, none) -> (tensor<1x1x2x4xf32>)
    // expected-error@below {{aten.scatter.src cannot be differentiated: src must have the shape of index to have a gradient}}
    %s = aten.scatter.src(%a, %i, %w) {dim = 3 : i64} : (tensor<1x1x2x4xf32>, tensor<1x1x2x3xi64>, tensor<1x1x2x4xf32>) -> (tensor<1x1x2x4xf32>)
    %y = aten.mul.Tensor(%s, %w) : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> (tensor<1x1x2x4xf32>)
    %loss = aten.sum.dim_IntList(%y) {dim = array<i64: 0, 1, 2, 3>} : (tensor<1x1x2x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// -----

// expected-error@below {{1 of 3 operations on the way of gradients cannot be differentiated: aten.native_layer_norm (1)}}
module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<2x4xf32> from "m.onnx" offset 0 length 32
  hh.program @stage_0() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<2x4xf32>
    // expected-error@below {{aten.native_layer_norm cannot be differentiated: its mean and deviation have no gradient}}
    %n:3 = aten.native_layer_norm(%w, none, none) {normalized_shape = array<i64: 4>, eps = 1.0e-05 : f64} : (tensor<2x4xf32>, none, none) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
    %y = aten.mul.Tensor(%n#0, %n#1) : (tensor<2x4xf32>, tensor<2x1xf32>) -> (tensor<2x4xf32>)
    %loss = aten.sum.dim_IntList(%y) {dim = array<i64: 0, 1>} : (tensor<2x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

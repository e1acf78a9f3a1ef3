// RUN: hh-opt %s --split-input-file --hh-differentiate --verify-diagnostics

// All operations that gradients cannot pass are reported at once, those of all stages, and counted by operator.

// expected-error@below {{4 of 6 operations on the way of gradients cannot be differentiated: aten.silu_backward (2), hh.if (2)}}
module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<4x4xf32> from "m.onnx" offset 0 length 64
  hh.program @stage_0(%x: tensor<4x4xf32> {onnx.index = 0 : i64}, %c: tensor<i1> {onnx.index = 1 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4x4xf32>
    // expected-error@below {{hh.if cannot be differentiated: a gradient cannot pass a branch that draws random numbers}}
    %y = hh.if %c : (tensor<i1>) -> tensor<4x4xf32> {
      %d, %m = aten.native_dropout(%w) {p = 0.5 : f64, train = true} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xi1>)
      hh.yield %d : tensor<4x4xf32>
    } else {
      hh.yield %x : tensor<4x4xf32>
    }
    // expected-error@below {{aten.silu_backward cannot be differentiated: this operator has no rule}}
    %b = aten.silu_backward(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    hh.send %b on 0 to 1 : tensor<4x4xf32>
    hh.return
  }
  hh.program @stage_1(%c: tensor<i1> {onnx.index = 1 : i64}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 1 : i64, device = @host, replicas = 1 : i64} {
    %y = hh.recv on 0 from 0 : tensor<4x4xf32>
    %z = aten.mul.Tensor(%y, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    // expected-error@below {{hh.if cannot be differentiated: a gradient cannot pass a branch that draws random numbers}}
    %a = hh.if %c : (tensor<i1>) -> tensor<4x4xf32> {
      %d, %m = aten.native_dropout(%z) {p = 0.5 : f64, train = true} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xi1>)
      hh.yield %d : tensor<4x4xf32>
    } else {
      hh.yield %y : tensor<4x4xf32>
    }
    // expected-error@below {{aten.silu_backward cannot be differentiated: this operator has no rule}}
    %b = aten.silu_backward(%a, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    %loss = aten.sum.dim_IntList(%b) {dim = array<i64: 0, 1>} : (tensor<4x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// -----

// expected-error@below {{1 of 1 operations on the way of gradients cannot be differentiated: hh.start_up (1)}}
module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
  hh.program @stage_0() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    // expected-error@below {{hh.start_up cannot be differentiated: what is computed once, when a program is loaded, must not depend on trained parameters}}
    %w = hh.start_up -> tensor<f32> {
      %v = hh.get_parameter @w : tensor<f32>
      hh.yield %v : tensor<f32>
    }
    hh.return %w : tensor<f32>
  }
}

// -----

// expected-error@below {{one result must be the loss (hh.loss), got none}}
module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
  hh.program @stage_0() -> (tensor<f32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<f32>
    hh.return %w : tensor<f32>
  }
}

// -----

module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<2xf32> from "m.onnx" offset 0 length 8
  // expected-error@below {{the loss must be a scalar float, got: 'tensor<2xf32>'}}
  hh.program @stage_0() -> (tensor<2xf32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<2xf32>
    hh.return %w : tensor<2xf32>
  }
}

// -----

module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
  // expected-error@below {{one result must be the loss, got a second one in stage 0}}
  hh.program @stage_0() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}, tensor<f32> {hh.loss, onnx.index = 1 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<f32>
    hh.return %w, %w : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error@below {{the loss must depend on a parameter that is trained, got none that a gradient reaches}}
module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
  hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<f32>
    %g = aten.gt.Tensor(%w, %x) : (tensor<f32>, tensor<f32>) -> (tensor<i1>)
    %loss = aten.to.dtype(%g) {dtype = f32} : (tensor<i1>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// -----

// expected-error@below {{a parameter must be left to train, got none: the model has none}}
module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<i64> from "m.onnx" offset 0 length 8
  hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<i64>
    hh.return %x : tensor<f32>
  }
}

// -----

module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
  // expected-error@below {{a parameter that the forward pass gives new values must not have a gradient, got: @w}}
  hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}, tensor<f32> {hh.update = @w, onnx.index = 1 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<f32>
    hh.return %w, %x : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  hh.device_type @host kind "cpu" count 2 memory 1073741824
  hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
  // expected-error@below {{programs must not be differentiated twice, got a backward program of stage 0}}
  hh.program @stage_0() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<f32>
    hh.return %w : tensor<f32>
  }
  hh.program @stage_0_backward() attributes {stage = 0 : i64, device = @host, replicas = 1 : i64, part = "backward"} {
    hh.return
  }
}

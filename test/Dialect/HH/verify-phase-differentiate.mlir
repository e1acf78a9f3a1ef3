// RUN: hh-opt %s --split-input-file --hh-verify-phase=phase=differentiate --verify-diagnostics

// expected-error @below {{a stage must have a backward program (hh-differentiate), got none}}
module {
  hh.device_type @d kind "cpu" count 2 memory 100000
  hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
    hh.return
  }
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
  hh.return
}
// expected-error @+1 {{a stage with a weight program must have a backward program, got none for stage 0}}
hh.program @stage_0_weight() attributes {stage = 0 : i64, device = @d, part = "weight"} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
  hh.return
}
hh.program @stage_0_backward() attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}
// expected-error @+1 {{each stage must have one program of a part, got two for stage 0}}
hh.program @again() attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}

// -----

// expected-error @below {{one result must be the loss, got: 0}}
module {
  hh.device_type @d kind "cpu" count 2 memory 100000
  hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
    hh.return
  }
  hh.program @stage_0_backward() attributes {stage = 0 : i64, device = @d, part = "backward"} {
    hh.return
  }
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{results of a forward program must be the loss, new values of parameters or saved values, got '' for result 0}}
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x : tensor<f32>
}
hh.program @stage_0_backward() attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x : tensor<f32>
}
// expected-error @+1 {{arguments of a backward or weight program must be saved values, got 'onnx.index' for argument 0}}
hh.program @stage_0_backward(%x: tensor<f32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x : tensor<f32>
}
// expected-error @+1 {{a slot must be written before it is read, got: slot 0}}
hh.program @stage_0_backward(%x: tensor<f32> {hh.saved = 0 : i64}) -> (tensor<f32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return %x : tensor<f32>
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}, tensor<f32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x, %x : tensor<f32>, tensor<f32>
}
// expected-error @+1 {{a slot must be read as what it was written, 'tensor<f32>', got: slot 0 as 'tensor<1xf32>'}}
hh.program @stage_0_backward(%x: tensor<1xf32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{a slot must be read, got nobody who reads slot 0}}
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}, tensor<f32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x, %x : tensor<f32>, tensor<f32>
}
hh.program @stage_0_backward() attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{a slot must be written once, got a second time: slot 0}}
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}, tensor<f32> {hh.saved = 0 : i64}, tensor<f32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x, %x, %x : tensor<f32>, tensor<f32>, tensor<f32>
}
hh.program @stage_0_backward(%x: tensor<f32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.parameter @w : tensor<2xf32> from "m.onnx" offset 0 length 8
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}, tensor<f32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x, %x : tensor<f32>, tensor<f32>
}
// expected-error @+1 {{gradients and new values must have the type of their parameter, 'tensor<2xf32>', got: 'tensor<f32>' for @w}}
hh.program @stage_0_backward(%x: tensor<f32> {hh.saved = 0 : i64}) -> (tensor<f32> {hh.gradient = @w}) attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return %x : tensor<f32>
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}, tensor<f32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x, %x : tensor<f32>, tensor<f32>
}
hh.program @stage_0_backward(%x: tensor<f32> {hh.saved = 0 : i64}) -> (tensor<f32> {hh.gradient = @w}) attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return %x : tensor<f32>
}
// expected-error @+1 {{a stage must make one gradient or new value of a parameter, got a second one of @w}}
hh.program @stage_0_weight(%x: tensor<f32> {hh.saved = 0 : i64}) -> (tensor<f32> {hh.gradient = @w}) attributes {stage = 0 : i64, device = @d, part = "weight"} {
  hh.return %x : tensor<f32>
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<f32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.send %x on 0 to 1 : tensor<f32>
  hh.return
}
hh.program @stage_0_backward() attributes {stage = 0 : i64, device = @d, part = "backward"} {
  %g = hh.recv on 1 from 1 : tensor<2xf32>
  hh.return
}
hh.program @stage_1() -> (tensor<f32> {hh.loss}) attributes {stage = 1 : i64, device = @d} {
  %x = hh.recv on 0 from 0 : tensor<f32>
  hh.return %x : tensor<f32>
}
hh.program @stage_1_backward() attributes {stage = 1 : i64, device = @d, part = "backward"} {
  %g = hh.constant dense<1.0> : tensor<2xf32>
  // expected-error @+1 {{a gradient must go back on the way of a value of its type, got: 'tensor<2xf32>' from stage 1 to 0}}
  hh.send %g on 1 to 0 : tensor<2xf32>
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
  // expected-error @+1 {{forward programs receive from earlier stages, backward programs from later ones, got: stage 0 from 1}}
  %x = hh.recv on 0 from 1 : tensor<f32>
  hh.return
}
hh.program @stage_0_backward() attributes {stage = 0 : i64, device = @d, part = "backward"} {
  hh.return
}
hh.program @stage_1(%x: tensor<f32> {onnx.index = 0 : i64}) -> (tensor<f32> {hh.loss}) attributes {stage = 1 : i64, device = @d} {
  hh.return %x : tensor<f32>
}
hh.program @stage_1_backward() attributes {stage = 1 : i64, device = @d, part = "backward"} {
  %g = hh.constant dense<1.0> : tensor<f32>
  hh.send %g on 0 to 0 : tensor<f32>
  hh.return
}

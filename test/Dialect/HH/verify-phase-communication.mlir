// RUN: hh-opt %s --split-input-file --hh-verify-phase=phase=communication --verify-diagnostics

func.func @main() {
  // expected-error @-1 {{stages must have become programs, got: func.func}}
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
  hh.return
}
hh.program @stage_1() attributes {stage = 1 : i64, device = @d} {
  // expected-error @+1 {{a channel must have a sender, got none on channel 0}}
  %0 = hh.recv on 0 from 0 : tensor<4xf32>
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  // expected-error @+1 {{a channel must have a receiver, got none on channel 0}}
  hh.send %x on 0 to 1 : tensor<4xf32>
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.send %x on 0 to 1 : tensor<4xf32>
  hh.return
}
hh.program @stage_1() attributes {stage = 1 : i64, device = @d} {
  // expected-error @+1 {{both ends of a channel must have one type, 'tensor<4xf32>' is sent on channel 0, got: 'tensor<5xf32>'}}
  %0 = hh.recv on 0 from 0 : tensor<5xf32>
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{stages must be numbered from 0 without gaps, got: 2}}
hh.program @stage_2() attributes {stage = 2 : i64, device = @d} {
  hh.return
}
hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  // expected-error @+1 {{channels must be numbered from 0 without gaps, got: 1 at place 0}}
  hh.send %x on 1 to 1 : tensor<4xf32>
  hh.return
}
hh.program @stage_1() attributes {stage = 1 : i64, device = @d} {
  %0 = hh.recv on 1 from 0 : tensor<4xf32>
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
  %0 = hh.recv on 0 from 1 : tensor<4xf32>
  hh.return
}
hh.program @stage_1(%x: tensor<4xf32> {onnx.index = 0 : i64}) attributes {stage = 1 : i64, device = @d} {
  // expected-error @+1 {{stages must send to later ones, got: 1 to 0}}
  hh.send %x on 0 to 0 : tensor<4xf32>
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{arguments must be inputs of the model with an onnx.index, got none for argument 0}}
hh.program @stage_0(%x: tensor<4xf32>) attributes {stage = 0 : i64, device = @d} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{an output must be made once, got a second time: output 0}}
hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64})
    -> (tensor<4xf32> {onnx.index = 0 : i64}, tensor<4xf32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  hh.return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{every output must be made, got none for output 0}}
module {
  hh.device_type @d kind "cpu" count 2 memory 100000
  hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
    hh.return
  }
  hh.fingerprint outputs [7] {}
}

// RUN: hh-opt %s --split-input-file --hh-partition="stages=2" --verify-diagnostics

// expected-error @+1 {{module must have a function @main of one block}}
module {
}

// -----

// expected-error @+1 {{module must describe its devices (hh-load-cluster), got: no hh.device_type}}
module {
  func.func @main() {
    return
  }
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{symbolic dimension 'batch' has no size: give --dim batch=N}}
func.func @main(%x: tensor<?x4xf32> {onnx.name = "x", onnx.dims = ["batch", ""]}) {
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{symbolic dimension 'x[0]' has no size: give --dim x[0]=N}}
func.func @main(%x: tensor<?x4xf32> {onnx.name = "x"}) {
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) {
  // expected-error @+1 {{operation must have a cost (hh-annotate-cost): Relu}}
  %a = onnx.Relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) {
  // expected-error @+1 {{no device type of the cluster runs operation: Relu}}
  %a = onnx.Relu(%x) {hh.cost = #hh.cost<flops = 1, moved = 1, kept = 0, parameters = 0, seconds = {}>} : (tensor<4xf32>) -> (tensor<4xf32>) 
  return
}

// -----

hh.device_type @small kind "cpu" count 1 memory 32
hh.device_type @large kind "cpu" count 1 memory 60
// What no reader needs is not in the way.
hh.parameter @unused : tensor<4x400xf32> from "m.bin" tensor "unused"
// expected-error @+1 {{a parameter must fit on one device: 'w' has 64 bytes, the largest device (large) has 60: 4 bytes are missing}}
hh.parameter @w : tensor<4x4xf32> from "m.bin" offset 0 length 64
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) {
  %w = hh.get_parameter @w : tensor<4x4xf32>
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
// expected-error @+1 {{function must not be partitioned already}}
func.func @main() {
  hh.stage 0 on @d () : () -> () {
  }
  return
}

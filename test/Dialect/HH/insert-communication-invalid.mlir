// RUN: hh-opt %s --split-input-file --hh-insert-communication --verify-diagnostics

// expected-error @+1 {{module must have a function @main}}
module {
}

// -----

// expected-error @+1 {{function must be partitioned (hh-partition)}}
func.func @main() {
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main() {
  // expected-error @+1 {{stages must be numbered in their order, 0, got: 1}}
  hh.stage 1 on @d () : () -> () {
  }
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32>) {
  hh.stage 0 on @d () : () -> () {
  }
  // expected-error @+1 {{operations must be in stages, got: onnx.Relu ''}}
  %a = onnx.Relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<*xf32>) {
  %0 = hh.stage 0 on @d (%a = %x) : (tensor<*xf32>) -> tensor<*xf32> {
    hh.yield %a : tensor<*xf32>
  }
  // expected-error @+1 {{a value that crosses stages must be a tensor of numbers and of known rank, got: 'tensor<*xf32>'}}
  hh.stage 1 on @d (%a = %0) : (tensor<*xf32>) -> () {
  }
  return
}

// RUN: hh-opt %s --split-input-file --hh-verify-phase=phase=cost --verify-diagnostics

// expected-error @+1 {{inputs must have static shapes, got: 'tensor<?xf32>' 'x'}}
func.func @main(%x: tensor<?xf32> {onnx.name = "x"}) {
  return
}

// -----

func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) {
  // expected-error @+1 {{operations must have a cost, got none: onnx.Relu}}
  %a = onnx.Relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) {
  // expected-error @+1 {{costs must cover every device type, got none for d: onnx.Relu}}
  %a = onnx.Relu(%x) {hh.cost = #hh.cost<flops = 1, moved = 1, kept = 0, parameters = 0, seconds = {}>} : (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

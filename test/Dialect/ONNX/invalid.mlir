// RUN: hh-opt %s --split-input-file --verify-diagnostics

func.func @wrong_shape(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{Incompatible dimensions for matrix multiplication; operand types: tensor<2x3xf32>, tensor<4x5xf32>}}
  %y = onnx.MatMul(%a, %b) : (tensor<2x3xf32>, tensor<4x5xf32>) -> (tensor<?x?xf32>)
  return
}

// -----

func.func @contradiction(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result 0 must be tensor<2x3xf32> by the operator's rules, got: tensor<2x4xf32>}}
  %y = onnx.Relu(%a) : (tensor<2x3xf32>) -> (tensor<2x4xf32>)
  return
}

// -----

func.func @mixed(%a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error@+1 {{B has inconsistent type tensor(int64)}}
  %y = onnx.Add(%a, %b) : (tensor<2xf32>, tensor<2xi64>) -> (tensor<2xf32>)
  return
}

// -----

func.func @element_count(%a: tensor<6xf32>) {
  %s = onnx.Constant() {value = dense<[4, 2]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  // expected-error@+1 {{must keep the number of elements, 6, got: 8}}
  %y = onnx.Reshape(%a, %s) : (tensor<6xf32>, tensor<2xi64>) -> (tensor<4x2xf32>)
  return
}

// -----

func.func @unknown_attribute(%a: tensor<2xf32>) {
  // expected-error@+1 {{operator has no attribute of this name: "alhpa"}}
  %y = onnx.LeakyRelu(%a) {alhpa = 0.5 : f32} : (tensor<2xf32>) -> (tensor<2xf32>)
  return
}

// -----

// Without a check in the parser MLIR would drop the attribute in silence.
func.func @attribute_kind(%a: tensor<2x2xf32>) {
  // expected-error@+1 {{attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute}}
  %y = onnx.Concat(%a, %a) {axis = 1.0 : f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x4xf32>)
  return
}

// -----

func.func @gap(%a: tensor<2x2xf32>) {
  // expected-error@+1 {{operator has no optional input to leave out}}
  %y = onnx.MatMul(%a, none) : (tensor<2x2xf32>, none) -> (tensor<2x2xf32>)
  return
}

// -----

func.func @branches(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{then_branch and else_branch produce different number of outputs}}
  %y = onnx.If(%c) : (tensor<i1>) -> (tensor<2xf32>) then_branch {
    onnx.Yield %x, %x : tensor<2xf32>, tensor<2xf32>
  } else_branch {
    onnx.Yield %x : tensor<2xf32>
  }
  return
}

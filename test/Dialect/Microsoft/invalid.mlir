// RUN: hh-opt %s --split-input-file --verify-diagnostics

func.func @shape(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x5xf32> {
  // expected-error @+1 {{'com_microsoft.FusedMatMul' op result 0 must be tensor<2x4xf32> by the operator's rules, got: tensor<2x5xf32>}}
  %0 = com_microsoft.FusedMatMul(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> (tensor<2x5xf32>)
  return %0 : tensor<2x5xf32>
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{operator has no attribute of this name: "beta"}}
  %0 = com_microsoft.QuickGelu(%x) {beta = 1.0 : f32} : (tensor<4xf32>) -> (tensor<4xf32>)
  return %0 : tensor<4xf32>
}

// -----

func.func @missing_attribute(%x: tensor<1x4xf32>, %b: tensor<2x1x8xui8>, %s: tensor<2xf32>) -> tensor<1x2xf32> {
  // expected-error @+1 {{requires attribute 'block_size'}}
  %0 = com_microsoft.MatMulNBits(%x, %b, %s) {K = 4 : i64, N = 2 : i64} : (tensor<1x4xf32>, tensor<2x1x8xui8>, tensor<2xf32>) -> (tensor<1x2xf32>)
  return %0 : tensor<1x2xf32>
}

// -----

func.func @element_type(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{operand #0 must be tensor(bfloat16), tensor(double), tensor(float), tensor(float16), but got 'tensor<4xi32>'}}
  %0 = com_microsoft.Gelu(%x) : (tensor<4xi32>) -> (tensor<4xi32>)
  return %0 : tensor<4xi32>
}

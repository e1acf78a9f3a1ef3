// RUN: hh-opt %s --onnx-raise-patterns --split-input-file | FileCheck %s

// The legacy exporter: x * (1 + erf(x / sqrt 2)) * 0.5.
// CHECK-LABEL: @gelu_erf
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>
// CHECK: %[[Y:.*]] = onnx.Gelu(%[[X]]) {approximate = "none"}
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %root2 = onnx.Constant() {value = dense<1.41421354> : tensor<f32>} : () -> (tensor<f32>)
  %one = onnx.Constant() {value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %half = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Div(%x, %root2) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %1 = onnx.Erf(%0) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %2 = onnx.Add(%1, %one) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %3 = onnx.Mul(%x, %2) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %4 = onnx.Mul(%3, %half) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  return %4 : tensor<2x8xf32>
}

// -----

// GPT-2 in torch's exporter: the cube as Pow, the half on the left.
// CHECK-LABEL: @gelu_tanh
// CHECK: onnx.Gelu(%{{.*}}) {approximate = "tanh"}
// CHECK-NEXT: return
func.func @gelu_tanh(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)
  %three = onnx.Constant() {value = dense<3.0> : tensor<f32>} : () -> (tensor<f32>)
  %cubic = onnx.Constant() {value = dense<0.044715> : tensor<f32>} : () -> (tensor<f32>)
  %slope = onnx.Constant() {value = dense<0.797884583> : tensor<f32>} : () -> (tensor<f32>)
  %one = onnx.Constant() {value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Mul(%x, %half) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %1 = onnx.Pow(%x, %three) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %2 = onnx.Mul(%1, %cubic) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %3 = onnx.Add(%x, %2) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %4 = onnx.Mul(%3, %slope) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %5 = onnx.Tanh(%4) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %6 = onnx.Add(%5, %one) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %7 = onnx.Mul(%0, %6) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  return %7 : tensor<2x8xf32>
}

// -----

// TensorFlow: the cube as products, the half inside.
// CHECK-LABEL: @gelu_tanh_products
// CHECK: onnx.Gelu(%{{.*}}) {approximate = "tanh"}
// CHECK-NEXT: return
func.func @gelu_tanh_products(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)
  %cubic = onnx.Constant() {value = dense<0.044715> : tensor<f32>} : () -> (tensor<f32>)
  %slope = onnx.Constant() {value = dense<0.797884583> : tensor<f32>} : () -> (tensor<f32>)
  %one = onnx.Constant() {value = dense<1.0> : tensor<1x1xf32>} : () -> (tensor<1x1xf32>)
  %0 = onnx.Mul(%cubic, %x) : (tensor<f32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %1 = onnx.Mul(%x, %0) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %2 = onnx.Mul(%x, %1) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %3 = onnx.Add(%x, %2) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %4 = onnx.Mul(%slope, %3) : (tensor<f32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %5 = onnx.Tanh(%4) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %6 = onnx.Add(%one, %5) : (tensor<1x1xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %7 = onnx.Mul(%half, %6) : (tensor<f32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %8 = onnx.Mul(%x, %7) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  return %8 : tensor<2x8xf32>
}

// -----

// The wrong slope is no GELU.
// CHECK-LABEL: @no_gelu_other_number
// CHECK-NOT: onnx.Gelu
// CHECK: onnx.Erf
func.func @no_gelu_other_number(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %slope = onnx.Constant() {value = dense<0.7> : tensor<f32>} : () -> (tensor<f32>)
  %one = onnx.Constant() {value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %half = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Mul(%x, %slope) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %1 = onnx.Erf(%0) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %2 = onnx.Add(%1, %one) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %3 = onnx.Mul(%x, %2) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %4 = onnx.Mul(%3, %half) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  return %4 : tensor<2x8xf32>
}

// -----

// Something else reads the error function.
// CHECK-LABEL: @no_gelu_other_reader
// CHECK-NOT: onnx.Gelu
func.func @no_gelu_other_reader(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %root2 = onnx.Constant() {value = dense<1.41421354> : tensor<f32>} : () -> (tensor<f32>)
  %one = onnx.Constant() {value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %half = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Div(%x, %root2) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %1 = onnx.Erf(%0) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %2 = onnx.Add(%1, %one) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %3 = onnx.Mul(%x, %2) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %4 = onnx.Mul(%3, %half) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  return %4, %1 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// CHECK-LABEL: @swish
// CHECK: %[[A:.*]] = onnx.Swish(%{{.*}}) : (tensor<2x8xf32>)
// CHECK: onnx.Swish(%[[A]]) {alpha = 1.702{{.*}} : f32}
// CHECK-NOT: onnx.Sigmoid
func.func @swish(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %slope = onnx.Constant() {value = dense<1.702> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Sigmoid(%x) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %1 = onnx.Mul(%x, %0) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %2 = onnx.Mul(%1, %slope) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %3 = onnx.Sigmoid(%2) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %4 = onnx.Mul(%3, %1) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  return %4 : tensor<2x8xf32>
}

// -----

// A gate that broadcasts (squeeze and excitation) is none, nor is one of another value.
// CHECK-LABEL: @no_swish
// CHECK-NOT: onnx.Swish
func.func @no_swish(%x: tensor<2x8xf32>, %g: tensor<2x1xf32>, %o: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = onnx.Sigmoid(%g) : (tensor<2x1xf32>) -> (tensor<2x1xf32>)
  %1 = onnx.Mul(%x, %0) : (tensor<2x8xf32>, tensor<2x1xf32>) -> (tensor<2x8xf32>)
  %2 = onnx.Sigmoid(%o) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %3 = onnx.Mul(%x, %2) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  return %1, %3 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Paddle: x * clip(x + 3, 0, 6) / 6, and the gate alone.
// CHECK-LABEL: @hard
// CHECK-DAG: onnx.HardSwish(%arg0)
// CHECK-DAG: onnx.HardSigmoid(%arg1) {alpha = 0.1666{{.*}} : f32, beta = 5.000000e-01 : f32}
// CHECK-NOT: onnx.Clip
func.func @hard(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %zero = onnx.Constant() {value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %three = onnx.Constant() {value = dense<3.0> : tensor<1xf32>} : () -> (tensor<1xf32>)
  %six = onnx.Constant() {value = dense<6.0> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Add(%x, %three) : (tensor<2x8xf32>, tensor<1xf32>) -> (tensor<2x8xf32>)
  %1 = onnx.Clip(%0, %zero, %six) : (tensor<2x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x8xf32>)
  %2 = onnx.Mul(%x, %1) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %3 = onnx.Div(%2, %six) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %4 = onnx.Add(%y, %three) : (tensor<2x8xf32>, tensor<1xf32>) -> (tensor<2x8xf32>)
  %5 = onnx.Clip(%4, %zero, %six) : (tensor<2x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x8xf32>)
  %6 = onnx.Div(%5, %six) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  return %3, %6 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// alpha 0.2 is another function.
// CHECK-LABEL: @no_hard_swish
// CHECK: onnx.HardSigmoid
// CHECK-NOT: onnx.HardSwish
func.func @no_hard_swish(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = onnx.HardSigmoid(%x) {alpha = 0.2 : f32, beta = 0.5 : f32} : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
  %1 = onnx.Mul(%x, %0) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
  return %1 : tensor<2x8xf32>
}

// RUN: hh-opt %s --onnx-keep-operation | FileCheck %s

// CHECK-LABEL: @constant
// CHECK: %[[C:.*]] = onnx.Constant()
// CHECK: %[[Y:.*]] = onnx.Identity(%[[C]]) : (tensor<2xi64>) -> (tensor<2xi64>)
// CHECK: return %[[Y]], %[[C]]
func.func @constant() -> (tensor<2xi64>, tensor<2xi64>) {
  %c = onnx.Constant() {value = dense<[1, 2]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  return %c, %c : tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: @input
// CHECK: %[[Y:.*]] = onnx.Identity(%{{.*}}) : (tensor<2xf32>) -> (tensor<2xf32>)
// CHECK: return %[[Y]]
func.func @input(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// CHECK-LABEL: @enough
// CHECK-NOT: onnx.Identity
func.func @enough(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %y = onnx.Relu(%x) : (tensor<2xf32>) -> (tensor<2xf32>)
  return %x, %y : tensor<2xf32>, tensor<2xf32>
}

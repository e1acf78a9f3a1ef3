// RUN: hh-opt %s --cse --canonicalize | FileCheck %s

// Equal pure operations become one and unused ones disappear; two draws of random numbers stay two.
// CHECK-LABEL: func.func @effects
// CHECK-COUNT-1: onnx.Neg
// CHECK-NOT: onnx.Neg
// CHECK-COUNT-2: onnx.RandomNormalLike
// CHECK-NOT: onnx.Abs
func.func @effects(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = onnx.Neg(%x) : (tensor<2xf32>) -> (tensor<2xf32>)
  %b = onnx.Neg(%x) : (tensor<2xf32>) -> (tensor<2xf32>)
  %unused = onnx.Abs(%x) : (tensor<2xf32>) -> (tensor<2xf32>)
  %r = onnx.RandomNormalLike(%a) : (tensor<2xf32>) -> (tensor<2xf32>)
  %s = onnx.RandomNormalLike(%b) : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r, %s : tensor<2xf32>, tensor<2xf32>
}

// RUN: hh-opt %s --onnx-infer-shapes | FileCheck %s

// The function gets the types of what it returns.
// CHECK-LABEL: func.func @matmul(%arg0: tensor<2x32x8xf32>, %arg1: tensor<8x4xf32>) -> tensor<2x32x4xf32>
// CHECK: onnx.MatMul(%arg0, %arg1) : (tensor<2x32x8xf32>, tensor<8x4xf32>) -> (tensor<2x32x4xf32>)
func.func @matmul(%x: tensor<2x32x8xf32>, %w: tensor<8x4xf32>) -> tensor<?x?x4xf32> {
  %y = onnx.MatMul(%x, %w) : (tensor<2x32x8xf32>, tensor<8x4xf32>) -> (tensor<?x?x4xf32>)
  return %y : tensor<?x?x4xf32>
}

// Values of shape arithmetic are followed without folding: 8 is known, the batch is not.
// CHECK-LABEL: func.func @propagated
// CHECK: onnx.Reshape({{.*}}) : (tensor<?x4x2xf32>, tensor<2xi64>) -> (tensor<?x8xf32>)
func.func @propagated(%x: tensor<?x4x2xf32>) -> !onnx.unknown {
  %s = onnx.Shape(%x) {start = 0 : i64, end = 1 : i64} : (tensor<?x4x2xf32>) -> (!onnx.unknown)
  %n = onnx.Constant() {value = dense<8> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %t = onnx.Concat(%s, %n) {axis = 0 : i64} : (!onnx.unknown, tensor<1xi64>) -> (!onnx.unknown)
  %y = onnx.Reshape(%x, %t) : (tensor<?x4x2xf32>, !onnx.unknown) -> (!onnx.unknown)
  return %y : !onnx.unknown
}

// No inference function in the library: the type is that of the input.
// CHECK-LABEL: func.func @supplemented
// CHECK: onnx.GroupNormalization({{.*}}) {num_groups = 2 : i64} : ({{.*}}) -> (tensor<2x4x5xf32>)
func.func @supplemented(%x: tensor<2x4x5xf32>, %s: tensor<4xf32>) -> !onnx.unknown {
  %y = onnx.GroupNormalization(%x, %s, %s) {num_groups = 2 : i64} : (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> (!onnx.unknown)
  return %y : !onnx.unknown
}

// A carried value that keeps its shape keeps it in the result; one that grows becomes dynamic.
// CHECK-LABEL: func.func @loop
// CHECK: onnx.Loop({{.*}}) : (none, tensor<i1>, tensor<2xf32>, tensor<1xf32>) -> (tensor<2xf32>, tensor<?xf32>, tensor<?x2xf32>) body {
func.func @loop(%c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<1xf32>) {
  %r:3 = onnx.Loop(none, %c, %a, %b) : (none, tensor<i1>, tensor<2xf32>, tensor<1xf32>) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown) body {
  ^bb0(%i: !onnx.unknown, %go: !onnx.unknown, %keep: !onnx.unknown, %grow: !onnx.unknown):
    %k = onnx.Neg(%keep) : (!onnx.unknown) -> (!onnx.unknown)
    %g = onnx.Concat(%grow, %b) {axis = 0 : i64} : (!onnx.unknown, tensor<1xf32>) -> (!onnx.unknown)
    onnx.Yield %go, %k, %g, %k : !onnx.unknown, !onnx.unknown, !onnx.unknown, !onnx.unknown
  }
  return
}

// Branches of different rank leave an unranked result.
// CHECK-LABEL: func.func @ranks_differ
// CHECK: onnx.If({{.*}}) : (tensor<i1>) -> (tensor<*xf32>)
func.func @ranks_differ(%c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2x2xf32>) {
  %r = onnx.If(%c) : (tensor<i1>) -> (!onnx.unknown) then_branch {
    onnx.Yield %a : tensor<2xf32>
  } else_branch {
    onnx.Yield %b : tensor<2x2xf32>
  }
  return
}

// RUN: hh-opt %s --onnx-fold-constants --split-input-file | FileCheck %s
// RUN: hh-opt %s --onnx-fold-constants="max-elements=2" --split-input-file | FileCheck %s --check-prefix=LIMIT

// The target shape of a flattening, as exporters write it.
// CHECK-LABEL: func.func @shape_arithmetic
// CHECK-NEXT: %[[T:.*]] = onnx.Constant() {value = dense<[2, -1]> : tensor<2xi64>}
// CHECK-NEXT: onnx.Reshape(%arg0, %[[T]]) : (tensor<2x6x4xf32>, tensor<2xi64>) -> (tensor<2x24xf32>)
func.func @shape_arithmetic(%x: tensor<2x6x4xf32>) -> tensor<?x?xf32> {
  %zero = onnx.Constant() {value = dense<0> : tensor<i64>} : () -> (tensor<i64>)
  %front = onnx.Constant() {value = dense<0> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %rest = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %s = onnx.Shape(%x) : (tensor<2x6x4xf32>) -> (tensor<3xi64>)
  %b = onnx.Gather(%s, %zero) : (tensor<3xi64>, tensor<i64>) -> (tensor<i64>)
  %b1 = onnx.Unsqueeze(%b, %front) : (tensor<i64>, tensor<1xi64>) -> (tensor<1xi64>)
  %t = onnx.Concat(%b1, %rest) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> (tensor<2xi64>)
  %y = onnx.Reshape(%x, %t) : (tensor<2x6x4xf32>, tensor<2xi64>) -> (tensor<?x?xf32>)
  return %y : tensor<?x?xf32>
}

// -----

// Results beyond the limit are not made, and nothing is allocated for them.
// CHECK-LABEL: func.func @limit
// CHECK: onnx.ConstantOfShape(%{{.*}}) : (tensor<2xi64>) -> (tensor<4096x4096xf32>)
// CHECK: onnx.Constant() {value = dense<[0, 1, 2, 3]> : tensor<4xi64>}
// LIMIT-LABEL: func.func @limit
// LIMIT: onnx.Range
func.func @limit() -> (tensor<4096x4096xf32>, tensor<?xi64>) {
  %s = onnx.Constant() {value = dense<4096> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %big = onnx.ConstantOfShape(%s) : (tensor<2xi64>) -> (tensor<4096x4096xf32>)
  %a = onnx.Constant() {value = dense<0> : tensor<i64>} : () -> (tensor<i64>)
  %b = onnx.Constant() {value = dense<4> : tensor<i64>} : () -> (tensor<i64>)
  %c = onnx.Constant() {value = dense<1> : tensor<i64>} : () -> (tensor<i64>)
  %r = onnx.Range(%a, %b, %c) : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<?xi64>)
  return %big, %r : tensor<4096x4096xf32>, tensor<?xi64>
}

// -----

// A parameter is not read: what is computed from weights stays.
// CHECK-LABEL: func.func @parameters
// CHECK: onnx.Transpose
hh.parameter @w : tensor<2x3xf32> from "model.onnx" offset 0 length 24
func.func @parameters() -> tensor<3x2xf32> {
  %w = hh.get_parameter @w : tensor<2x3xf32>
  %t = onnx.Transpose(%w) : (tensor<2x3xf32>) -> (tensor<3x2xf32>)
  return %t : tensor<3x2xf32>
}

// -----

// The branch of a constant condition takes the place of the If, here twice.
// CHECK-LABEL: func.func @branch
// CHECK-NEXT: %[[Y:.*]] = onnx.Neg(%arg0) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @branch(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %n = onnx.Size(%x) : (tensor<2x3xf32>) -> (tensor<i64>)
  %six = onnx.Constant() {value = dense<6> : tensor<i64>} : () -> (tensor<i64>)
  %c = onnx.Equal(%n, %six) : (tensor<i64>, tensor<i64>) -> (tensor<i1>)
  %y = onnx.If(%c) : (tensor<i1>) -> (tensor<*xf32>) then_branch {
    %less = onnx.Less(%n, %six) : (tensor<i64>, tensor<i64>) -> (tensor<i1>)
    %inner = onnx.If(%less) : (tensor<i1>) -> (tensor<2x3xf32>) then_branch {
      onnx.Yield %x : tensor<2x3xf32>
    } else_branch {
      %a = onnx.Neg(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
      onnx.Yield %a : tensor<2x3xf32>
    }
    onnx.Yield %inner : tensor<2x3xf32>
  } else_branch {
    %s = onnx.Squeeze(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    onnx.Yield %s : tensor<2x3xf32>
  }
  return %y : tensor<*xf32>
}

// -----

// Operations that do nothing; a Dropout that trains does something.
// CHECK-LABEL: func.func @nothing_to_do
// CHECK-NEXT: onnx.Constant() {value = dense<true>
// CHECK-NEXT: %[[D:.*]] = onnx.Dropout(%arg0, none, %{{.*}})
// CHECK-NEXT: return %arg0, %[[D]]
func.func @nothing_to_do(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = onnx.Identity(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %b = onnx.Dropout(%a) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %c = onnx.Cast(%b) {to = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %d = onnx.Transpose(%c) {perm = array<i64: 0, 1>} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %e = onnx.Concat(%d) {axis = 0 : i64} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %yes = onnx.Constant() {value = dense<true> : tensor<i1>} : () -> (tensor<i1>)
  %f = onnx.Dropout(%x, none, %yes) : (tensor<2x3xf32>, none, tensor<i1>) -> (tensor<2x3xf32>)
  return %e, %f : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Division of integers cuts towards zero; Mod takes the sign of the divisor, with fmod that of the dividend.
// CHECK-LABEL: func.func @integers
// CHECK-DAG: dense<[-2, 2]> : tensor<2xi64>
// CHECK-DAG: dense<[1, -1]> : tensor<2xi64>
// CHECK-DAG: dense<[-1, 1]> : tensor<2xi64>
// CHECK-NOT: onnx.Div
func.func @integers() -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) {
  %a = onnx.Constant() {value = dense<[-7, 7]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %b = onnx.Constant() {value = dense<[3, 3]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %c = onnx.Constant() {value = dense<[2, -2]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %d = onnx.Div(%a, %b) : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>)
  %m = onnx.Mod(%a, %c) : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>)
  %f = onnx.Mod(%a, %c) {fmod = 1 : i64} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>)
  return %d, %m, %f : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>
}

// -----

// Slices may be empty or run backwards; a start beyond the end gives no element, never a negative number of them.
// CHECK-LABEL: func.func @slices
// CHECK-DAG: dense<[4, 2]> : tensor<2xi64>
// CHECK-DAG: dense<> : tensor<0xi64>
func.func @slices() -> (tensor<?xi64>, tensor<?xi64>) {
  %x = onnx.Constant() {value = dense<[1, 2, 3, 4]> : tensor<4xi64>} : () -> (tensor<4xi64>)
  %m1 = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %low = onnx.Constant() {value = dense<-9223372036854775807> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %zero = onnx.Constant() {value = dense<0> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %m2 = onnx.Constant() {value = dense<-2> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %back = onnx.Slice(%x, %m1, %low, %zero, %m2) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<?xi64>)
  %none = onnx.Slice(%x, %m1, %zero) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<?xi64>)
  return %back, %none : tensor<?xi64>, tensor<?xi64>
}

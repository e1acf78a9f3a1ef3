// RUN: hh-opt %s | hh-opt | FileCheck %s
// RUN: hh-opt %s --mlir-print-op-generic | hh-opt | FileCheck %s
// RUN: hh-opt %s --emit-bytecode | hh-opt | FileCheck %s

// CHECK-LABEL: func.func @gaps
// CHECK: onnx.Clip(%{{.*}}, none, %{{.*}}) : (tensor<2x3xf32>, none, tensor<f32>) -> (tensor<2x3xf32>)
func.func @gaps(%x: tensor<2x3xf32>, %high: tensor<f32>) -> tensor<2x3xf32> {
  %y = onnx.Clip(%x, none, %high) : (tensor<2x3xf32>, none, tensor<f32>) -> (tensor<2x3xf32>)
  return %y : tensor<2x3xf32>
}

// Trailing gaps are left out, results that are not made are `none` in between.
// CHECK-LABEL: func.func @result_gaps
// CHECK: onnx.Unique(%{{.*}}) : (tensor<6xf32>) -> (tensor<?xf32>, none, none, tensor<?xi64>)
func.func @result_gaps(%x: tensor<6xf32>) -> tensor<?xi64> {
  %v, %n = onnx.Unique(%x) : (tensor<6xf32>) -> (tensor<?xf32>, none, none, tensor<?xi64>)
  return %n : tensor<?xi64>
}

// CHECK-LABEL: func.func @types
// CHECK-SAME: !onnx.seq<tensor<?xf32>>
// CHECK-SAME: !onnx.opt<tensor<2xi64>>
// CHECK-SAME: !onnx.map<i64, tensor<f32>>
// CHECK-SAME: tensor<2x!onnx.string>
func.func @types(%s: !onnx.seq<tensor<?xf32>>, %o: !onnx.opt<tensor<2xi64>>, %m: !onnx.map<i64, tensor<f32>>,
                 %t: tensor<2x!onnx.string>, %u: !onnx.unknown) {
  // An operand of unknown type is not checked.
  // CHECK: onnx.Add(%{{.*}}, %{{.*}}) : (!onnx.unknown, !onnx.unknown) -> (!onnx.unknown)
  %a = onnx.Add(%u, %u) : (!onnx.unknown, !onnx.unknown) -> (!onnx.unknown)
  // CHECK: onnx.SequenceLength(%{{.*}}) : (!onnx.seq<tensor<?xf32>>) -> (tensor<i64>)
  %n = onnx.SequenceLength(%s) : (!onnx.seq<tensor<?xf32>>) -> (tensor<i64>)
  return
}

// CHECK-LABEL: func.func @regions
// CHECK: onnx.If(%{{.*}}) : (tensor<i1>) -> (tensor<2xf32>) then_branch {
// CHECK: onnx.Yield %{{.*}} : tensor<2xf32>
// CHECK: } else_branch {
func.func @regions(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %y = onnx.If(%c) : (tensor<i1>) -> (tensor<2xf32>) then_branch {
    %a = onnx.Neg(%x) : (tensor<2xf32>) -> (tensor<2xf32>)
    onnx.Yield %a : tensor<2xf32>
  } else_branch {
    onnx.Yield %x : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}

// CHECK-LABEL: func.func @other_domains
// CHECK: onnx.ml.Normalizer(%{{.*}}) {norm = "L2"}
// CHECK: onnx.Custom "com.example" "FastGelu"(%{{.*}}) {} : (tensor<2x4xf32>) -> tensor<2x4xf32>
func.func @other_domains(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %n = onnx.ml.Normalizer(%x) {norm = "L2"} : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
  %y = onnx.Custom "com.example" "FastGelu"(%n) {} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

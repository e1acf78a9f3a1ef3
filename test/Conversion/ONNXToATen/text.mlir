// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

// CHECK-LABEL: @text(
// CHECK: %[[A:.*]] = aten.hethub.string_concat(%{{.*}}, %{{.*}}) : (tensor<2x!onnx.string>, tensor<!onnx.string>) -> (tensor<2x!onnx.string>)
// CHECK: %[[M:.*]] = aten.hethub.regex_full_match(%[[A]]) {pattern = "a+"} : (tensor<2x!onnx.string>) -> (tensor<2xi1>)
func.func @text(%x: tensor<2x!onnx.string>, %y: tensor<!onnx.string>) -> tensor<2xi1> {
  %0 = onnx.StringConcat(%x, %y) : (tensor<2x!onnx.string>, tensor<!onnx.string>) -> (tensor<2x!onnx.string>)
  %1 = onnx.RegexFullMatch(%0) {pattern = "a+"} : (tensor<2x!onnx.string>) -> (tensor<2xi1>)
  return %1 : tensor<2xi1>
}

// CHECK-LABEL: @optional(
// CHECK: %[[HAS:.*]] = aten.hethub.optional_has_element(%{{.*}}) : (!onnx.opt<tensor<2xf32>>) -> (tensor<i1>)
// CHECK: %[[GOT:.*]] = aten.hethub.optional_get_element(%{{.*}}) : (!onnx.opt<tensor<2xf32>>) -> (tensor<2xf32>)
func.func @optional(%x: !onnx.opt<tensor<2xf32>>) -> (tensor<i1>, tensor<2xf32>) {
  %0 = onnx.OptionalHasElement(%x) : (!onnx.opt<tensor<2xf32>>) -> (tensor<i1>)
  %1 = onnx.OptionalGetElement(%x) : (!onnx.opt<tensor<2xf32>>) -> (tensor<2xf32>)
  return %0, %1 : tensor<i1>, tensor<2xf32>
}

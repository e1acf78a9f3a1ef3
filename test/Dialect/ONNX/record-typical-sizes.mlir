// RUN: hh-opt %s --onnx-record-typical-sizes="dims=batch=8" | FileCheck %s
// RUN: not hh-opt %s --onnx-record-typical-sizes="dims=rows=8" 2>&1 | FileCheck %s --check-prefix=NAME

// Types stay open; what they typically are stands beside them, folded shape arithmetic included.
// CHECK: func.func @main(%[[X:.*]]: tensor<?x6xf32> {hh.typical_type = tensor<8x6xf32>
// CHECK: onnx.Shape(%[[X]]) : (tensor<?x6xf32>) -> (tensor<2xi64>)
// CHECK: onnx.Reshape({{.*}}) {hh.typical_types = [tensor<8x6x1xf32>]} : {{.*}} -> (tensor<?x?x?xf32>)
// CHECK-NOT: module
// NAME: error: no dim of the inputs has this name: 'rows'; there are: batch
func.func @main(%x: tensor<?x6xf32> {onnx.dims = ["batch", ""], onnx.name = "x"}) -> tensor<?x?x?xf32> {
  %one = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %shape = onnx.Shape(%x) : (tensor<?x6xf32>) -> (tensor<2xi64>) loc("shape")
  %wide = onnx.Concat(%shape, %one) {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> (tensor<3xi64>) loc("wide")
  %y = onnx.Reshape(%x, %wide) : (tensor<?x6xf32>, tensor<3xi64>) -> (tensor<?x?x?xf32>) loc("y")
  return %y : tensor<?x?x?xf32>
}

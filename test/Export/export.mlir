// A module written by hand: names, parts that nobody named, stages, several names for one value.
// RUN: hh-translate --export-onnx %s -o %t.onnx
// RUN: %python %S/Inputs/print.py %t.onnx | FileCheck %s
// RUN: hh-translate --import-onnx %t.onnx | FileCheck %s --check-prefix=AGAIN

// CHECK: ir_version: {{1[1-9]}},
// CHECK: opset_import: ["" : 28
// CHECK: graph (float[batch,4] x, int64[3] unread) => (float[batch,4] y, float[batch,4] z, float[batch,4] y)
// CHECK: float[4] bias = {1,2,3,4}
// CHECK: configuration hethub: slow, fast
// Two operations from one node need two names.
// CHECK: [stage 0] h = Relu (x)
// CHECK: [stage 0] "h.1" = Add (h, bias)
// CHECK: [stage 1] y = Clip ("h.1", "", limit)
// CHECK: z = Identity (y)
// AGAIN: func.func @main(%x: tensor<?x4xf32> {onnx.dims = ["batch", ""], onnx.name = "x"}
// AGAIN-SAME: %unread: tensor<3xi64>
// AGAIN: %y = onnx.Clip(%h.1, none, %limit)
hh.device_type @slow kind "cpu" count 1 memory 1073741824
hh.device_type @fast kind "cpu" count 1 memory 1073741824
func.func @main(%x: tensor<?x4xf32> {onnx.name = "x", onnx.dims = ["batch", ""]}, %u: tensor<3xi64> {onnx.name = "unread"})
    -> (tensor<?x4xf32> {onnx.name = "y", onnx.dims = ["batch", ""]},
        tensor<?x4xf32> {onnx.name = "z", onnx.dims = ["batch", ""]},
        tensor<?x4xf32> {onnx.name = "y", onnx.dims = ["batch", ""]}) {
  %0 = hh.stage 0 on @slow (%in = %x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
    %bias = onnx.Constant() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> (tensor<4xf32>) loc("bias")
    %a = onnx.Relu(%in) : (tensor<?x4xf32>) -> (tensor<?x4xf32>) loc("h")
    %b = onnx.Add(%a, %bias) : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>) loc("h")
    hh.yield %b : tensor<?x4xf32>
  }
  %1 = hh.stage 1 on @fast (%in = %0) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
    %limit = onnx.Constant() {value = dense<6.0> : tensor<f32>} : () -> (tensor<f32>) loc("limit")
    %c = onnx.Clip(%in, none, %limit) : (tensor<?x4xf32>, none, tensor<f32>) -> (tensor<?x4xf32>) loc("clip")
    hh.yield %c : tensor<?x4xf32>
  }
  return %1, %1, %1 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

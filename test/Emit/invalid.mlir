// RUN: not hh-translate --emit-cpp %s 2>&1 | FileCheck %s
// RUN: not hh-translate --emit-program %s 2>&1 | FileCheck %s

// What is not lowered is named where it stands.
// CHECK: error: {{.*}}operation of a program must be lowered to aten, got: onnx.Relu
hh.device_type @cpu kind "cpu" count 1 memory 1073741824
hh.program @stage_0(%a: tensor<2xf32> {onnx.name = "a", onnx.index = 0 : i64})
    -> (tensor<2xf32> {onnx.name = "b", onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @cpu} {
  %0 = onnx.Relu(%a) : (tensor<2xf32>) -> (tensor<2xf32>)
  hh.return %0 : tensor<2xf32>
}

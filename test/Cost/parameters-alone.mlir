// RUN: hh-opt %s --hh-annotate-cost | FileCheck %s
// RUN: hh-opt %s --hh-annotate-cost=training | FileCheck %s --check-prefix=TRAINING

// What is computed from weights alone runs once, when a program is loaded; in training, for each microbatch.

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
hh.parameter @a : tensor<8x8xf32> from "weights.bin" offset 0 length 256
hh.parameter @b : tensor<8x8xf32> from "weights.bin" offset 256 length 256

func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<4x16xf32> {onnx.name = "y"}) {
  %a = hh.get_parameter @a : tensor<8x8xf32>
  %b = hh.get_parameter @b : tensor<8x8xf32>
  // CHECK: onnx.Concat({{.*}}cpu = array<f64: 0.000000e+00, {{[1-9].*}}>
  // TRAINING: onnx.Concat({{.*}}cpu = array<f64: {{[1-9].*}}, {{[1-9].*}}>
  %w = onnx.Concat(%a, %b) {axis = 1 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x16xf32>)
  // CHECK: onnx.MatMul({{.*}}cpu = array<f64: {{[1-9].*}}, {{[1-9].*}}>
  // TRAINING: onnx.MatMul({{.*}}cpu = array<f64: {{[1-9].*}}, {{[1-9].*}}>
  %y = onnx.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>)
  return %y : tensor<4x16xf32>
}

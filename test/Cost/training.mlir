// RUN: hh-opt %s --hh-annotate-cost="training frozen=v" | FileCheck %s
// RUN: hh-opt %s --hh-load-cluster=cluster=%S/Inputs/profiled.yaml --hh-annotate-cost=training | FileCheck %s --check-prefix=ONE-PART
// RUN: hh-opt %s --hh-load-cluster=cluster=%S/Inputs/profiled.yaml --hh-annotate-cost="training split-backward" | FileCheck %s --check-prefix=TWO-PARTS

// In training seconds have a third figure: what gradients of parameters take of the backward pass. Parameters that are
// not trained are marked for the planner.

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
// CHECK: hh.parameter @w : tensor<8x8xf32> from "weights.bin" offset 0 length 256{{$}}
// CHECK: hh.parameter @v {{.*}} {hh.frozen}
// CHECK: hh.parameter @table {{.*}} {hh.frozen}
hh.parameter @w : tensor<8x8xf32> from "weights.bin" offset 0 length 256
hh.parameter @v : tensor<8x8xf32> from "weights.bin" offset 256 length 256
hh.parameter @table : tensor<8x8xi64> from "weights.bin" offset 512 length 512

func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<4x8xf32> {onnx.name = "y"}) {
  %w = hh.get_parameter @w : tensor<8x8xf32>
  %v = hh.get_parameter @v : tensor<8x8xf32>
  // Half of the backward pass, and adding 256 bytes to the sum of the step: 3 x 256 / 1e10 s.
  // CHECK: onnx.MatMul(%arg0, %{{.*}}cpu = array<f64: 1.138000e-08, 9.95{{.*}}, 8.81{{.*}}>
  // Measured as one program, and as two.
  // ONE-PART: onnx.MatMul(%arg0, %{{.*}}a = array<f64: 1.000000e-03, 3.000000e-03, 1.500000e-03>
  // TWO-PARTS: onnx.MatMul(%arg0, %{{.*}}a = array<f64: 1.000000e-03, 3.500000e-03, 1.500000e-03>
  %0 = onnx.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>)
  // A frozen parameter: gradients pass through.
  // CHECK: onnx.MatMul(%{{[0-9]+}}, %{{.*}}cpu = array<f64: {{[1-9].*}}, {{[1-9].*}}, 0.000000e+00>
  %1 = onnx.MatMul(%0, %v) : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>)
  return %1 : tensor<4x8xf32>
}

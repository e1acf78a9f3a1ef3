// RUN: hh-opt %s --hh-annotate-cost | FileCheck %s --check-prefixes=CHECK,INFER
// RUN: hh-opt %s --hh-annotate-cost=training | FileCheck %s --check-prefixes=CHECK,TRAIN

// A device type that trains in bfloat16 has that peak for products when it trains, and only then.
hh.device_type @narrow kind "cuda" count 1 memory 17179869184 {training_precision = "bfloat16",
  peak_flops = {float32 = 1.0e+12, bfloat16 = 8.0e+12}, memory_bandwidth = 1.0e+11 : f64, launch_overhead = 5.0e-06 : f64}
hh.device_type @wide kind "cuda" count 1 memory 17179869184 {
  peak_flops = {float32 = 1.0e+12, bfloat16 = 8.0e+12}, memory_bandwidth = 1.0e+11 : f64, launch_overhead = 5.0e-06 : f64}
hh.parameter @w : tensor<1024x1024xf32> from "weights.bin" offset 0 length 4194304

// CHECK-LABEL: @main
func.func @main(%x: tensor<1024x1024xf32> {onnx.name = "x"}) -> (tensor<1024x1024xf32> {onnx.name = "y"}) {
  %w = hh.get_parameter @w : tensor<1024x1024xf32>
  // 2 * 1024^3 FLOPs at 0.65e12, or at 5.2e12.
  // CHECK: onnx.MatMul
  // INFER-SAME: narrow = array<f64: 3.309000e-03,
  // TRAIN-SAME: narrow = array<f64: 4.180000e-04,
  // CHECK-SAME: wide = array<f64: 3.309000e-03,
  %0 = onnx.MatMul(%x, %w) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>)
  // Eight megabytes either way.
  // CHECK: onnx.Relu
  // CHECK-SAME: narrow = array<f64: [[SECONDS:[^,]*]], {{.*}}wide = array<f64: [[SECONDS]],
  %1 = onnx.Relu(%0) : (tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>)
  return %1 : tensor<1024x1024xf32>
}

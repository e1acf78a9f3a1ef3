// RUN: hh-opt %s --hh-annotate-cost | FileCheck %s

// Figures that make seconds easy to check by hand: a MatMul of an accelerator is held against 0.65 of its peak and 0.80
// of its bandwidth, everything elementwise against 0.80 of its bandwidth.
hh.device_type @gpu kind "cuda" count 1 memory 17179869184 {
  peak_flops = {float32 = 1.0e+12, float16 = 8.0e+12}, memory_bandwidth = 1.0e+11 : f64, launch_overhead = 5.0e-06 : f64}
hh.device_type @slow kind "cuda" count 1 memory 17179869184 {
  peak_flops = {float32 = 1.0e+12}, memory_bandwidth = 1.0e+11 : f64, launch_overhead = 5.0e-06 : f64,
  emulated_slowdown = 2.0 : f64}

hh.parameter @w : tensor<256x512xf32> from "weights.bin" offset 0 length 524288
hh.parameter @h : tensor<256x512xf16> from "weights.bin" offset 524288 length 262144

// CHECK-LABEL: @main
func.func @main(%x: tensor<64x256xf32> {onnx.name = "x"}, %y: tensor<64x256xf16> {onnx.name = "y"}) -> (tensor<64x512xf32> {onnx.name = "a"}, tensor<64x512xf16> {onnx.name = "b"}, tensor<2x32x512xf32> {onnx.name = "c"}) {
  %w = hh.get_parameter @w : tensor<256x512xf32>
  %h = hh.get_parameter @h : tensor<256x512xf16>
  // 2 * 64 * 256 * 512 FLOPs at 0.65e12 take 25.81 us, 720,896 bytes less; twice in the backward pass, which reads x.
  // CHECK: onnx.MatMul(%arg0, %{{.*}}) {hh.cost = #hh.cost<flops = 16777216, moved = 720896, kept = 65536, parameters = 524288,
  // CHECK-SAME: seconds = {gpu = array<f64: 3.081000e-05, 5.662000e-05>, slow = array<f64: 6.162000e-05, 1.132000e-04>}>}
  %0 = onnx.MatMul(%x, %w) : (tensor<64x256xf32>, tensor<256x512xf32>) -> (tensor<64x512xf32>)
  // Half precision: the matrix units' peak, half the bytes, which now decide.
  // CHECK: onnx.MatMul(%arg1, %{{.*}}) {hh.cost = #hh.cost<flops = 16777216, moved = 360448, {{.*}}gpu = array<f64: 9.506000e-06, 1.401000e-05>
  %1 = onnx.MatMul(%y, %h) : (tensor<64x256xf16>, tensor<256x512xf16>) -> (tensor<64x512xf16>)
  // One pass over memory; the mask of the gradient is the result.
  // CHECK: onnx.Relu(%{{.*}}) {hh.cost = #hh.cost<flops = 32768, moved = 262144, kept = 131072, parameters = 0, seconds = {gpu = array<f64: 8.277000e-06, 9.915000e-06>
  %2 = onnx.Relu(%0) : (tensor<64x512xf32>) -> (tensor<64x512xf32>)
  %shape = onnx.Constant() {value = dense<[2, 32, 512]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  // Views take no time, and what they show is not kept twice.
  // CHECK: onnx.Reshape(%{{.*}}) {hh.cost = #hh.cost<flops = 0, moved = 0, kept = 0, {{.*}}gpu = array<f64: 0.000000e+00, 0.000000e+00>
  %3 = onnx.Reshape(%2, %shape) : (tensor<64x512xf32>, tensor<3xi64>) -> (tensor<2x32x512xf32>)
  // CHECK: onnx.Gelu(%{{.*}}) {hh.cost = #hh.cost<flops = 622592, moved = 262144, kept = 0,
  %4 = onnx.Gelu(%3) : (tensor<2x32x512xf32>) -> (tensor<2x32x512xf32>)
  // No parameter reaches this one: no backward pass.
  // CHECK: onnx.Exp(%arg0) {hh.cost = #hh.cost<flops = 163840, moved = 131072, kept = 0, {{.*}}gpu = array<f64: {{.*}}, 0.000000e+00>
  %5 = onnx.Exp(%x) : (tensor<64x256xf32>) -> (tensor<64x256xf32>)
  %6 = onnx.MatMul(%5, %w) : (tensor<64x256xf32>, tensor<256x512xf32>) -> (tensor<64x512xf32>)
  return %6, %1, %4 : tensor<64x512xf32>, tensor<64x512xf16>, tensor<2x32x512xf32>
}

// RUN: hh-opt %s --hh-load-cluster=cluster=%S/Inputs/profiled.yaml --hh-annotate-cost | FileCheck %s
// RUN: not hh-opt %s --hh-load-cluster=cluster=%S/Inputs/bad-profile.yaml --hh-annotate-cost 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: bad-profile.json: 'Relu(4x8xf32) -> (4x8xf32)': forward_s must be seconds from 0 to 1000000000, got: -1

hh.parameter @w : tensor<8x8xf32> from "weights.bin" offset 0 length 256
hh.parameter @v : tensor<8x16xf32> from "weights.bin" offset 256 length 512

func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<4x16xf32> {onnx.name = "y"}) {
  %w = hh.get_parameter @w : tensor<8x8xf32>
  %v = hh.get_parameter @v : tensor<8x16xf32>
  // Measured on both; b is emulated three times slower, and its backward pass, not measured, is in proportion to the
  // roofline's.
  // CHECK: onnx.MatMul(%arg0, %{{.*}}) {hh.cost = {{.*}} seconds = {a = array<f64: 1.000000e-03, 3.000000e-03>, b = array<f64: 6.000000e-03, 6.{{.*}}e-03>}
  %0 = onnx.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>)
  // CHECK: onnx.Relu(%{{.*}}) {hh.cost = {{.*}} seconds = {a = array<f64: 5.000000e-04, {{.*}}>, b = array<f64: 3.
  %1 = onnx.Relu(%0) : (tensor<4x8xf32>) -> (tensor<4x8xf32>)
  // Another shape: the roofline, scaled by what the measured MatMul took over its own roofline, about a thousand.
  // CHECK: onnx.MatMul(%{{.*}}) {hh.cost = {{.*}} seconds = {a = array<f64: 1.0{{.*}}e-03, {{.*}}>, b = array<f64: 6.0{{.*}}e-03, {{.*}}>}
  %2 = onnx.MatMul(%1, %v) : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>)
  return %2 : tensor<4x16xf32>
}

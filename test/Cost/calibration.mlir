// RUN: hh-opt %s --hh-load-cluster=cluster=%S/Inputs/calibrated.yaml --hh-annotate-cost | FileCheck %s

// Nothing in this model was measured. The profile's operations, of other shapes, took 10, 100 and 1000 times their
// rooflines where they are MatMuls (the median counts) and twice where they are elementwise; what cannot be read there
// is passed over.

hh.parameter @w : tensor<200x200xf32> from "weights.bin" offset 0 length 160000

func.func @main(%x: tensor<100x200xf32> {onnx.name = "x"}) -> (tensor<100x200xf32> {onnx.name = "y"}) {
  %w = hh.get_parameter @w : tensor<200x200xf32>
  // 8e6 FLOPs at 0.6 of 1e11 and a launch of 1 us: 134.3 us, times 100.
  // CHECK: onnx.MatMul(%arg0, %{{.*}}) {hh.cost = {{.*}} seconds = {a = array<f64: 1.343000e-02,
  %0 = onnx.MatMul(%x, %w) : (tensor<100x200xf32>, tensor<200x200xf32>) -> (tensor<100x200xf32>)
  // 160,000 bytes at three times 1e10, and the launch: 6.333 us, times 2.
  // CHECK: onnx.Relu(%{{.*}}) {hh.cost = {{.*}} seconds = {a = array<f64: 1.267000e-05,
  %1 = onnx.Relu(%0) : (tensor<100x200xf32>) -> (tensor<100x200xf32>)
  // No class of its own: as modelled.
  // CHECK: onnx.Softmax(%{{.*}}hh.cost = {{.*}} seconds = {a = array<f64: 1.967000e-05,
  %2 = onnx.Softmax(%1) {axis = -1 : i64} : (tensor<100x200xf32>) -> (tensor<100x200xf32>)
  return %2 : tensor<100x200xf32>
}

// RUN: hh-opt %s --hh-partition="microbatches=8 microbatch-size=2" | FileCheck %s --check-prefix=REPLICAS
// RUN: hh-opt %s --hh-partition="microbatches=8 replicas=false" | FileCheck %s --check-prefix=SINGLE
// RUN: hh-opt %s --hh-partition="microbatches=1 tensor-parallel" | FileCheck %s --check-prefix=WIDE
// RUN: hh-opt %s --hh-partition="microbatches=8 training recompute replicas=false" | FileCheck %s --check-prefix=TRAINING
// RUN: hh-opt %s --hh-partition="microbatches=8 replicas=false work-limit=0 upper-bound" | FileCheck %s --check-prefix=SHORT

hh.device_type @new kind "cuda" count 2 memory 6000
hh.link @new to @new bandwidth 1.0e9 latency 1.0e-6
hh.parameter @up : tensor<4x16xf32> from "m.bin" offset 0 length 256
hh.parameter @down : tensor<16x4xf32> from "m.bin" offset 256 length 256

// Two devices take turns on the whole model: four microbatches of 20 ms each, one after the other.
// REPLICAS:     hh.plan {
// REPLICAS:       microbatch_size = 2
// REPLICAS:       replicas = 2
// REPLICAS:       step_seconds = 8.000000e-02

// A pipeline of the two products.
// SINGLE:       hh.plan {
// SINGLE:         nodes = ["h"]
// SINGLE:         replicas = 1
// SINGLE:         nodes = ["y"]

// One microbatch: both devices share each product, by columns and then by rows.
// WIDE:         hh.plan {
// WIDE:           tensor_parallel = 2

// Backward passes take twice as long; what "h" keeps for three microbatches does not fit beside weights and moments.
// TRAINING:     hh.plan {
// TRAINING:       backward_seconds = 3.000000e-02
// TRAINING:       nodes = ["h"]
// TRAINING:       recompute = true
// TRAINING:       training = true

// No time at all still leaves one attempt. One device alone does 50 microbatches/s.
// SHORT:        hh.plan {
// SHORT:          upper_bound_throughput = 100
func.func @main(%x: tensor<32x4xf32>) -> tensor<32x4xf32> {
  %u = hh.get_parameter @up : tensor<4x16xf32>
  %d = hh.get_parameter @down : tensor<16x4xf32>
  %h = onnx.MatMul(%x, %u) {hh.cost = #hh.cost<flops = 1, moved = 1, kept = 900, parameters = 256, seconds = {new = array<f64: 1.0e-2, 2.0e-2>}>} : (tensor<32x4xf32>, tensor<4x16xf32>) -> (tensor<32x16xf32>) loc("h")
  %y = onnx.MatMul(%h, %d) {hh.cost = #hh.cost<flops = 1, moved = 1, kept = 900, parameters = 256, seconds = {new = array<f64: 1.0e-2, 2.0e-2>}>} : (tensor<32x16xf32>, tensor<16x4xf32>) -> (tensor<32x4xf32>) loc("y")
  return %y : tensor<32x4xf32>
}

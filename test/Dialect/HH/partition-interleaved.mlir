// RUN: hh-opt %s --hh-partition="training microbatches=4 stages-per-device=2 plan-out=%t.json" | FileCheck %s
// RUN: FileCheck %s --check-prefix=FILE < %t.json
// RUN: hh-opt %s --hh-partition="training microbatches=4 plan=%t.json" | FileCheck %s
// RUN: hh-opt %s --hh-partition="training microbatches=4 stages-per-device=2 plan=%t.json" | FileCheck %s
// RUN: sed '/first_rank/d' %t.json > %t.apart.json
// RUN: sed 's/count 1/count 2/' %s | not hh-opt --hh-partition="training microbatches=4 stages-per-device=2 plan=%t.apart.json" 2>&1 | FileCheck %s --check-prefix=APART
// RUN: sed 's/count 1/count 2/' %s | hh-opt --hh-partition="training microbatches=4 stages-per-device=2" | FileCheck %s
// RUN: not hh-opt %s --hh-partition="microbatches=4 stages-per-device=2" 2>&1 | FileCheck %s --check-prefix=INFERENCE
// RUN: not hh-opt %s --hh-partition="training microbatches=4 stages-per-device=3" 2>&1 | FileCheck %s --check-prefix=MANY

// APART: error: a plan of several stages a device must say the first_rank of each, got none in {{.*}}apart.json
// INFERENCE: error: several stages a device need a training step: in inference they gain nothing
// MANY: error: no plan with 3 stages a device was found

// 3 ms a stage: two stages of four microbatches, and the other device's first stage before and after.
// FILE:     "first_rank": 0
// FILE:     "first_rank": 1
// FILE:     "first_rank": 0
// FILE:     "first_rank": 1
// FILE:     "step_seconds": 0.027{{.*}}

hh.device_type @old kind "cpu" count 1 memory 100000
hh.device_type @new kind "cpu" count 1 memory 100000
hh.link @old to @new bandwidth 1.0e12 latency 1.0e-9

// CHECK: hh.stage 0 on @[[FIRST:(old|new)]]
// CHECK: onnx.Relu
// CHECK: hh.first_rank = 0 : i64
// CHECK: hh.stage 1 on @[[SECOND:(old|new)]]
// CHECK: onnx.Exp
// CHECK: hh.first_rank = 1 : i64
// CHECK: hh.stage 2 on @[[FIRST]]
// CHECK: onnx.Tanh
// CHECK: hh.first_rank = 0 : i64
// CHECK: hh.stage 3 on @[[SECOND]]
// CHECK: onnx.Neg
// CHECK: hh.first_rank = 1 : i64
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}) -> tensor<4x4xf32> {
  %a = onnx.Relu(%x) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 100, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 1.0e-3, 2.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("a")
  %b = onnx.Exp(%a) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 100, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 1.0e-3, 2.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("b")
  %c = onnx.Tanh(%b) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 100, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 1.0e-3, 2.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("c")
  %d = onnx.Neg(%c) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 100, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 1.0e-3, 2.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("d")
  return %d : tensor<4x4xf32>
}

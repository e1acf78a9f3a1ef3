// RUN: hh-opt %s --hh-partition="plan=%S/Inputs/plan.json plan-out=%t.json" | FileCheck %s
// RUN: FileCheck %s --check-prefix=FILE < %t.json
// RUN: hh-opt %s --hh-partition=plan=%t.json | FileCheck %s
// RUN: not hh-opt %s --hh-partition=plan=%S/Inputs/plan-lost.json 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: not hh-opt %s --hh-partition=plan=%S/Inputs/plan-twice.json 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not hh-opt %s --hh-partition=plan=%S/Inputs/plan-order.json 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not hh-opt %s --hh-partition=plan=%S/Inputs/plan-unknown.json 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not hh-opt %s --hh-partition=plan=%S/Inputs/plan-none.json 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hh-opt %s --hh-partition=plan-out=%t.none/folder.json 2>&1 | FileCheck %s --check-prefix=OUT

// LOST: error: {{.*}}'c'
// TWICE: error: {{.*}}'b'
// ORDER: error: {{.*}}'b'
// UNKNOWN: error: {{.*}}'nothing'
// NONE: error: cannot read plan file '{{.*}}none.json'
// OUT: error: cannot write plan file '{{.*}}folder.json'
// FILE: "step_seconds": 0.00300

hh.device_type @old kind "cpu" count 1 memory 100000
hh.device_type @new kind "cpu" count 1 memory 100000
hh.link @old to @new bandwidth 1.0e9 latency 1.0e-6

// The map is followed although all on one device would be as fast.
// CHECK: hh.stage 0 on @new
// CHECK: onnx.Relu
// CHECK: hh.stage 1 on @old
// CHECK: onnx.Exp
// CHECK: onnx.Tanh
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}) -> tensor<4x4xf32> {
  %a = onnx.Relu(%x) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("a")
  %b = onnx.Exp(%a) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("b")
  %c = onnx.Tanh(%b) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("c")
  return %c : tensor<4x4xf32>
}

// RUN: hh-opt %s --hh-partition="microbatches=3 explain=true what-if=true plan-out=%t.json" -o %t.mlir
// RUN: FileCheck %s < %t.json
// RUN: hh-opt %s --hh-partition="microbatches=3 explain=true plan=%S/Inputs/plan.json plan-out=%t.own.json" -o %t.mlir
// RUN: FileCheck %s --check-prefix=OWN < %t.own.json
// RUN: hh-opt %s --hh-partition="microbatches=3 plan-out=%t.json" -o %t.mlir
// RUN: FileCheck %s --check-prefix=PLAIN < %t.json

// Each operation takes 2 ms on the old device and 1 ms on the new one. One and two of them: 2 + 2 + 2 x 2 ms. All on the
// new one: 3 + 2 x 3 ms.
// CHECK: "explanation": {
// CHECK: "changes": [
// CHECK-NEXT: "a first stage that is not on 'new'",
// CHECK: "step_seconds": 0.008
// CHECK: "changes": [
// CHECK-NEXT: "one stage fewer",
// CHECK-NEXT: "without device type 'old'"
// CHECK: "step_seconds": 0.009
// A part of the other stage would make that 3 or 4 ms.
// CHECK: "borders": [
// CHECK: "hold": "load",
// CHECK: "fill_seconds": 0.004
// CHECK: "steady_seconds": 0.004
// CHECK: "unused_devices": {},
// A third device helps if it is a new one: all on both, 3 + 3 ms.
// CHECK: "what_if": [
// CHECK: "device_type": "old",
// CHECK: "throughput_gain": 0
// CHECK: "device_type": "new",
// CHECK: "step_seconds": 0.006
// CHECK-NEXT: "throughput_gain": 0.3

// One on the new device, two on the old one: 1 + 4 + 2 x 4 ms.
// OWN: "explanation": {
// OWN: "alternatives": [],
// OWN: "automatic": {
// OWN: "step_seconds": 0.008
// OWN: "automatic_throughput_gain": 0.62
// OWN: "hold": "nothing",

// PLAIN-NOT: explanation

hh.device_type @old kind "cpu" count 1 memory 100000
hh.device_type @new kind "cpu" count 1 memory 100000
hh.link @old to @new bandwidth 1.0e9 latency 1.0e-6
hh.link @old to @old bandwidth 1.0e9 latency 1.0e-6
hh.link @new to @new bandwidth 1.0e9 latency 1.0e-6

func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}) -> tensor<4x4xf32> {
  %a = onnx.Relu(%x) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 2.0e-3, 2.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("a")
  %b = onnx.Exp(%a) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 2.0e-3, 2.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("b")
  %c = onnx.Tanh(%b) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 2.0e-3, 2.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("c")
  return %c : tensor<4x4xf32>
}

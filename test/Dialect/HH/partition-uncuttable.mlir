// RUN: hh-opt %s --hh-partition="stages=2 microbatches=16" --hh-verify-phase=phase=partition | FileCheck %s

hh.device_type @old kind "cpu" count 1 memory 100000
hh.device_type @new kind "cpu" count 1 memory 100000
hh.link @old to @new bandwidth 1.0e9 latency 1.0e-6

// No channel carries a sequence: its maker and its reader stay in one stage. They stand in front of and behind the rest
// of the given order; another order lets the rest be the first stage.
// CHECK:      hh.stage 0
// CHECK-NOT:    onnx.Sequence
// CHECK:        onnx.Relu
// CHECK:        onnx.Relu
// CHECK:        onnx.Relu
// CHECK-NOT:    onnx.Sequence
// CHECK:      hh.stage 1
// CHECK:        onnx.SequenceConstruct
// CHECK:        onnx.SequenceAt
// CHECK:        onnx.Exp
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}, %i: tensor<i64> {onnx.name = "i"}) -> tensor<4x4xf32> {
  %s = onnx.SequenceConstruct(%x, %x) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (!onnx.seq<tensor<4x4xf32>>) loc("s")
  %a = onnx.Relu(%x) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("a")
  %b = onnx.Relu(%a) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("b")
  %c = onnx.Relu(%b) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("c")
  %v = onnx.SequenceAt(%s, %i) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (!onnx.seq<tensor<4x4xf32>>, tensor<i64>) -> (tensor<4x4xf32>) loc("v")
  %y = onnx.Add(%c, %v) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("y")
  %z = onnx.Exp(%y) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 1.0e-3>, old = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("z")
  return %z : tensor<4x4xf32>
}

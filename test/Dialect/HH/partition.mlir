// RUN: hh-opt %s --hh-partition="stages=2 microbatches=16" --hh-verify-plan --hh-verify-phase=phase=partition | FileCheck %s
// RUN: hh-opt %s --hh-partition="stages=1 microbatches=3" | FileCheck %s --check-prefix=ONE
// RUN: hh-opt %s --hh-partition="stages=1 microbatches=3 training" | FileCheck %s --check-prefix=TRAIN

hh.device_type @old kind "cpu" count 1 memory 1000000
hh.device_type @new kind "cpu" count 1 memory 1000000
hh.link @old to @new bandwidth 1.0e9 latency 1.0e-6
hh.parameter @w : tensor<4x4xf32> from "m.bin" offset 0 length 64

// @new is twice as fast and gets the larger part. The view "ht" is read in both stages: each makes its own of "h", which
// is sent once and contiguous. The transposed weight and the constant are copied, not sent.
// CHECK-LABEL: func.func @main
// CHECK:      %[[S0:.*]]:2 = hh.stage 0 on @new (%[[X:.*]] = %{{.*}}) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
// CHECK:        %[[W:.*]] = hh.get_parameter @w
// CHECK:        %[[WT:.*]] = onnx.Transpose(%[[W]]) {hh.cost
// CHECK:        %[[H:.*]] = onnx.MatMul(%[[X]], %[[WT]])
// CHECK:        onnx.Relu(%[[H]])
// CHECK:        onnx.Transpose(%[[H]]) {hh.cost
// CHECK:        onnx.Add
// CHECK:        %[[C:.*]] = onnx.Add
// CHECK:        hh.yield %[[H]], %[[C]]
// CHECK:      } {hh.forward_seconds = 5.000000e-03 : f64}
// CHECK:      %[[S1:.*]] = hh.stage 1 on @old (%[[RC:.*]] = %[[S0]]#1, %[[RH:.*]] = %[[S0]]#0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
// CHECK:        %[[W1:.*]] = hh.get_parameter @w
// CHECK:        %[[WT1:.*]] = onnx.Transpose(%[[W1]]) {hh.clone, hh.cost
// CHECK:        %[[Y:.*]] = onnx.MatMul(%[[RC]], %[[WT1]])
// CHECK:        %[[HT:.*]] = onnx.Transpose(%[[RH]]) {hh.clone, hh.cost
// CHECK:        onnx.Add(%[[Y]], %[[HT]])
// CHECK:      } {hh.forward_seconds = 4.000000e-03 : f64}
// CHECK:      return %[[S1]], %[[S0]]#0

// CHECK:      hh.fingerprint outputs [{{.*}}, {{.*}}] {
// CHECK-NEXT:   "wt" {{.*}}, {{.*}}
// CHECK-NEXT:   "h"
// CHECK:      hh.plan {
// CHECK:        microbatches = 16
// CHECK:        nodes = ["wt", "h", "g", "ht", "sum", "c"]
// CHECK:        nodes = ["y", "z"]

// TRAIN:   } {hh.backward_seconds = {{.*}} : f64, hh.forward_seconds = {{.*}} : f64, hh.in_flight = 1 : i64, hh.weight_seconds = {{.*}} : f64}

// ONE:     hh.stage 0 on @new
// ONE-NOT: hh.stage 1
// ONE:     microbatches = 3
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}) -> (tensor<4x4xf32> {onnx.name = "z"}, tensor<4x4xf32> {onnx.name = "h"}) {
  %w = hh.get_parameter @w : tensor<4x4xf32>
  %one = onnx.Constant() {value = dense<1.0> : tensor<4x4xf32>} : () -> (tensor<4x4xf32>)
  %wt = onnx.Transpose(%w) {perm = array<i64: 1, 0>, hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 0.0, 2.0e-3>, old = array<f64: 0.0, 4.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("wt")
  %h = onnx.MatMul(%x, %wt) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 2.0e-3, 4.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("h")
  %ht = onnx.Transpose(%h) {perm = array<i64: 1, 0>, hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 2.0e-3, 4.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("ht")
  %g = onnx.Relu(%h) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 2.0e-3, 4.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("g")
  %sum = onnx.Add(%g, %ht) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 2.0e-3, 4.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("sum")
  %c = onnx.Add(%sum, %one) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 2.0e-3, 4.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("c")
  %y = onnx.MatMul(%c, %wt) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 2.0e-3, 4.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("y")
  %z = onnx.Add(%y, %ht) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {new = array<f64: 1.0e-3, 2.0e-3>, old = array<f64: 2.0e-3, 4.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("z")
  return %z, %h : tensor<4x4xf32>, tensor<4x4xf32>
}

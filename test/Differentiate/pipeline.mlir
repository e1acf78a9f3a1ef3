// RUN: hh-opt %s --onnx-add-loss="loss=mse" --hh-load-cluster=stages=2 --hh-annotate-cost=training \
// RUN:     --hh-partition="stages=2 microbatches=2 training schedule=zero-bubble" \
// RUN:     --hh-lower-stages="training microbatches=2 schedule=zero-bubble frozen=b" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: hh-opt %t.mlir --hh-verify-phase=phase=schedule -o /dev/null

// From a model to the programs of a step: what is frozen has no gradient, the table has all parts.
// CHECK:      hh.program @stage_0(
// CHECK-SAME:   hh.backward_seconds
// CHECK-NEXT:   hh.get_parameter @w
// CHECK:      hh.program @stage_0_weight(
// CHECK-SAME:   -> (tensor<4x4xf32> {hh.gradient = @w})
// CHECK:      hh.program @stage_1(
// CHECK-SAME:   {hh.labels, onnx.index = 1 : i64, onnx.name = "labels"}
// CHECK-SAME:   -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}
// CHECK:      hh.program @stage_1_backward(
// CHECK-NOT:    hh.gradient = @b
// CHECK:      hh.plan {
// CHECK:        loss = "loss"
// CHECK:        schedule = "zero-bubble"
// CHECK:      hh.schedule microbatches 2 {
// CHECK-NEXT:   stage 0 replica 0 {
// CHECK:          weight 1
// CHECK-NEXT:     step 0
hh.parameter @w : tensor<4x4xf32> from "m.bin" offset 0 length 64
hh.parameter @v : tensor<4x4xf32> from "m.bin" offset 64 length 64
hh.parameter @b : tensor<4xf32> from "m.bin" offset 128 length 16
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.name = "y"}) {
  %w = hh.get_parameter @w : tensor<4x4xf32>
  %v = hh.get_parameter @v : tensor<4x4xf32>
  %b = hh.get_parameter @b : tensor<4xf32>
  %h = onnx.MatMul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>) loc("h")
  %r = onnx.Tanh(%h) : (tensor<2x4xf32>) -> (tensor<2x4xf32>) loc("r")
  %m = onnx.MatMul(%r, %v) : (tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>) loc("m")
  %y = onnx.Add(%m, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>) loc("y")
  return %y : tensor<2x4xf32>
}

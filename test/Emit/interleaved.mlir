// Stages 0 and 2 are on rank 0: their rows stand in the table in the order in which the rank runs them, and their C++
// is one program.
// RUN: hh-opt %s --hh-schedule="training microbatches=2" -o %t.mlir
// RUN: FileCheck %s --check-prefix=TABLE < %t.mlir
// RUN: hh-translate --emit-cpp %t.mlir --stage 0 | FileCheck %s --check-prefix=FIRST
// RUN: hh-translate --emit-cpp %t.mlir --stage 1 | FileCheck %s --check-prefix=ALONE
// RUN: hh-translate --emit-cpp %t.mlir --stage 2 | FileCheck %s --check-prefix=OTHER
// RUN: hh-translate --emit-program %t.mlir --stage 2 | FileCheck %s --check-prefix=PROGRAM
// RUN: hh-opt %s --hh-schedule="training microbatches=1" 2>&1 >/dev/null | FileCheck %s --check-prefix=FEW
// RUN: sed 's/first_rank = 1/first_rank = 2/' %s | not hh-opt --hh-schedule="training microbatches=2" 2>&1 | FileCheck %s --check-prefix=GAP

// FEW: warning: microbatches should be at least the number of stages, 2, got: 1
// GAP: error: stage 1: its first rank must be at most 1, so that none is left out, got: 2

// TABLE:      hh.schedule microbatches 2 {
// TABLE-NEXT:   stage 0 replica 0 {
// TABLE-NEXT:     forward 0
// TABLE:        stage 2 replica 0 {
// TABLE:          forward 0
// TABLE:        stage 0 replica 0 {
// TABLE:          backward 1
// TABLE:          step 0
// TABLE-NEXT:   }
// TABLE-NEXT:   stage 2 replica 0 {
// TABLE-NEXT:     step 0
// TABLE-NEXT:   }
// TABLE-NEXT:   stage 1 replica 0 {

// FIRST:      namespace stage_0 {
// FIRST:      struct Weights {
// FIRST:      .replicas = 1, .emulatedSlowdown = 0.0, .profiledForwardS = 0.0, .profiledBackwardS = 0.0, .profiledWeightS = 0.0, .firstRank = 0},
// FIRST:      .firstRank = 1},
// FIRST:      .firstRank = 0},
// FIRST:      {.action = rt::Action::Forward, .microbatch = 0, .replica = 0, .peerReplica = -1, .position = 0},
// FIRST:      rt::EmittedStage emitted() { return {spec, rt::bind<Weights>(forward, backward)}; }
// FIRST:      } // namespace stage_0
// FIRST:      namespace stage_2 { // ../stage_2/stage.cpp
// FIRST-NEXT: rt::EmittedStage emitted();
// FIRST-NEXT: }
// FIRST:      int main(int argc, char **argv) {
// FIRST-NEXT:   return rt::runStages({stage_0::emitted(), stage_2::emitted()}, argc, argv);

// A rank of one stage is as ever.
// ALONE-NOT:  namespace stage
// ALONE:      return rt::runStage(spec, rt::bind<Weights>(forward, backward), argc, argv);

// OTHER:      namespace stage_2 {
// OTHER:      rt::EmittedStage emitted()
// OTHER-NOT:  int main

// PROGRAM:     first_rank: 0
// PROGRAM:     first_rank: 1
// PROGRAM:     first_rank: 0
// PROGRAM:     position:

hh.device_type @a kind "cpu" count 1 memory 100000
hh.device_type @b kind "cpu" count 1 memory 100000
hh.link @a to @b bandwidth 1.0e+09 latency 0.0
hh.parameter @p0 : tensor<4xf32> from "m.onnx" offset 0 length 16
hh.parameter @p1 : tensor<4xf32> from "m.onnx" offset 16 length 16
hh.parameter @p2 : tensor<4xf32> from "m.onnx" offset 32 length 16
hh.program @stage_0(%x: tensor<4xf32> {onnx.name = "x", onnx.index = 0 : i64}) -> (tensor<4xf32> {hh.saved = 0 : i64})
    attributes {stage = 0 : i64, device = @a, hh.first_rank = 0 : i64, hh.forward_seconds = 1.0 : f64, hh.backward_seconds = 2.0 : f64, hh.in_flight = 2 : i64} {
  %p = hh.get_parameter @p0 : tensor<4xf32>
  %y = aten.mul.Tensor(%x, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.send %y on 0 to 1 : tensor<4xf32>
  hh.return %x : tensor<4xf32>
}
hh.program @stage_0_backward(%x: tensor<4xf32> {hh.saved = 0 : i64}) -> (tensor<4xf32> {hh.gradient = @p0})
    attributes {stage = 0 : i64, part = "backward", device = @a, hh.first_rank = 0 : i64} {
  %g = hh.recv on 2 from 1 : tensor<4xf32>
  %d = aten.mul.Tensor(%g, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.return %d : tensor<4xf32>
}
hh.program @stage_1() -> (tensor<4xf32> {hh.saved = 0 : i64})
    attributes {stage = 1 : i64, device = @b, hh.first_rank = 1 : i64, hh.forward_seconds = 1.0 : f64, hh.backward_seconds = 2.0 : f64, hh.in_flight = 2 : i64} {
  %y = hh.recv on 0 from 0 : tensor<4xf32>
  %p = hh.get_parameter @p1 : tensor<4xf32>
  %z = aten.mul.Tensor(%y, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.send %z on 1 to 2 : tensor<4xf32>
  hh.return %y : tensor<4xf32>
}
hh.program @stage_1_backward(%y: tensor<4xf32> {hh.saved = 0 : i64}) -> (tensor<4xf32> {hh.gradient = @p1})
    attributes {stage = 1 : i64, part = "backward", device = @b, hh.first_rank = 1 : i64} {
  %g = hh.recv on 3 from 2 : tensor<4xf32>
  %p = hh.get_parameter @p1 : tensor<4xf32>
  %d = aten.mul.Tensor(%g, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  %e = aten.mul.Tensor(%g, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.send %e on 2 to 0 : tensor<4xf32>
  hh.return %d : tensor<4xf32>
}
hh.program @stage_2() -> (tensor<f32> {hh.loss, onnx.name = "loss", onnx.index = 0 : i64}, tensor<4xf32> {hh.saved = 0 : i64})
    attributes {stage = 2 : i64, device = @a, hh.first_rank = 0 : i64, hh.forward_seconds = 1.0 : f64, hh.backward_seconds = 2.0 : f64, hh.in_flight = 2 : i64} {
  %z = hh.recv on 1 from 1 : tensor<4xf32>
  %p = hh.get_parameter @p2 : tensor<4xf32>
  %w = aten.mul.Tensor(%z, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  %l = aten.sum.dim_IntList(%w) {dim = array<i64: 0>} : (tensor<4xf32>) -> (tensor<f32>)
  hh.return %l, %z : tensor<f32>, tensor<4xf32>
}
hh.program @stage_2_backward(%z: tensor<4xf32> {hh.saved = 0 : i64}) -> (tensor<4xf32> {hh.gradient = @p2})
    attributes {stage = 2 : i64, part = "backward", device = @a, hh.first_rank = 0 : i64} {
  %p = hh.get_parameter @p2 : tensor<4xf32>
  %d = aten.mul.Tensor(%z, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.send %d on 3 to 1 : tensor<4xf32>
  hh.return %d : tensor<4xf32>
}

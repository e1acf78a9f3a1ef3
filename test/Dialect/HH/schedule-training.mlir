// RUN: hh-opt %s --hh-schedule="training microbatches=2" | FileCheck %s
// RUN: hh-opt %s --hh-schedule="training microbatches=2 schedule=gpipe" | FileCheck %s --check-prefix=GPIPE
// RUN: hh-opt %s --hh-schedule="training microbatches=2 schedule=zero-bubble" | FileCheck %s --check-prefix=ZERO
// RUN: hh-opt %s --hh-schedule="training microbatches=1" 2>&1 >/dev/null | FileCheck %s --check-prefix=FEW
// RUN: not hh-opt %s --hh-schedule="training" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hh-opt %s --hh-schedule="training microbatches=2 schedule=pipedream" 2>&1 | FileCheck %s --check-prefix=KIND

// FEW: warning: microbatches should be at least the number of stages, 2, got: 1; stages wait for each other most of the time
// NONE: error: microbatches of a training step must be at least 1, got: 0
// KIND: error: schedule must be gpipe, 1f1b or zero-bubble, got: pipedream

// The first stage is two microbatches ahead; both hold @tied, so both take part in the sum of its gradient, and the
// replicas of the second one sum all of theirs: 64 bytes.
// CHECK:      hh.schedule microbatches 2 {
// CHECK-NEXT:   stage 0 replica 0 {
// CHECK-NEXT:     forward 0
// CHECK-NEXT:     send 0 on 0 to 1 replica 0 bytes 16
// CHECK-NEXT:     forward 1
// CHECK-NEXT:     send 1 on 0 to 1 replica 1 bytes 16
// CHECK-NEXT:     recv 0 on 1 from 1 replica 0 bytes 16
// CHECK-NEXT:     backward 0
// CHECK-NEXT:     recv 1 on 1 from 1 replica 1 bytes 16
// CHECK-NEXT:     backward 1
// CHECK-NEXT:     all_reduce 0 bytes 16
// CHECK-NEXT:     step 0
// CHECK-NEXT:   }
// CHECK-NEXT:   stage 1 replica 0 {
// CHECK-NEXT:     recv 0 on 0 from 0 replica 0 bytes 16
// CHECK-NEXT:     forward 0
// CHECK-NEXT:     backward 0
// CHECK-NEXT:     send 0 on 1 to 0 replica 0 bytes 16
// CHECK-NEXT:     all_reduce 0 bytes 32
// CHECK-NEXT:     step 0
// CHECK-NEXT:   }
// CHECK-NEXT:   stage 1 replica 1 {

// GPIPE:          forward 1
// GPIPE-NEXT:     send 1 on 0 to 1 replica 1 bytes 16
// GPIPE-NEXT:     recv 0 on 1

// Where gradients of parameters are a program of their own, the table has it apart.
// ZERO:         stage 1 replica 0 {
// ZERO:           backward 0
// ZERO-NEXT:      send 0 on 1 to 0
// ZERO-NEXT:      weight 0
// ZERO-NEXT:      all_reduce 0 bytes 32

hh.device_type @d kind "cpu" count 3 memory 100000 {emulated_slowdown = 2.0 : f64}
hh.parameter @tied : tensor<4xf32> from "m.onnx" offset 0 length 16
hh.parameter @own : tensor<4xf32> from "m.onnx" offset 16 length 16
hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64}) -> (tensor<4xf32> {hh.saved = 0 : i64})
    attributes {stage = 0 : i64, device = @d, hh.forward_seconds = 1.0 : f64, hh.backward_seconds = 2.0 : f64, hh.weight_seconds = 0.5 : f64, hh.in_flight = 2 : i64} {
  %p = hh.get_parameter @tied : tensor<4xf32>
  %y = aten.mul.Tensor(%x, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.send %y on 0 to 1 : tensor<4xf32>
  hh.return %x : tensor<4xf32>
}
hh.program @stage_0_backward(%x: tensor<4xf32> {hh.saved = 0 : i64}) -> (tensor<4xf32> {hh.gradient = @tied})
    attributes {stage = 0 : i64, part = "backward", device = @d} {
  %g = hh.recv on 1 from 1 : tensor<4xf32>
  %d = aten.mul.Tensor(%g, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.return %d : tensor<4xf32>
}
hh.program @stage_1() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}, tensor<4xf32> {hh.saved = 0 : i64})
    attributes {stage = 1 : i64, device = @d, replicas = 2 : i64, hh.forward_seconds = 1.0 : f64, hh.backward_seconds = 2.0 : f64, hh.weight_seconds = 0.5 : f64, hh.in_flight = 2 : i64} {
  %y = hh.recv on 0 from 0 : tensor<4xf32>
  %p = hh.get_parameter @tied : tensor<4xf32>
  %q = hh.get_parameter @own : tensor<4xf32>
  %z = aten.mul.Tensor(%y, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  %w = aten.mul.Tensor(%z, %q) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  %l = aten.sum.dim_IntList(%w) {dim = array<i64: 0>} : (tensor<4xf32>) -> (tensor<f32>)
  hh.return %l, %y : tensor<f32>, tensor<4xf32>
}
hh.program @stage_1_backward() -> (tensor<4xf32> {hh.saved = 1 : i64})
    attributes {stage = 1 : i64, part = "backward", device = @d, replicas = 2 : i64} {
  %p = hh.get_parameter @tied : tensor<4xf32>
  %q = hh.get_parameter @own : tensor<4xf32>
  %d = aten.mul.Tensor(%q, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.send %d on 1 to 0 : tensor<4xf32>
  hh.return %q : tensor<4xf32>
}
hh.program @stage_1_weight(%y: tensor<4xf32> {hh.saved = 0 : i64}, %q: tensor<4xf32> {hh.saved = 1 : i64})
    -> (tensor<4xf32> {hh.gradient = @tied}, tensor<4xf32> {hh.gradient = @own})
    attributes {stage = 1 : i64, part = "weight", device = @d, replicas = 2 : i64} {
  %d = aten.mul.Tensor(%y, %q) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  %p = hh.get_parameter @tied : tensor<4xf32>
  %e = aten.mul.Tensor(%y, %p) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  hh.return %d, %e : tensor<4xf32>, tensor<4xf32>
}

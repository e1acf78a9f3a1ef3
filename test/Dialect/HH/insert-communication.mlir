// RUN: hh-opt %s --hh-insert-communication -mlir-print-debuginfo | FileCheck %s
// RUN: hh-opt %s --hh-insert-communication --hh-schedule | FileCheck %s --check-prefix=STREAM
// RUN: hh-opt %s --hh-insert-communication --hh-schedule=microbatches=2 | FileCheck %s --check-prefix=STEP

hh.device_type @d kind "cpu" count 3 memory 100000
hh.link @d to @d bandwidth 1.0e9 latency 1.0e-6

// "a" goes to both later stages, straight from its maker; "mask" is fed to the stage that reads it; nobody reads "none",
// which stays with the first stage; "x" is an output as it stands, and "b" is one twice.
// CHECK-LABEL: hh.program @stage_0
// CHECK-SAME:  (%[[X:.*]]: tensor<4x4xf32> {onnx.dims = ["", "n"], onnx.index = 0 : i64, onnx.name = "x"}{{.*}}, %{{.*}}: tensor<4x4xf32> {onnx.index = 2 : i64, onnx.name = "none"}
// CHECK-SAME:  -> (tensor<4x4xf32> {onnx.index = 2 : i64, onnx.name = "x"})
// CHECK-SAME:  attributes {device = @d, hh.forward_seconds = 1.000000e-03 : f64, replicas = 1 : i64, stage = 0 : i64}
// CHECK-NEXT:  %[[A:.*]] = onnx.Relu(%[[X]]) : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
// CHECK-NEXT:  hh.send %[[A]] on 0 to 1 : tensor<4x4xf32> loc(#[[NAMEA:.*]])
// CHECK-NEXT:  hh.send %[[A]] on 1 to 2 : tensor<4x4xf32> loc(#[[NAMEA]])
// CHECK-NEXT:  hh.return %[[X]] : tensor<4x4xf32>

// CHECK-LABEL: hh.program @stage_1()
// CHECK-SAME:  -> (tensor<4x4xf32> {onnx.index = 1 : i64, onnx.name = "b"}, tensor<4x4xf32> {onnx.index = 3 : i64, onnx.name = "b"})
// CHECK-NEXT:  %[[RA:.*]] = hh.recv on 0 from 0 : tensor<4x4xf32> loc(#[[NAMEA]])
// CHECK-NEXT:  %[[B:.*]] = onnx.Exp(%[[RA]])
// CHECK-NEXT:  hh.send %[[B]] on 2 to 2 : tensor<4x4xf32> loc(#[[NAMEB:.*]])
// CHECK-NEXT:  %[[P:.*]]:2 = onnx.Split(%[[B]])
// CHECK-NEXT:  hh.send %[[P]]#1 on 3 to 2 {pack} : tensor<2x4xf32>
// CHECK-NEXT:  hh.return %[[B]], %[[B]] : tensor<4x4xf32>, tensor<4x4xf32>

// CHECK-LABEL: hh.program @stage_2(%{{.*}}: tensor<4x4xf32> {onnx.index = 1 : i64, onnx.name = "mask"}
// CHECK-NEXT:  %[[R1:.*]] = hh.recv on 1 from 0 : tensor<4x4xf32>
// CHECK-NEXT:  %[[R2:.*]] = hh.recv on 2 from 1 : tensor<4x4xf32>
// CHECK-NEXT:  %[[R3:.*]] = hh.recv on 3 from 1 : tensor<2x4xf32>
// CHECK-NOT:   func.func @main
// CHECK-DAG:   #[[NAMEA]] = loc("a")
// CHECK-DAG:   #[[NAMEB]] = loc("b")

// STREAM:      hh.schedule {
// STREAM-NEXT:   stage 0 replica 0 {
// STREAM-NEXT:     forward 0
// STREAM-NEXT:     send 0 on 0 to 1 replica 0 bytes 64
// STREAM-NEXT:     send 0 on 1 to 2 replica 0 bytes 64
// STREAM-NEXT:   }
// STREAM-NEXT:   stage 1 replica 0 {
// STREAM-NEXT:     recv 0 on 0 from 0 replica 0 bytes 64
// STREAM-NEXT:     forward 0
// STREAM-NEXT:     send 0 on 2 to 2 replica 0 bytes 64
// STREAM-NEXT:     send 0 on 3 to 2 replica 0 bytes 32
// STREAM-NEXT:   }
// STREAM-NEXT:   stage 2 replica 0 {
// STREAM-NEXT:     recv 0 on 1
// STREAM-NEXT:     recv 0 on 2
// STREAM-NEXT:     recv 0 on 3
// STREAM-NEXT:     forward 0
// STREAM-NEXT:   }
// STREAM-NEXT: }

// STEP:     hh.schedule microbatches 2 {
// STEP:       forward 1
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x", onnx.dims = ["", "n"]}, %mask: tensor<4x4xf32> {onnx.name = "mask"}, %none: tensor<4x4xf32> {onnx.name = "none"})
    -> (tensor<4x4xf32> {onnx.name = "y"}, tensor<4x4xf32> {onnx.name = "b"}, tensor<4x4xf32> {onnx.name = "x"}, tensor<4x4xf32> {onnx.name = "b"}) {
  %a = hh.stage 0 on @d (%i = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %v = onnx.Relu(%i) : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("a")
    hh.yield %v : tensor<4x4xf32>
  } {hh.forward_seconds = 1.0e-3 : f64} loc("a")
  %b:2 = hh.stage 1 on @d (%i = %a) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<2x4xf32>) {
    %v = onnx.Exp(%i) : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("b")
    %p:2 = onnx.Split(%v) {axis = 0 : i64, num_outputs = 2 : i64} : (tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) loc("p")
    hh.yield %v, %p#1 : tensor<4x4xf32>, tensor<2x4xf32>
  }
  %y = hh.stage 2 on @d (%i = %a, %j = %b#0, %k = %b#1, %m = %mask) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
    %v = onnx.Concat(%k, %k) {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<4x4xf32>) loc("cat")
    %w = onnx.Sum(%i, %j, %v, %m) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("y")
    hh.yield %w : tensor<4x4xf32>
  }
  return %y, %b#0, %x, %b#0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// RUN: hh-opt %s | hh-opt | FileCheck %s
// RUN: hh-opt %s --emit-bytecode | hh-opt | FileCheck %s
// RUN: hh-opt %s --mlir-print-op-generic | hh-opt | FileCheck %s

// CHECK: hh.device_type @old kind "cuda" count 8 memory 17179869184 {accelerator = "V100-16GB", nodes = 2 : i64}
hh.device_type @old kind "cuda" count 8 memory 17179869184 {nodes = 2 : i64, accelerator = "V100-16GB"}
// CHECK: hh.device_type @new kind "cpu" count 1 memory 1000 {emulated_slowdown = 2.500000e+00 : f64, peak_flops = {float32 = 1.000000e+10 : f64}}
hh.device_type @new kind "cpu" count 1 memory 1000 {peak_flops = {float32 = 1.0e10}, emulated_slowdown = 2.5 : f64}
// CHECK: hh.link @old to @new bandwidth 3.125000e+09 latency 3.000000e-05 {emulated, stated, via = "host"}
hh.link @old to @new bandwidth 3.125e+09 latency 3.0e-05 {via = "host", emulated, stated}
// CHECK: hh.link @old to @old bandwidth 5.000000e+09 latency 1.000000e-04 {chunk = 4096 : i64, routed, routes = [{bandwidth = 5.000000e+09 : f64, chunk = 4096 : i64, latency = 1.000000e-04 : f64, via = "host"}, {bandwidth = 1.000000e+09 : f64, latency = 0.000000e+00 : f64}], via = "host"}
hh.link @old to @old bandwidth 5.0e+09 latency 1.0e-04 {chunk = 4096 : i64, routed, via = "host", routes = [{bandwidth = 5.0e+09, chunk = 4096 : i64, latency = 1.0e-04, via = "host"}, {bandwidth = 1.0e+09, latency = 0.0}]}
// CHECK: hh.parameter @h.0.w : tensor<4x4xf32> from "m.onnx.data" offset 4096 length 64
hh.parameter @"h.0.w" : tensor<4x4xf32> from "m.onnx.data" offset 4096 length 64
// CHECK: hh.parameter @scale : tensor<4xf32> from "m.onnx" tensor "scale"
hh.parameter @scale : tensor<4xf32> from "m.onnx" tensor "scale"

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: hh.stage 0 on @old replicas 2 (%{{.*}} = %{{.*}}) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = hh.stage 0 on @old replicas 2 (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    // CHECK: hh.get_parameter @h.0.w : tensor<4x4xf32>
    %w = hh.get_parameter @"h.0.w" : tensor<4x4xf32>
    // CHECK: hh.yield %{{.*}} : tensor<4x4xf32>
    hh.yield %w : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: hh.program @stage_1(
// CHECK-SAME: tensor<i1> {onnx.index = 0 : i64, onnx.name = "mask"}) -> (tensor<4x4xf32> {onnx.index = 0 : i64, onnx.name = "y"})
// CHECK-SAME: attributes {device = @new, replicas = 1 : i64, stage = 1 : i64}
hh.program @stage_1(%mask: tensor<i1> {onnx.name = "mask", onnx.index = 0 : i64})
    -> (tensor<4x4xf32> {onnx.name = "y", onnx.index = 0 : i64})
    attributes {stage = 1 : i64, device = @new, replicas = 1 : i64} {
  // CHECK: hh.recv on 0 from 0 : tensor<4x4xf32>
  %h = hh.recv on 0 from 0 : tensor<4x4xf32>
  // CHECK: hh.start_up -> tensor<4xf32> {
  %p = hh.start_up -> tensor<4xf32> {
    // CHECK: hh.constant dense<1.000000e+00> : tensor<4xf32>
    %c = hh.constant dense<1.0> : tensor<4xf32>
    hh.yield %c : tensor<4xf32>
  }
  // CHECK: hh.if %{{.*}} : (tensor<i1>) -> tensor<4x4xf32> {
  %y = hh.if %mask : (tensor<i1>) -> tensor<4x4xf32> {
    hh.yield %h : tensor<4x4xf32>
  } else {
    hh.yield %h : tensor<4x4xf32>
  }
  // CHECK: hh.all_reduce %{{.*}} group "tied:wte" stages [0, 1] : tensor<4x4xf32>
  %z = hh.all_reduce %y group "tied:wte" stages [0, 1] : tensor<4x4xf32>
  // CHECK: hh.send %{{.*}} on 1 to 2 {pack} : tensor<4x4xf32>
  hh.send %z on 1 to 2 {pack} : tensor<4x4xf32>
  // CHECK: hh.return %{{.*}} : tensor<4x4xf32>
  hh.return %z : tensor<4x4xf32>
}

// CHECK:      hh.plan {
// CHECK-NEXT:   microbatches = 4
// CHECK-NEXT:   stages = [{
// CHECK-NEXT:     device_type = "old"
// CHECK-NEXT:     forward_seconds = 1.000000e-03
// CHECK-NEXT:     nodes = ["a", "b c"]
// CHECK-NEXT:   }]
// CHECK-NEXT:   training = false
// CHECK-NEXT: }
hh.plan {
  microbatches = 4
  training = false
  stages = [{device_type = "old" nodes = ["a", "b c"] forward_seconds = 1.0e-3}]
}

// CHECK-LABEL: @loop
// CHECK: %[[R:.*]]:2 = hh.loop %{{.*}} while %{{.*}} carries(%{{.*}}) : tensor<i64>, tensor<i1>, (tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[GO:.*]]: tensor<i1>, %[[B:.*]]: tensor<2xf32>):
// CHECK:   hh.yield %[[GO]], %[[B]], %[[B]] : tensor<i1>, tensor<2xf32>, tensor<2xf32>
// CHECK: hh.cast %[[R]]#1 : tensor<?x2xf32> to tensor<3x2xf32>
func.func @loop(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<2xf32>) -> tensor<3x2xf32> {
  %0:2 = hh.loop %n while %c carries (%x) : tensor<i64>, tensor<i1>, (tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %before: tensor<2xf32>):
    hh.yield %go, %before, %before : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  %1 = hh.cast %0#1 : tensor<?x2xf32> to tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// CHECK:      hh.fingerprint outputs [-7, 9] {
// CHECK-NEXT:   "h.0/attn" -5, 12
// CHECK-NEXT: }
hh.fingerprint outputs [-7, 9] {
  "h.0/attn" -5, 12
}

// CHECK:      hh.schedule microbatches 1 {
// CHECK-NEXT:   stage 0 replica 1 {
// CHECK-NEXT:     forward 0
// CHECK-NEXT:     send 0 on 0 to 1 replica 0 bytes 64
// CHECK-NEXT:   }
// CHECK-NEXT:   stage 1 replica 0 {
// CHECK-NEXT:     recv 0 on 0 from 0 replica 1 bytes 64
// CHECK-NEXT:     forward 0
// CHECK-NEXT:   }
// CHECK-NEXT: }
hh.schedule microbatches 1 {
  stage 0 replica 1 { forward 0 send 0 on 0 to 1 replica 0 bytes 64 }
  stage 1 replica 0 { recv 0 on 0 from 0 replica 1 bytes 64 forward 0 }
}
// CHECK: hh.schedule {
// CHECK-NEXT: }
hh.schedule {}

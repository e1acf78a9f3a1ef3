// RUN: hh-opt %s --hh-differentiate=microbatches=4 --hh-verify-phase=phase=differentiate | FileCheck %s
// RUN: hh-opt %s --hh-differentiate=microbatches=4 | hh-opt --verify-roundtrip --hh-verify-phase=phase=differentiate

// A value that skips a stage (%h), one that two stages read, and a parameter in two stages: gradients come back on
// channels of their own, behind those of the values and in their order, and are added where a value has several readers.

module {
  hh.device_type @host kind "cpu" count 3 memory 1073741824
  hh.parameter @embed : tensor<8x4xf32> from "m.onnx" offset 0 length 128
  hh.parameter @scale : tensor<4xf32> from "m.onnx" offset 128 length 16
  hh.program @stage_0(%x: tensor<2x8xf32> {onnx.index = 0 : i64, onnx.name = "x"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @embed : tensor<8x4xf32>
    %h = aten.mm(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> (tensor<2x4xf32>)
    hh.send %h on 0 to 1 : tensor<2x4xf32>
    hh.send %h on 1 to 2 : tensor<2x4xf32>
    %i = aten.argmax(%h) {dim = 1 : i64} : (tensor<2x4xf32>) -> (tensor<2xi64>)
    hh.send %i on 2 to 2 : tensor<2xi64>
    hh.return
  }
  hh.program @stage_1() attributes {stage = 1 : i64, device = @host, replicas = 1 : i64} {
    %h = hh.recv on 0 from 0 : tensor<2x4xf32>
    %s = hh.get_parameter @scale : tensor<4xf32>
    %y = aten.mul.Tensor(%h, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    hh.send %y on 3 to 2 : tensor<2x4xf32>
    hh.return
  }
  hh.program @stage_2() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 2 : i64, device = @host, replicas = 1 : i64} {
    %h = hh.recv on 1 from 0 : tensor<2x4xf32>
    %i = hh.recv on 2 from 0 : tensor<2xi64>
    %y = hh.recv on 3 from 1 : tensor<2x4xf32>
    %w = hh.get_parameter @embed : tensor<8x4xf32>
    %z = aten.mul.Tensor(%y, %h) : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>)
    %t = aten.t(%w) : (tensor<8x4xf32>) -> (tensor<4x8xf32>)
    %l = aten.mm(%z, %t) : (tensor<2x4xf32>, tensor<4x8xf32>) -> (tensor<2x8xf32>)
    %p = aten.index_select(%l, %i) {dim = 1 : i64} : (tensor<2x8xf32>, tensor<2xi64>) -> (tensor<2x2xf32>)
    %loss = aten.sum.dim_IntList(%p) {dim = array<i64: 0, 1>} : (tensor<2x2xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// The input is all that the first stage keeps.
// CHECK-LABEL: hh.program @stage_0(%arg0: tensor<2x8xf32> {{.*}}) -> (tensor<2x8xf32> {hh.saved = 0 : i64})
// CHECK: hh.return %arg0
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32> {hh.saved = 0 : i64}) -> (tensor<8x4xf32> {hh.gradient = @embed})
// CHECK-SAME: part = "backward"
// CHECK-DAG: %[[G0:.*]] = hh.recv on 4 from 1 : tensor<2x4xf32>
// CHECK-DAG: %[[G1:.*]] = hh.recv on 5 from 2 : tensor<2x4xf32>
// CHECK: %[[G:.*]] = aten.add.Tensor(%[[G0]], %[[G1]])
// CHECK: aten.mm(%{{.*}}, %[[G]])
// CHECK-NOT: hh.send

// CHECK-LABEL: hh.program @stage_1()
// CHECK-SAME: -> (tensor<2x4xf32> {hh.saved = 0 : i64})
// CHECK-LABEL: hh.program @stage_1_backward(
// CHECK-SAME: %[[H:.*]]: tensor<2x4xf32> {hh.saved = 0 : i64}) -> (tensor<4xf32> {hh.gradient = @scale})
// CHECK: %[[GY:.*]] = hh.recv on 6 from 2
// CHECK: %[[S:.*]] = hh.get_parameter @scale
// CHECK: %[[GH:.*]] = aten.mul.Tensor(%[[GY]], %[[S]])
// CHECK: hh.send %[[GH]] on 4 to 0

// The loss of a step is the mean over four microbatches. The view of the parameter is made again, not saved.
// CHECK-LABEL: hh.program @stage_2()
// CHECK-SAME: hh.loss
// CHECK-LABEL: hh.program @stage_2_backward(
// CHECK-SAME: -> (tensor<8x4xf32> {hh.gradient = @embed})
// CHECK: hh.constant dense<2.500000e-01>
// CHECK: hh.get_parameter @embed
// CHECK: hh.send %{{.*}} on 5 to 0
// CHECK: hh.send %{{.*}} on 6 to 1

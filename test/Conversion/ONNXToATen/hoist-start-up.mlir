// RUN: hh-opt %s --hh-hoist-start-up | FileCheck %s
// RUN: hh-opt %s --hh-hoist-start-up=training | FileCheck %s --check-prefix=TRAINING

// Work on parameters and constants runs once, when the program is loaded; what the forward pass reads as well is read
// in both places.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<8x4xf32> from "m.onnx" offset 0 length 128
  hh.program @stage_0(%x: tensor<2x8xf32>) -> (tensor<2x4xf32>) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<8x4xf32>
    %t = aten.t(%w) : (tensor<8x4xf32>) -> (tensor<4x8xf32>)
    %u = aten.mul.Scalar(%t) {other = 2.0 : f64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>)
    %b = aten.full() {dtype = f32, fill_value = 1.0 : f64, size = array<i64: 4>} : () -> (tensor<4xf32>)
    %y = aten.linear(%x, %u, %b) : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    %z = aten.matmul(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> (tensor<2x4xf32>)
    %s = aten.add.Tensor(%y, %z) : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>)
    hh.return %s : tensor<2x4xf32>
  }
}

// CHECK-LABEL: hh.program @stage_0
// CHECK-NEXT: %[[START:.*]]:2 = hh.start_up -> tensor<4x8xf32>, tensor<4xf32> {
// CHECK-NEXT: %[[W:.*]] = hh.get_parameter @w
// CHECK-NEXT: %[[T:.*]] = aten.t(%[[W]])
// CHECK-NEXT: %[[U:.*]] = aten.mul.Scalar(%[[T]])
// CHECK-NEXT: %[[B:.*]] = aten.full()
// CHECK-NEXT: hh.yield %[[U]], %[[B]]
// CHECK: %[[V:.*]] = hh.get_parameter @w
// CHECK-NEXT: aten.linear(%{{.*}}, %[[START]]#0, %[[START]]#1)
// CHECK-NEXT: aten.matmul(%{{.*}}, %[[V]])
// CHECK-NOT: aten.t(

// Parameters change in training: only what constants make moves.
// TRAINING-LABEL: hh.program @stage_0
// TRAINING-NEXT: %[[START:.*]] = hh.start_up -> tensor<4xf32> {
// TRAINING-NEXT: aten.full()
// TRAINING: %[[W:.*]] = hh.get_parameter @w
// TRAINING-NEXT: aten.t(%[[W]])
// TRAINING-NEXT: aten.mul.Scalar

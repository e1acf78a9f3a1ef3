// RUN: hh-opt %s --split-input-file --hh-differentiate --hh-verify-phase=phase=differentiate | FileCheck %s
// RUN: hh-opt %s --split-input-file --hh-differentiate=split-weight --hh-verify-phase=phase=differentiate | FileCheck %s --check-prefix=SPLIT

// What single rules cannot see. Three pieces of a projection: their gradients lie side by side, where slice_backward
// would pad each with zeros. The gradient of a transposed matrix is a product that comes out in the matrix' own order.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<12x4xf32> from "m.onnx" offset 0 length 192
  hh.program @stage_0(%x: tensor<6x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<12x4xf32>
    %t = aten.t(%w) : (tensor<12x4xf32>) -> (tensor<4x12xf32>)
    %y = aten.mm(%x, %t) : (tensor<6x4xf32>, tensor<4x12xf32>) -> (tensor<6x12xf32>)
    %q = aten.slice.Tensor(%y) {dim = 1 : i64, start = 0 : i64, end = 4 : i64} : (tensor<6x12xf32>) -> (tensor<6x4xf32>)
    %k = aten.slice.Tensor(%y) {dim = 1 : i64, start = 4 : i64, end = 8 : i64} : (tensor<6x12xf32>) -> (tensor<6x4xf32>)
    %v = aten.slice.Tensor(%y) {dim = 1 : i64, start = 8 : i64, end = 12 : i64} : (tensor<6x12xf32>) -> (tensor<6x4xf32>)
    %qk = aten.mul.Tensor(%q, %k) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>)
    %qkv = aten.mul.Tensor(%qk, %v) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>)
    %loss = aten.sum.dim_IntList(%qkv) {dim = array<i64: 0, 1>} : (tensor<6x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: %[[QK:.*]] = aten.mul.Tensor(%{{.*}}, %arg0)
// CHECK: %[[V:.*]] = aten.mul.Tensor(%{{.*}}, %arg1)
// CHECK: %[[Q:.*]] = aten.mul.Tensor(%[[QK]], %arg2)
// CHECK: %[[K:.*]] = aten.mul.Tensor(%[[QK]], %arg3)
// CHECK: %[[G:.*]] = aten.cat([%[[Q]], %[[K]], %[[V]]]) {dim = 1 : i64}
// CHECK-NOT: aten.add
// CHECK: %[[T:.*]] = aten.transpose.int(%[[G]])
// CHECK-NEXT: %[[W:.*]] = aten.mm(%[[T]], %arg4)
// CHECK-NEXT: hh.return %[[W]]
// SPLIT-LABEL: hh.program @stage_0_weight(
// SPLIT: aten.mm(

// -----

// One call makes the gradients of data and parameters, unless they belong to different programs.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4xf32> from "m.onnx" offset 0 length 16
  hh.parameter @v : tensor<4xf32> from "m.onnx" offset 16 length 16
  hh.program @stage_0(%x: tensor<6x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4xf32>
    %v = hh.get_parameter @v : tensor<4xf32>
    %y = aten.mul.Tensor(%x, %v) : (tensor<6x4xf32>, tensor<4xf32>) -> (tensor<6x4xf32>)
    %n = aten.layer_norm(%y, %w, none) {normalized_shape = array<i64: 4>} : (tensor<6x4xf32>, tensor<4xf32>, none) -> (tensor<6x4xf32>)
    %s = aten.mul.Tensor(%n, %n) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>)
    %loss = aten.sum.dim_IntList(%s) {dim = array<i64: 0, 1>} : (tensor<6x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: %[[N:.*]]:3 = aten.native_layer_norm_backward({{.*}}output_mask = array<i1: true, true, false>
// CHECK-NOT: native_layer_norm_backward
// CHECK: hh.return %[[N]]#1,
// SPLIT-LABEL: hh.program @stage_0_backward(
// SPLIT: aten.native_layer_norm_backward({{.*}}output_mask = array<i1: true, false, false>
// SPLIT-LABEL: hh.program @stage_0_weight(
// SPLIT: aten.native_layer_norm_backward({{.*}}output_mask = array<i1: false, true, false>

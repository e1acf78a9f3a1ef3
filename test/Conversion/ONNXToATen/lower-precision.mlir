// RUN: hh-opt %s --hh-lower-precision | FileCheck %s

// Products on a device type that trains in bfloat16 read rounded operands, in branches too; sums, norms, integers and
// what is not float32 stay. Other device types compute as the model says.

module {
  hh.device_type @narrow kind "cpu" count 1 memory 1073741824 {training_precision = "bfloat16"}
  hh.device_type @wide kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<8x4xf32> from "m.onnx" offset 0 length 128
  hh.parameter @b : tensor<8xf32> from "m.onnx" offset 128 length 32
  hh.program @stage_0(%x: tensor<2x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}, %d: tensor<4x4xf64> {onnx.index = 1 : i64, onnx.name = "d"}, %c: tensor<i1> {onnx.index = 2 : i64, onnx.name = "c"}) -> () attributes {stage = 0 : i64, device = @narrow, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<8x4xf32>
    %b = hh.get_parameter @b : tensor<8xf32>
    %y = aten.linear(%x, %w, %b) : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> (tensor<2x8xf32>)
    %s = aten.add.Tensor(%y, %b) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>)
    %p = aten.mm(%d, %d) : (tensor<4x4xf64>, tensor<4x4xf64>) -> (tensor<4x4xf64>)
    %z = hh.if %c : (tensor<i1>) -> tensor<2x4xf32> {
      %m = aten.mm(%s, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> (tensor<2x4xf32>)
      hh.yield %m : tensor<2x4xf32>
    } else {
      hh.yield %x : tensor<2x4xf32>
    }
    hh.send %z on 0 to 1 : tensor<2x4xf32>
    hh.return
  }
  hh.program @stage_1() -> (tensor<2x8xf32> {onnx.index = 0 : i64, onnx.name = "y"}) attributes {stage = 1 : i64, device = @wide, replicas = 1 : i64} {
    %z = hh.recv on 0 from 0 : tensor<2x4xf32>
    %w = hh.get_parameter @w : tensor<8x4xf32>
    %b = hh.get_parameter @b : tensor<8xf32>
    %y = aten.linear(%z, %w, %b) : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> (tensor<2x8xf32>)
    hh.return %y : tensor<2x8xf32>
  }
}

// CHECK-LABEL: hh.program @stage_0
// CHECK: %[[W:.*]] = hh.get_parameter @w : tensor<8x4xf32>
// CHECK: %[[B:.*]] = hh.get_parameter @b : tensor<8xf32>
// CHECK-DAG: %[[XN:.*]] = aten.to.dtype(%arg0) {dtype = bf16}
// CHECK-DAG: %[[WN:.*]] = aten.to.dtype(%[[W]]) {dtype = bf16}
// CHECK-DAG: %[[BN:.*]] = aten.to.dtype(%[[B]]) {dtype = bf16}
// CHECK: %[[YN:.*]] = aten.linear(%[[XN]], %[[WN]], %[[BN]]) : (tensor<2x4xbf16>, tensor<8x4xbf16>, tensor<8xbf16>) -> (tensor<2x8xbf16>)
// CHECK: %[[Y:.*]] = aten.to.dtype(%[[YN]]) {dtype = f32}
// CHECK: %[[S:.*]] = aten.add.Tensor(%[[Y]], %[[B]])
// CHECK: aten.mm({{.*}}) : (tensor<4x4xf64>, tensor<4x4xf64>) -> (tensor<4x4xf64>)
// CHECK: hh.if
// CHECK: %[[SN:.*]] = aten.to.dtype(%[[S]]) {dtype = bf16}
// CHECK: %[[MN:.*]] = aten.mm(%[[SN]], %{{.*}}) : (tensor<2x8xbf16>, tensor<8x4xbf16>) -> (tensor<2x4xbf16>)
// CHECK: %[[M:.*]] = aten.to.dtype(%[[MN]]) {dtype = f32}
// CHECK: hh.yield %[[M]]
// CHECK-LABEL: hh.program @stage_1
// CHECK-NOT: bf16

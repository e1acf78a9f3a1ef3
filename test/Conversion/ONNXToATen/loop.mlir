// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

// CHECK-LABEL: @sum(
// CHECK-SAME: %[[N:.*]]: tensor<i64>, %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<2xf32>
// CHECK: %[[L:.*]]:2 = hh.loop %[[N]] while %[[C]] carries(%[[X]])
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[GO:.*]]: tensor<i1>, %[[B:.*]]: tensor<2xf32>):
// CHECK:   %[[Y:.*]] = aten.add.Tensor(%[[B]], %[[X]])
// CHECK:   hh.yield %[[GO]], %[[Y]], %[[Y]]
// CHECK: %[[ALL:.*]] = hh.cast %[[L]]#1 : tensor<?x2xf32> to tensor<5x2xf32>
// CHECK: return %[[L]]#0, %[[ALL]]
func.func @sum(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>) {
  %0:2 = onnx.Loop(%n, %c, %x) : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>) body {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %before: tensor<2xf32>):
    %1 = onnx.Add(%before, %x) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
    onnx.Yield %go, %1, %1 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<5x2xf32>
}

// From the last element on, and each result in front.
// CHECK-LABEL: @scan(
// CHECK-SAME: %[[H:.*]]: tensor<2xf32>, %[[X:.*]]: tensor<2x3xf32>
// CHECK: %[[N:.*]] = hh.constant dense<3> : tensor<i64>
// CHECK: %[[L:.*]]:2 = hh.loop %[[N]] while %{{.*}} carries(%[[H]])
// CHECK: ^bb0(%[[I:.*]]: tensor<i64>, %{{.*}}: tensor<i1>, %[[B:.*]]: tensor<2xf32>):
// CHECK:   %[[E:.*]] = aten.hethub.element_of(%[[X]], %[[I]]) {axis = 1 : i64, reverse = true}
// CHECK:   %[[Y:.*]] = aten.add.Tensor(%[[B]], %[[E]])
// CHECK: %[[F:.*]] = aten.flip(%[[L]]#1) {dims = array<i64: 0>}
// CHECK: %[[P:.*]] = aten.permute(%[[F]]) {dims = array<i64: 1, 0>}
func.func @scan(%h: tensor<2xf32>, %x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x3xf32>) {
  %0:2 = onnx.Scan(%h, %x) {num_scan_inputs = 1 : i64, scan_input_axes = array<i64: 1>, scan_input_directions = array<i64: 1>,
      scan_output_axes = array<i64: 1>, scan_output_directions = array<i64: 1>}
      : (tensor<2xf32>, tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x3xf32>) body {
  ^bb0(%before: tensor<2xf32>, %e: tensor<2xf32>):
    %1 = onnx.Add(%before, %e) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
    onnx.Yield %1, %1 : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @map(
// CHECK-SAME: %[[S:.*]]: !onnx.seq<tensor<2xf32>>
// CHECK: %[[N:.*]] = aten.hethub.sequence_length(%[[S]])
// CHECK: %[[EMPTY:.*]] = aten.hethub.sequence_construct([])
// CHECK: hh.loop %[[N]] while %{{.*}} carries(%[[EMPTY]])
// CHECK: ^bb0(%[[I:.*]]: tensor<i64>, %{{.*}}: tensor<i1>, %[[MADE:.*]]: !onnx.seq<tensor<2xf32>>):
// CHECK:   %[[E:.*]] = aten.hethub.sequence_at(%[[S]], %[[I]])
// CHECK:   %[[Y:.*]] = aten.relu(%[[E]])
// CHECK:   aten.hethub.sequence_insert(%[[MADE]], %[[Y]], none)
func.func @map(%s: !onnx.seq<tensor<2xf32>>) -> !onnx.seq<tensor<2xf32>> {
  %0 = onnx.SequenceMap(%s) : (!onnx.seq<tensor<2xf32>>) -> (!onnx.seq<tensor<2xf32>>) body {
  ^bb0(%e: tensor<2xf32>):
    %1 = onnx.Relu(%e) : (tensor<2xf32>) -> (tensor<2xf32>)
    onnx.Yield %1 : tensor<2xf32>
  }
  return %0 : !onnx.seq<tensor<2xf32>>
}

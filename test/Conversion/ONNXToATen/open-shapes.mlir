// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

// What is no constant is read when it runs.
// CHECK-LABEL: @given(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[SHAPE:.*]]: tensor<2xi64>
// CHECK: %[[R:.*]] = aten.hethub.reshape_to(%[[X]], %[[SHAPE]]) {allow_zero = false} : {{.*}} -> (tensor<?x?xf32>)
// CHECK: %[[Y:.*]] = aten.relu(%[[R]]) : (tensor<?x?xf32>) -> (tensor<?x?xf32>)
func.func @given(%x: tensor<2x3xf32>, %shape: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = onnx.Reshape(%x, %shape) : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<?x?xf32>)
  %1 = onnx.Relu(%0) : (tensor<?x?xf32>) -> (tensor<?x?xf32>)
  return %1 : tensor<?x?xf32>
}

// Axes only: the result's shape is known.
// CHECK-LABEL: @axes(
// CHECK: aten.hethub.reduce_by(%{{.*}}, %{{.*}}) {keep = true, kind = "LogSumExp", nothing_if_empty = false}
// CHECK-SAME: -> (tensor<?x?xf32>)
func.func @axes(%x: tensor<2x3xf32>, %axes: tensor<1xi64>) -> tensor<?x?xf32> {
  %0 = onnx.ReduceLogSumExp(%x, %axes) : (tensor<2x3xf32>, tensor<1xi64>) -> (tensor<?x?xf32>)
  return %0 : tensor<?x?xf32>
}

// Sizes known on one side are known of the result.
// CHECK-LABEL: @broadcast(
// CHECK: aten.add.Tensor({{.*}}) : (tensor<?x3xf32>, tensor<4x1xf32>) -> (tensor<4x3xf32>)
func.func @broadcast(%x: tensor<?x3xf32>, %y: tensor<4x1xf32>) -> tensor<4x3xf32> {
  %0 = onnx.Add(%x, %y) : (tensor<?x3xf32>, tensor<4x1xf32>) -> (tensor<4x3xf32>)
  return %0 : tensor<4x3xf32>
}

// Inference may know less than the call tells, and more.
// CHECK-LABEL: @casts(
// CHECK: %[[A:.*]] = aten.add.Tensor({{.*}}) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
// CHECK: hh.cast %[[A]] : tensor<2xf32> to tensor<?xf32>
func.func @casts(%x: tensor<2xf32>) -> tensor<?xf32> {
  %0 = onnx.Add(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<?xf32>)
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @unranked(
// CHECK: aten.mul.Tensor({{.*}}) : (tensor<*xf32>, tensor<3xf32>) -> (tensor<*xf32>)
func.func @unranked(%x: tensor<*xf32>, %y: tensor<3xf32>) -> tensor<*xf32> {
  %0 = onnx.Mul(%x, %y) : (tensor<*xf32>, tensor<3xf32>) -> (tensor<*xf32>)
  return %0 : tensor<*xf32>
}

// RUN: hh-opt %s | hh-opt | FileCheck %s

// CHECK-LABEL: @plain
func.func @plain(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK: aten.add.Tensor(%{{.*}}, %{{.*}}) {alpha = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  %0 = aten.add.Tensor(%a, %b) {alpha = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @absent_tensors
func.func @absent_tensors(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK: aten.layer_norm(%{{.*}}, %{{.*}}, none) {normalized_shape = array<i64: 3>} : (tensor<2x3xf32>, tensor<3xf32>, none) -> (tensor<2x3xf32>)
  %0 = aten.layer_norm(%x, %w, none) {normalized_shape = array<i64: 3>}
      : (tensor<2x3xf32>, tensor<3xf32>, none) -> (tensor<2x3xf32>)
  // CHECK: aten.layer_norm(%{{.*}}, none, %{{.*}})
  %1 = aten.layer_norm(%0, none, %w) {normalized_shape = array<i64: 3>}
      : (tensor<2x3xf32>, none, tensor<3xf32>) -> (tensor<2x3xf32>)
  return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: @lists
func.func @lists(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %i: tensor<5xi64>) -> (tensor<2x7xf32>, tensor<2x5xf32>) {
  // CHECK: aten.cat([%{{.*}}, %{{.*}}]) {dim = 1 : i64} : ([tensor<2x3xf32>, tensor<2x4xf32>]) -> (tensor<2x7xf32>)
  %0 = aten.cat([%a, %b]) {dim = 1 : i64} : ([tensor<2x3xf32>, tensor<2x4xf32>]) -> (tensor<2x7xf32>)
  // CHECK: aten.index.Tensor(%{{.*}}, [none, %{{.*}}]) : (tensor<2x7xf32>, [none, tensor<5xi64>]) -> (tensor<2x5xf32>)
  %1 = aten.index.Tensor(%0, [none, %i]) : (tensor<2x7xf32>, [none, tensor<5xi64>]) -> (tensor<2x5xf32>)
  return %0, %1 : tensor<2x7xf32>, tensor<2x5xf32>
}

// CHECK-LABEL: @kinds_of_arguments
func.func @kinds_of_arguments(%x: tensor<2x3xf32>) -> tensor<4xf64> {
  // CHECK: aten.clamp(%{{.*}}) {max = 6.000000e+00 : f64, min = 0 : i64}
  %0 = aten.clamp(%x) {max = 6.0 : f64, min = 0 : i64} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  // CHECK: aten.gelu(%{{.*}}) {approximate = "tanh"}
  %1 = aten.gelu(%0) {approximate = "tanh"} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  // CHECK: aten.full() {dtype = f64, fill_value = true, size = array<i64: 4>} : () -> (tensor<4xf64>)
  %2 = aten.full() {dtype = f64, fill_value = true, size = array<i64: 4>} : () -> (tensor<4xf64>)
  return %2 : tensor<4xf64>
}

// CHECK-LABEL: @several_results
func.func @several_results(%x: tensor<5xf32>) -> tensor<5xi64> {
  // CHECK: aten.sort.stable(%{{.*}}) {stable = true} : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xi64>)
  %0:2 = aten.sort.stable(%x) {stable = true} : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xi64>)
  return %0#1 : tensor<5xi64>
}

// CHECK-LABEL: @function_of_the_runtime
func.func @function_of_the_runtime(%i: tensor<5xi32>) -> tensor<5xi64> {
  // CHECK: aten.hethub.wrap_index(%{{.*}}) {size = 8 : i64} : (tensor<5xi32>) -> (tensor<5xi64>)
  %0 = aten.hethub.wrap_index(%i) {size = 8 : i64} : (tensor<5xi32>) -> (tensor<5xi64>)
  return %0 : tensor<5xi64>
}

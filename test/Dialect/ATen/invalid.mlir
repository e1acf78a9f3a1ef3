// RUN: hh-opt %s -split-input-file -verify-diagnostics

func.func @unknown_argument(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{has no argument 'dim'}}
  %0 = aten.relu(%x) {dim = 0 : i64} : (tensor<2xf32>) -> (tensor<2xf32>)
  return %0 : tensor<2xf32>
}

// -----

func.func @kind_of_argument(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{argument 'dim' must be a 64-bit integer, got: 0 : i32}}
  %0 = aten.softmax.int(%x) {dim = 0 : i32} : (tensor<2xf32>) -> (tensor<2xf32>)
  return %0 : tensor<2xf32>
}

// -----

func.func @missing_argument(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{needs argument 'dim'}}
  %0 = aten.softmax.int(%x) : (tensor<2xf32>) -> (tensor<2xf32>)
  return %0 : tensor<2xf32>
}

// -----

func.func @length_of_list(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  // expected-error@+1 {{argument 'kernel_size' must have 2 elements, got: 1}}
  %0 = aten.max_pool2d(%x) {kernel_size = array<i64: 2>} : (tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2xf32>)
  return %0 : tensor<1x1x2x2xf32>
}

// -----

func.func @results(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{expects 2 results, got: 1}}
  %0 = aten.sort.stable(%x) {stable = true} : (tensor<2xf32>) -> (tensor<2xf32>)
  return %0 : tensor<2xf32>
}

// -----

func.func @required_tensor(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{argument 'other' must not be none}}
  %0 = aten.add.Tensor(%x, none) : (tensor<2xf32>, none) -> (tensor<2xf32>)
  return %0 : tensor<2xf32>
}

// -----

func.func @positions(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{operands and their types must have `none` and lists at the same positions}}
  %0 = aten.clamp.Tensor(%x, %x, none) : (tensor<2xf32>, none, tensor<2xf32>) -> (tensor<2xf32>)
  return %0 : tensor<2xf32>
}

// -----

func.func @generic_form(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{needs a 'present' attribute that fits its schema aten::cat}}
  %0 = "aten.cat"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @number_of_tensors(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{expects 2 tensors, got: 1}}
  %0 = "aten.add.Tensor"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

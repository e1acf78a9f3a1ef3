// RUN: hh-opt %s --onnx-raise-patterns --split-input-file | FileCheck %s

// CHECK-LABEL: @layer
// CHECK-SAME: %[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK: %[[Y:.*]] = onnx.LayerNormalization(%[[X]], %[[W]], %[[B]])
// CHECK-SAME: axis = -1 : i64, epsilon = 9.99999997E-7 : f32, stash_type = 1 : i64
// CHECK-NEXT: return %[[Y]]
func.func @layer(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x4x8xf32> {
  %axes = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %two = onnx.Constant() {value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %epsilon = onnx.Constant() {value = dense<1.0e-6> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.ReduceMean(%x, %axes) : (tensor<2x4x8xf32>, tensor<1xi64>) -> (tensor<2x4x1xf32>)
  %1 = onnx.Sub(%x, %0) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> (tensor<2x4x8xf32>)
  %2 = onnx.Pow(%1, %two) : (tensor<2x4x8xf32>, tensor<f32>) -> (tensor<2x4x8xf32>)
  %3 = onnx.ReduceMean(%2, %axes) : (tensor<2x4x8xf32>, tensor<1xi64>) -> (tensor<2x4x1xf32>)
  %4 = onnx.Add(%3, %epsilon) : (tensor<2x4x1xf32>, tensor<f32>) -> (tensor<2x4x1xf32>)
  %5 = onnx.Sqrt(%4) : (tensor<2x4x1xf32>) -> (tensor<2x4x1xf32>)
  %6 = onnx.Div(%1, %5) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> (tensor<2x4x8xf32>)
  %7 = onnx.Mul(%6, %w) : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>)
  %8 = onnx.Add(%7, %b) : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>)
  return %8 : tensor<2x4x8xf32>
}

// -----

// Over two axes, the square as a product, no bias.
// CHECK-LABEL: @layer_two_axes
// CHECK: onnx.LayerNormalization(%arg0, %arg1) {axis = 1 : i64
// CHECK-NEXT: return
func.func @layer_two_axes(%x: tensor<2x4x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  %axes = onnx.Constant() {value = dense<[1, 2]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %epsilon = onnx.Constant() {value = dense<1.0e-6> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.ReduceMean(%x, %axes) : (tensor<2x4x8xf32>, tensor<2xi64>) -> (tensor<2x1x1xf32>)
  %1 = onnx.Sub(%x, %0) : (tensor<2x4x8xf32>, tensor<2x1x1xf32>) -> (tensor<2x4x8xf32>)
  %2 = onnx.Mul(%1, %1) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>)
  %3 = onnx.ReduceMean(%2, %axes) : (tensor<2x4x8xf32>, tensor<2xi64>) -> (tensor<2x1x1xf32>)
  %4 = onnx.Add(%epsilon, %3) : (tensor<f32>, tensor<2x1x1xf32>) -> (tensor<2x1x1xf32>)
  %5 = onnx.Sqrt(%4) : (tensor<2x1x1xf32>) -> (tensor<2x1x1xf32>)
  %6 = onnx.Reciprocal(%5) : (tensor<2x1x1xf32>) -> (tensor<2x1x1xf32>)
  %7 = onnx.Mul(%1, %6) : (tensor<2x4x8xf32>, tensor<2x1x1xf32>) -> (tensor<2x4x8xf32>)
  %8 = onnx.Mul(%w, %7) : (tensor<4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>)
  return %8 : tensor<2x4x8xf32>
}

// -----

// Normalised over an axis in the middle: no operator of ONNX does that.
// CHECK-LABEL: @no_layer_middle_axis
// CHECK-NOT: Normalization
func.func @no_layer_middle_axis(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) -> tensor<2x4x8xf32> {
  %axes = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %two = onnx.Constant() {value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %epsilon = onnx.Constant() {value = dense<1.0e-6> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.ReduceMean(%x, %axes) : (tensor<2x4x8xf32>, tensor<1xi64>) -> (tensor<2x1x8xf32>)
  %1 = onnx.Sub(%x, %0) : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> (tensor<2x4x8xf32>)
  %2 = onnx.Pow(%1, %two) : (tensor<2x4x8xf32>, tensor<f32>) -> (tensor<2x4x8xf32>)
  %3 = onnx.ReduceMean(%2, %axes) : (tensor<2x4x8xf32>, tensor<1xi64>) -> (tensor<2x1x8xf32>)
  %4 = onnx.Add(%3, %epsilon) : (tensor<2x1x8xf32>, tensor<f32>) -> (tensor<2x1x8xf32>)
  %5 = onnx.Sqrt(%4) : (tensor<2x1x8xf32>) -> (tensor<2x1x8xf32>)
  %6 = onnx.Div(%1, %5) : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> (tensor<2x4x8xf32>)
  %7 = onnx.Mul(%6, %w) : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>)
  return %7 : tensor<2x4x8xf32>
}

// -----

// The mean of another value.
// CHECK-LABEL: @no_layer_other_mean
// CHECK-NOT: Normalization
func.func @no_layer_other_mean(%x: tensor<2x8xf32>, %z: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<2x8xf32> {
  %axes = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %two = onnx.Constant() {value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %epsilon = onnx.Constant() {value = dense<1.0e-6> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.ReduceMean(%z, %axes) : (tensor<2x8xf32>, tensor<1xi64>) -> (tensor<2x1xf32>)
  %1 = onnx.Sub(%x, %0) : (tensor<2x8xf32>, tensor<2x1xf32>) -> (tensor<2x8xf32>)
  %2 = onnx.Pow(%z, %two) : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>)
  %3 = onnx.ReduceMean(%2, %axes) : (tensor<2x8xf32>, tensor<1xi64>) -> (tensor<2x1xf32>)
  %4 = onnx.Add(%3, %epsilon) : (tensor<2x1xf32>, tensor<f32>) -> (tensor<2x1xf32>)
  %5 = onnx.Sqrt(%4) : (tensor<2x1xf32>) -> (tensor<2x1xf32>)
  %6 = onnx.Div(%1, %5) : (tensor<2x8xf32>, tensor<2x1xf32>) -> (tensor<2x8xf32>)
  %7 = onnx.Mul(%6, %w) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>)
  return %7 : tensor<2x8xf32>
}

// -----

// Llama: reciprocal, weight on the left.
// CHECK-LABEL: @rms
// CHECK: onnx.RMSNormalization(%arg0, %arg1) {axis = -1 : i64, epsilon = 9.99999997E-7 : f32, stash_type = 1 : i64}
// CHECK-NEXT: return
func.func @rms(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) -> tensor<2x4x8xf32> {
  %axes = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %two = onnx.Constant() {value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %epsilon = onnx.Constant() {value = dense<1.0e-6> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Pow(%x, %two) : (tensor<2x4x8xf32>, tensor<f32>) -> (tensor<2x4x8xf32>)
  %1 = onnx.ReduceMean(%0, %axes) : (tensor<2x4x8xf32>, tensor<1xi64>) -> (tensor<2x4x1xf32>)
  %2 = onnx.Add(%1, %epsilon) : (tensor<2x4x1xf32>, tensor<f32>) -> (tensor<2x4x1xf32>)
  %3 = onnx.Sqrt(%2) : (tensor<2x4x1xf32>) -> (tensor<2x4x1xf32>)
  %4 = onnx.Reciprocal(%3) : (tensor<2x4x1xf32>) -> (tensor<2x4x1xf32>)
  %5 = onnx.Mul(%x, %4) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> (tensor<2x4x8xf32>)
  %6 = onnx.Mul(%w, %5) : (tensor<8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>)
  return %6 : tensor<2x4x8xf32>
}

// -----

// Half precision around a float32 core.
// CHECK-LABEL: @rms_half
// CHECK: onnx.RMSNormalization(%arg0, %arg1) {{.*}} : (tensor<4x8xf16>, tensor<8xf16>) -> (tensor<4x8xf16>)
// CHECK-NEXT: return
func.func @rms_half(%x: tensor<4x8xf16>, %w: tensor<8xf16>) -> tensor<4x8xf16> {
  %axes = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %two = onnx.Constant() {value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %epsilon = onnx.Constant() {value = dense<1.0e-6> : tensor<f32>} : () -> (tensor<f32>)
  %c = onnx.Cast(%x) {to = 1 : i64} : (tensor<4x8xf16>) -> (tensor<4x8xf32>)
  %0 = onnx.Pow(%c, %two) : (tensor<4x8xf32>, tensor<f32>) -> (tensor<4x8xf32>)
  %1 = onnx.ReduceMean(%0, %axes) : (tensor<4x8xf32>, tensor<1xi64>) -> (tensor<4x1xf32>)
  %2 = onnx.Add(%1, %epsilon) : (tensor<4x1xf32>, tensor<f32>) -> (tensor<4x1xf32>)
  %3 = onnx.Sqrt(%2) : (tensor<4x1xf32>) -> (tensor<4x1xf32>)
  %4 = onnx.Div(%c, %3) : (tensor<4x8xf32>, tensor<4x1xf32>) -> (tensor<4x8xf32>)
  %5 = onnx.Cast(%4) {to = 10 : i64} : (tensor<4x8xf32>) -> (tensor<4x8xf16>)
  %6 = onnx.Mul(%w, %5) : (tensor<8xf16>, tensor<4x8xf16>) -> (tensor<4x8xf16>)
  return %6 : tensor<4x8xf16>
}

// -----

// A scale of one number is not of the normalised shape.
// CHECK-LABEL: @no_rms_scale
// CHECK-NOT: Normalization
func.func @no_rms_scale(%x: tensor<4x8xf32>, %w: tensor<1xf32>) -> tensor<4x8xf32> {
  %axes = onnx.Constant() {value = dense<-1> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %two = onnx.Constant() {value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %epsilon = onnx.Constant() {value = dense<1.0e-6> : tensor<f32>} : () -> (tensor<f32>)
  %0 = onnx.Pow(%x, %two) : (tensor<4x8xf32>, tensor<f32>) -> (tensor<4x8xf32>)
  %1 = onnx.ReduceMean(%0, %axes) : (tensor<4x8xf32>, tensor<1xi64>) -> (tensor<4x1xf32>)
  %2 = onnx.Add(%1, %epsilon) : (tensor<4x1xf32>, tensor<f32>) -> (tensor<4x1xf32>)
  %3 = onnx.Sqrt(%2) : (tensor<4x1xf32>) -> (tensor<4x1xf32>)
  %4 = onnx.Div(%x, %3) : (tensor<4x8xf32>, tensor<4x1xf32>) -> (tensor<4x8xf32>)
  %5 = onnx.Mul(%w, %4) : (tensor<1xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>)
  return %5 : tensor<4x8xf32>
}

// -----

// The inner scale and offset are ones and zeros that the compiler can see.
// CHECK-LABEL: @group
// CHECK: onnx.GroupNormalization(%arg0, %arg1, %arg2) {epsilon = 9.99999974E-6 : f32, num_groups = 2 : i64, stash_type = 1 : i64}
// CHECK-NEXT: return
func.func @group(%x: tensor<2x8x4x4xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8x4x4xf32> {
  %s = onnx.Constant() {value = dense<1.0> : tensor<2xf32>} : () -> (tensor<2xf32>)
  %t = onnx.Constant() {value = dense<0.0> : tensor<2xf32>} : () -> (tensor<2xf32>)
  %to = onnx.Constant() {value = dense<[2, 2, -1]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  %back = onnx.Constant() {value = dense<[2, 8, 4, 4]> : tensor<4xi64>} : () -> (tensor<4xi64>)
  %axes = onnx.Constant() {value = dense<[1, 2]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %0 = onnx.Reshape(%x, %to) : (tensor<2x8x4x4xf32>, tensor<3xi64>) -> (tensor<2x2x64xf32>)
  %1 = onnx.InstanceNormalization(%0, %s, %t) {epsilon = 1.0e-5 : f32} : (tensor<2x2x64xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x64xf32>)
  %2 = onnx.Reshape(%1, %back) : (tensor<2x2x64xf32>, tensor<4xi64>) -> (tensor<2x8x4x4xf32>)
  %3 = onnx.Unsqueeze(%w, %axes) : (tensor<8xf32>, tensor<2xi64>) -> (tensor<8x1x1xf32>)
  %4 = onnx.Mul(%2, %3) : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> (tensor<2x8x4x4xf32>)
  %5 = onnx.Unsqueeze(%b, %axes) : (tensor<8xf32>, tensor<2xi64>) -> (tensor<8x1x1xf32>)
  %6 = onnx.Add(%4, %5) : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> (tensor<2x8x4x4xf32>)
  return %6 : tensor<2x8x4x4xf32>
}

// -----

// They are parameters: scale and bias are made from them, group by group.
// CHECK-LABEL: @group_parameters
// CHECK-SAME: %[[X:.*]]: tensor<2x8x4x4xf32>, %[[W:.*]]: tensor<8x1x1xf32>, %[[B:.*]]: tensor<8x1x1xf32>, %[[S:.*]]: tensor<2xf32>, %[[T:.*]]: tensor<2xf32>
// CHECK: onnx.Mul(%{{.*}}, %{{.*}}) : (tensor<2x4xf32>, tensor<2x1xf32>) -> (tensor<2x4xf32>)
// CHECK: onnx.Add(%{{.*}}, %{{.*}}) : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>)
// CHECK: onnx.Mul(%{{.*}}, %{{.*}}) : (tensor<2x4xf32>, tensor<2x1xf32>) -> (tensor<2x4xf32>)
// CHECK: onnx.GroupNormalization(%[[X]], %{{.*}}, %{{.*}}) {{.*}} (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-NOT: InstanceNormalization
func.func @group_parameters(%x: tensor<2x8x4x4xf32>, %w: tensor<8x1x1xf32>, %b: tensor<8x1x1xf32>, %s: tensor<2xf32>, %t: tensor<2xf32>) -> tensor<2x8x4x4xf32> {
  %to = onnx.Constant() {value = dense<[2, 2, -1]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  %back = onnx.Constant() {value = dense<[2, 8, 4, 4]> : tensor<4xi64>} : () -> (tensor<4xi64>)
  %0 = onnx.Reshape(%x, %to) : (tensor<2x8x4x4xf32>, tensor<3xi64>) -> (tensor<2x2x64xf32>)
  %1 = onnx.InstanceNormalization(%0, %s, %t) : (tensor<2x2x64xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x64xf32>)
  %2 = onnx.Reshape(%1, %back) : (tensor<2x2x64xf32>, tensor<4xi64>) -> (tensor<2x8x4x4xf32>)
  %3 = onnx.Mul(%2, %w) : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> (tensor<2x8x4x4xf32>)
  %4 = onnx.Add(%3, %b) : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> (tensor<2x8x4x4xf32>)
  return %4 : tensor<2x8x4x4xf32>
}

// -----

// The scale is one number a column, not a channel.
// CHECK-LABEL: @no_group_columns
// CHECK: onnx.InstanceNormalization
// CHECK-NOT: onnx.GroupNormalization
func.func @no_group_columns(%x: tensor<2x8x4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>, %s: tensor<2xf32>) -> tensor<2x8x4x8xf32> {
  %to = onnx.Constant() {value = dense<[2, 2, -1]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  %back = onnx.Constant() {value = dense<[2, 8, 4, 8]> : tensor<4xi64>} : () -> (tensor<4xi64>)
  %0 = onnx.Reshape(%x, %to) : (tensor<2x8x4x8xf32>, tensor<3xi64>) -> (tensor<2x2x128xf32>)
  %1 = onnx.InstanceNormalization(%0, %s, %s) : (tensor<2x2x128xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x128xf32>)
  %2 = onnx.Reshape(%1, %back) : (tensor<2x2x128xf32>, tensor<4xi64>) -> (tensor<2x8x4x8xf32>)
  %3 = onnx.Mul(%2, %w) : (tensor<2x8x4x8xf32>, tensor<8xf32>) -> (tensor<2x8x4x8xf32>)
  %4 = onnx.Add(%3, %b) : (tensor<2x8x4x8xf32>, tensor<8xf32>) -> (tensor<2x8x4x8xf32>)
  return %4 : tensor<2x8x4x8xf32>
}

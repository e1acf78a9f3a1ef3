// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @conv(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>) -> (tensor<1x6x4x4xf32>, tensor<1x6x4x4xf32>) {
  %0 = onnx.Conv(%x, %w, %b) {group = 2 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> (tensor<1x6x4x4xf32>)
  %1 = onnx.Conv(%x, %w) {auto_pad = "SAME_UPPER", group = 2 : i64, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> (tensor<1x6x4x4xf32>)
  return %0, %1 : tensor<1x6x4x4xf32>, tensor<1x6x4x4xf32>
}
// CHECK-LABEL: @conv(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.convolution(%[[A]], %[[B]], %[[C]]) {dilation = array<i64: 1, 1>, groups = 2 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, transposed = false}
// CHECK: %[[V1:.*]] = aten.constant_pad_nd(%[[A]]) {pad = array<i64: 0, 1, 0, 1>, value = 0.000000e+00 : f64}
// CHECK: %[[V2:.*]] = aten.convolution(%[[V1]], %[[B]], none) {dilation = array<i64: 1, 1>, groups = 2 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, transposed = false}
// CHECK: return %[[V0]], %[[V2]]

func.func @conv_transpose(%x: tensor<1x4x3xf32>, %w: tensor<4x2x2xf32>, %b: tensor<2xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x5xf32>) {
  %0 = onnx.ConvTranspose(%x, %w) {strides = array<i64: 2>} : (tensor<1x4x3xf32>, tensor<4x2x2xf32>) -> (tensor<1x2x6xf32>)
  %1 = onnx.ConvTranspose(%x, %w, %b) {pads = array<i64: 0, 1>, strides = array<i64: 2>} : (tensor<1x4x3xf32>, tensor<4x2x2xf32>, tensor<2xf32>) -> (tensor<1x2x5xf32>)
  return %0, %1 : tensor<1x2x6xf32>, tensor<1x2x5xf32>
}
// CHECK-LABEL: @conv_transpose(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.convolution(%[[A]], %[[B]], none) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = array<i64: 0>, padding = array<i64: 0>, stride = array<i64: 2>, transposed = true}
// CHECK: %[[V1:.*]] = aten.convolution(%[[A]], %[[B]], none) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = array<i64: 0>, padding = array<i64: 0>, stride = array<i64: 2>, transposed = true}
// CHECK: %[[V2:.*]] = aten.constant_pad_nd(%[[V1]]) {pad = array<i64: 0, -1>, value = 0.000000e+00 : f64}
// CHECK: %[[V3:.*]] = aten.reshape(%[[C]]) {shape = array<i64: 1, 2, 1>}
// CHECK: %[[V4:.*]] = aten.add.Tensor(%[[V2]], %[[V3]])
// CHECK: return %[[V0]], %[[V4]]

func.func @pools(%x: tensor<1x2x5x5xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x1x1xf32>) {
  %0 = onnx.MaxPool(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x5x5xf32>) -> (tensor<1x2x2x2xf32>)
  %1 = onnx.MaxPool(%x) {ceil_mode = 1 : i64, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x5x5xf32>) -> (tensor<1x2x3x3xf32>)
  %2 = onnx.AveragePool(%x) {auto_pad = "SAME_UPPER", kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x5x5xf32>) -> (tensor<1x2x3x3xf32>)
  %3 = onnx.GlobalAveragePool(%x) : (tensor<1x2x5x5xf32>) -> (tensor<1x2x1x1xf32>)
  return %0, %1, %2, %3 : tensor<1x2x2x2xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>, tensor<1x2x1x1xf32>
}
// CHECK-LABEL: @pools(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.max_pool2d(%[[A]]) {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>}
// CHECK: %[[V1:.*]] = aten.constant_pad_nd(%[[A]]) {pad = array<i64: 0, 1, 0, 1>, value = 0xFFF0000000000000 : f64}
// CHECK: %[[V2:.*]] = aten.max_pool2d(%[[V1]]) {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>}
// CHECK: %[[V3:.*]] = aten.constant_pad_nd(%[[A]]) {pad = array<i64: 0, 1, 0, 1>, value = 0.000000e+00 : f64}
// CHECK: %[[V4:.*]] = aten.full() {dtype = f32, fill_value = 1.000000e+00 : f64, size = array<i64: 1, 1, 5, 5>}
// CHECK: %[[V5:.*]] = aten.constant_pad_nd(%[[V4]]) {pad = array<i64: 0, 1, 0, 1>, value = 0.000000e+00 : f64}
// CHECK: %[[V6:.*]] = aten.full() {dtype = f32, fill_value = 1.000000e+00 : f64, size = array<i64: 1, 1, 2, 2>}
// CHECK: %[[V7:.*]] = aten.convolution(%[[V5]], %[[V6]], none) {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, transposed = false}
// CHECK: %[[V8:.*]] = aten.full() {dtype = f32, fill_value = 1.000000e+00 : f64, size = array<i64: 1, 1, 2, 2>}
// CHECK: %[[V9:.*]] = aten.reshape(%[[V3]]) {shape = array<i64: 2, 1, 6, 6>}
// CHECK: %[[V10:.*]] = aten.convolution(%[[V9]], %[[V8]], none) {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, transposed = false}
// CHECK: %[[V11:.*]] = aten.reshape(%[[V10]]) {shape = array<i64: 1, 2, 3, 3>}
// CHECK: %[[V12:.*]] = aten.div.Tensor(%[[V11]], %[[V7]])
// CHECK: %[[V13:.*]] = aten.mean.dim(%[[A]]) {dim = array<i64: 2, 3>, keepdim = true}
// CHECK: return %[[V0]], %[[V2]], %[[V12]], %[[V13]]

func.func @resize(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x6x6xf32>) {
  %scales = onnx.Constant() {value = dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>} : () -> (tensor<4xf32>)
  %sizes = onnx.Constant() {value = dense<[1, 2, 6, 6]> : tensor<4xi64>} : () -> (tensor<4xi64>)
  %0 = onnx.Resize(%x, none, %scales) {coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x2x4x4xf32>, none, tensor<4xf32>) -> (tensor<1x2x8x8xf32>)
  %1 = onnx.Resize(%x, none, none, %sizes) {mode = "linear"} : (tensor<1x2x4x4xf32>, none, none, tensor<4xi64>) -> (tensor<1x2x6x6xf32>)
  return %0, %1 : tensor<1x2x8x8xf32>, tensor<1x2x6x6xf32>
}
// CHECK-LABEL: @resize(
// CHECK-SAME: %[[A:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.upsample_nearest2d.vec(%[[A]]) {output_size = array<i64: 8, 8>}
// CHECK: %[[V1:.*]] = aten.hethub.resize(%[[A]]) {antialias = false, coordinates = "half_pixel", cubic_a = -7.500000e-01 : f64, exclude_outside = false, extrapolation = 0.000000e+00 : f64, mode = "linear", nearest = "round_prefer_floor", roi = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00>, scales = array<f64: 1.000000e+00, 1.000000e+00, 1.500000e+00, 1.500000e+00>, sizes = array<i64: 1, 2, 6, 6>}
// CHECK: return %[[V0]], %[[V1]]

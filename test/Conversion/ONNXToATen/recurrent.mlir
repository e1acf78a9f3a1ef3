// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

func.func @lstm(%x: tensor<5x2x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %b: tensor<1x32xf32>) -> (tensor<5x1x2x4xf32>, tensor<1x2x4xf32>) {
  %y, %h = onnx.LSTM(%x, %w, %r, %b) {hidden_size = 4 : i64} : (tensor<5x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, tensor<1x32xf32>) -> (tensor<5x1x2x4xf32>, tensor<1x2x4xf32>)
  return %y, %h : tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
}
// CHECK-LABEL: @lstm(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}, %[[D:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.full() {dtype = f32, fill_value = 0.000000e+00 : f64, size = array<i64: 1, 2, 4>}
// CHECK: %[[V1:.*]] = aten.full() {dtype = f32, fill_value = 0.000000e+00 : f64, size = array<i64: 1, 2, 4>}
// CHECK: %[[V2:.*]] = aten.select.int(%[[B]]) {dim = 0 : i64, index = 0 : i64}
// CHECK: %[[V3:.*]] = aten.slice.Tensor(%[[V2]]) {end = 4 : i64, start = 0 : i64}
// CHECK: %[[V4:.*]] = aten.slice.Tensor(%[[V2]]) {end = 12 : i64, start = 8 : i64}
// CHECK: %[[V5:.*]] = aten.slice.Tensor(%[[V2]]) {end = 16 : i64, start = 12 : i64}
// CHECK: %[[V6:.*]] = aten.slice.Tensor(%[[V2]]) {end = 8 : i64, start = 4 : i64}
// CHECK: %[[V7:.*]] = aten.cat({{\[}}%[[V3]], %[[V4]], %[[V5]], %[[V6]]])
// CHECK: %[[V8:.*]] = aten.select.int(%[[C]]) {dim = 0 : i64, index = 0 : i64}
// CHECK: %[[V9:.*]] = aten.slice.Tensor(%[[V8]]) {end = 4 : i64, start = 0 : i64}
// CHECK: %[[V10:.*]] = aten.slice.Tensor(%[[V8]]) {end = 12 : i64, start = 8 : i64}
// CHECK: %[[V11:.*]] = aten.slice.Tensor(%[[V8]]) {end = 16 : i64, start = 12 : i64}
// CHECK: %[[V12:.*]] = aten.slice.Tensor(%[[V8]]) {end = 8 : i64, start = 4 : i64}
// CHECK: %[[V13:.*]] = aten.cat({{\[}}%[[V9]], %[[V10]], %[[V11]], %[[V12]]])
// CHECK: %[[V14:.*]] = aten.select.int(%[[D]]) {dim = 0 : i64, index = 0 : i64}
// CHECK: %[[V15:.*]] = aten.slice.Tensor(%[[V14]]) {end = 16 : i64, start = 0 : i64}
// CHECK: %[[V16:.*]] = aten.slice.Tensor(%[[V15]]) {end = 4 : i64, start = 0 : i64}
// CHECK: %[[V17:.*]] = aten.slice.Tensor(%[[V15]]) {end = 12 : i64, start = 8 : i64}
// CHECK: %[[V18:.*]] = aten.slice.Tensor(%[[V15]]) {end = 16 : i64, start = 12 : i64}
// CHECK: %[[V19:.*]] = aten.slice.Tensor(%[[V15]]) {end = 8 : i64, start = 4 : i64}
// CHECK: %[[V20:.*]] = aten.cat({{\[}}%[[V16]], %[[V17]], %[[V18]], %[[V19]]])
// CHECK: %[[V21:.*]] = aten.slice.Tensor(%[[V14]]) {end = 32 : i64, start = 16 : i64}
// CHECK: %[[V22:.*]] = aten.slice.Tensor(%[[V21]]) {end = 4 : i64, start = 0 : i64}
// CHECK: %[[V23:.*]] = aten.slice.Tensor(%[[V21]]) {end = 12 : i64, start = 8 : i64}
// CHECK: %[[V24:.*]] = aten.slice.Tensor(%[[V21]]) {end = 16 : i64, start = 12 : i64}
// CHECK: %[[V25:.*]] = aten.slice.Tensor(%[[V21]]) {end = 8 : i64, start = 4 : i64}
// CHECK: %[[V26:.*]] = aten.cat({{\[}}%[[V22]], %[[V23]], %[[V24]], %[[V25]]])
// CHECK: %[[V27:.*]]:3 = aten.lstm.input(%[[A]], {{\[}}%[[V0]], %[[V1]]], [%[[V7]], %[[V13]], %[[V20]], %[[V26]]]) {batch_first = false, bidirectional = false, dropout = 0.000000e+00 : f64, has_biases = true, num_layers = 1 : i64, train = false}
// CHECK: %[[V28:.*]] = aten.reshape(%[[V27]]#0) {shape = array<i64: 5, 2, 1, 4>}
// CHECK: %[[V29:.*]] = aten.permute(%[[V28]]) {dims = array<i64: 0, 2, 1, 3>}
// CHECK: return %[[V29]], %[[V27]]#1

func.func @lstm_with_lengths(%x: tensor<5x2x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %n: tensor<2xi32>) -> tensor<5x1x2x4xf32> {
  %y = onnx.LSTM(%x, %w, %r, none, %n) {hidden_size = 4 : i64} : (tensor<5x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, none, tensor<2xi32>) -> (tensor<5x1x2x4xf32>)
  return %y : tensor<5x1x2x4xf32>
}
// CHECK-LABEL: @lstm_with_lengths(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}, %[[D:.*]]: {{.*}}
// CHECK: %[[V0:.*]]:3 = aten.hethub.lstm(%[[A]], %[[B]], %[[C]], none, %[[D]], none, none, none) {activations = "sigmoid,tanh,tanh", alpha = array<f64>, beta = array<f64>, clip = 0.000000e+00 : f64, direction = "forward", input_forget = false}
// CHECK: return %[[V0]]#0

func.func @gru(%x: tensor<5x2x3xf32>, %w: tensor<1x12x3xf32>, %r: tensor<1x12x4xf32>) -> tensor<5x1x2x4xf32> {
  %y = onnx.GRU(%x, %w, %r) {hidden_size = 4 : i64} : (tensor<5x2x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>) -> (tensor<5x1x2x4xf32>)
  return %y : tensor<5x1x2x4xf32>
}
// CHECK-LABEL: @gru(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]]:2 = aten.hethub.gru(%[[A]], %[[B]], %[[C]], none, none, none) {activations = "sigmoid,tanh", alpha = array<f64>, beta = array<f64>, clip = 0.000000e+00 : f64, direction = "forward", linear_before_reset = false}
// CHECK: return %[[V0]]#0

func.func @rnn_reverse(%x: tensor<5x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) -> tensor<5x1x2x4xf32> {
  %y = onnx.RNN(%x, %w, %r) {direction = "reverse", hidden_size = 4 : i64} : (tensor<5x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<5x1x2x4xf32>)
  return %y : tensor<5x1x2x4xf32>
}
// CHECK-LABEL: @rnn_reverse(
// CHECK-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}
// CHECK: %[[V0:.*]] = aten.flip(%[[A]]) {dims = array<i64: 0>}
// CHECK: %[[V1:.*]] = aten.full() {dtype = f32, fill_value = 0.000000e+00 : f64, size = array<i64: 1, 2, 4>}
// CHECK: %[[V2:.*]] = aten.select.int(%[[B]]) {dim = 0 : i64, index = 0 : i64}
// CHECK: %[[V3:.*]] = aten.select.int(%[[C]]) {dim = 0 : i64, index = 0 : i64}
// CHECK: %[[V4:.*]]:2 = aten.rnn_tanh.input(%[[V0]], %[[V1]], {{\[}}%[[V2]], %[[V3]]]) {batch_first = false, bidirectional = false, dropout = 0.000000e+00 : f64, has_biases = false, num_layers = 1 : i64, train = false}
// CHECK: %[[V5:.*]] = aten.flip(%[[V4]]#0) {dims = array<i64: 0>}
// CHECK: %[[V6:.*]] = aten.reshape(%[[V5]]) {shape = array<i64: 5, 2, 1, 4>}
// CHECK: %[[V7:.*]] = aten.permute(%[[V6]]) {dims = array<i64: 0, 2, 1, 3>}
// CHECK: return %[[V7]]

// RUN: hh-opt %s --hh-annotate-cost --split-input-file | FileCheck %s

// FLOPs, bytes and kept values by the rules of operators; times are annotate-cost.mlir's matter.

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
hh.parameter @filter : tensor<16x4x3x3xf32> from "weights.bin" offset 0 length 2304
hh.parameter @channel : tensor<8x1x3x3xf32> from "weights.bin" offset 0 length 288
hh.parameter @wide : tensor<8x6x2x2xf32> from "weights.bin" offset 0 length 768

// CHECK-LABEL: @main
func.func @main(%x: tensor<2x8x10x10xf32> {onnx.name = "x"}) -> (tensor<2x16x10x10xf32>, tensor<2x8x10x10xf32>, tensor<2x6x20x20xf32>, tensor<2x8x5x5xf32>) {
  %filter = hh.get_parameter @filter : tensor<16x4x3x3xf32>
  %channel = hh.get_parameter @channel : tensor<8x1x3x3xf32>
  %wide = hh.get_parameter @wide : tensor<8x6x2x2xf32>
  // Two groups: 2 * (2 * 16 * 10 * 10) * (4 * 3 * 3).
  // CHECK: onnx.Conv({{.*}}hh.cost = #hh.cost<flops = 230400, moved = 21504, kept = 6400, parameters = 2304,
  %0 = onnx.Conv(%x, %filter) {group = 2 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x8x10x10xf32>, tensor<16x4x3x3xf32>) -> (tensor<2x16x10x10xf32>)
  // Kept already. 0.12 of the peak, not 0.55: 28,800 FLOPs take 2.4 us.
  // CHECK: onnx.Conv({{.*}}hh.cost = #hh.cost<flops = 28800, moved = 13088, kept = 0, parameters = 288, seconds = {cpu = array<f64: 2.400000e-06,
  %1 = onnx.Conv(%x, %channel) {group = 8 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x8x10x10xf32>, tensor<8x1x3x3xf32>) -> (tensor<2x8x10x10xf32>)
  // 2 * (2 * 8 * 10 * 10) * (6 * 2 * 2).
  // CHECK: onnx.ConvTranspose({{.*}}hh.cost = #hh.cost<flops = 76800,
  %2 = onnx.ConvTranspose(%x, %wide) {strides = array<i64: 2, 2>} : (tensor<2x8x10x10xf32>, tensor<8x6x2x2xf32>) -> (tensor<2x6x20x20xf32>)
  // 2 * 8 * 5 * 5 windows of four, four FLOPs a comparison.
  // CHECK: onnx.MaxPool({{.*}}hh.cost = #hh.cost<flops = 6400,
  %3 = onnx.MaxPool(%1) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x8x10x10xf32>) -> (tensor<2x8x5x5xf32>)
  return %0, %1, %2, %3 : tensor<2x16x10x10xf32>, tensor<2x8x10x10xf32>, tensor<2x6x20x20xf32>, tensor<2x8x5x5xf32>
}

// -----

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
hh.parameter @table : tensor<100x16xf32> from "weights.bin" offset 0 length 6400
hh.parameter @gates : tensor<1x32x16xf32> from "weights.bin" offset 0 length 2048
hh.parameter @again : tensor<1x32x8xf32> from "weights.bin" offset 0 length 1024
hh.parameter @matrix : tensor<16x12xf32> from "weights.bin" offset 0 length 768

// CHECK-LABEL: @main
func.func @main(%ids: tensor<5x3xi64> {onnx.name = "ids"}, %q: tensor<2x4x6x16xf32> {onnx.name = "q"}, %k: tensor<2x2x7x16xf32> {onnx.name = "k"}) -> (tensor<5x1x3x8xf32>, tensor<2x4x6x16xf32>, tensor<5x12xf32>, tensor<5x3x12xf32>) {
  %table = hh.get_parameter @table : tensor<100x16xf32>
  %gates = hh.get_parameter @gates : tensor<1x32x16xf32>
  %again = hh.get_parameter @again : tensor<1x32x8xf32>
  %matrix = hh.get_parameter @matrix : tensor<16x12xf32>
  // Reads what it picks, keeps the indices: 2 * 960 + 120 bytes.
  // CHECK: onnx.Gather({{.*}}hh.cost = #hh.cost<flops = 0, moved = 2040, kept = 120, parameters = 6400,
  %0 = onnx.Gather(%table, %ids) : (tensor<100x16xf32>, tensor<5x3xi64>) -> (tensor<5x3x16xf32>)
  // 2 * (5 * 3) * (32 * 16 + 32 * 8).
  // CHECK: onnx.LSTM({{.*}}hh.cost = #hh.cost<flops = 23040, {{.*}}parameters = 3072,
  %1 = onnx.LSTM(%0, %gates, %again) {hidden_size = 8 : i64} : (tensor<5x3x16xf32>, tensor<1x32x16xf32>, tensor<1x32x8xf32>) -> (tensor<5x1x3x8xf32>)
  // 2 * 4 * 6 * 7 scores of 2 * 16 + 2 * 16 + 15; no parameter reaches it.
  // CHECK: onnx.Attention({{.*}}hh.cost = #hh.cost<flops = 26544, moved = 9728, kept = 0,
  %2 = onnx.Attention(%q, %k, %k) : (tensor<2x4x6x16xf32>, tensor<2x2x7x16xf32>, tensor<2x2x7x16xf32>) -> (tensor<2x4x6x16xf32>)
  // 2 * 5 * 3 * 16 * 12.
  // CHECK: onnx.Einsum({{.*}}hh.cost = #hh.cost<flops = 5760,
  %3 = onnx.Einsum(%0, %matrix) {equation = "abc, cd -> ad"} : (tensor<5x3x16xf32>, tensor<16x12xf32>) -> (tensor<5x12xf32>)
  // 5 * 3 * 12 * 16 multiply-adds behind a Transpose, which is a view; the Reshape of it is a copy.
  // CHECK: onnx.Transpose({{.*}}hh.cost = #hh.cost<flops = 0, moved = 0,
  %t = onnx.Transpose(%0) {perm = array<i64: 1, 0, 2>} : (tensor<5x3x16xf32>) -> (tensor<3x5x16xf32>)
  %shape = onnx.Constant() {value = dense<[15, 16]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  // CHECK: onnx.Reshape({{.*}}hh.cost = #hh.cost<flops = 0, moved = 1920,
  %r = onnx.Reshape(%t, %shape) : (tensor<3x5x16xf32>, tensor<2xi64>) -> (tensor<15x16xf32>)
  // CHECK: onnx.Gemm({{.*}}hh.cost = #hh.cost<flops = 5760, {{.*}}parameters = 768,
  %g = onnx.Gemm(%r, %matrix) : (tensor<15x16xf32>, tensor<16x12xf32>) -> (tensor<15x12xf32>)
  %back = onnx.Constant() {value = dense<[5, 3, 12]> : tensor<3xi64>} : () -> (tensor<3xi64>)
  // CHECK: onnx.Reshape({{.*}}hh.cost = #hh.cost<flops = 0, moved = 0,
  %4 = onnx.Reshape(%g, %back) : (tensor<15x12xf32>, tensor<3xi64>) -> (tensor<5x3x12xf32>)
  return %1, %2, %3, %4 : tensor<5x1x3x8xf32>, tensor<2x4x6x16xf32>, tensor<5x12xf32>, tensor<5x3x12xf32>
}

// -----

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}

// CHECK-LABEL: @main
func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<4x4xf32> {onnx.name = "x"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // The dearer branch: 128 multiply-adds against 16 additions, whichever is taken.
  // CHECK: onnx.If(%{{.*}}) {hh.cost = #hh.cost<flops = 128, moved = 192,
  %0 = onnx.If(%c) : (tensor<i1>) -> (tensor<4x4xf32>) then_branch {
    %1 = onnx.Add(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    onnx.Yield %1 : tensor<4x4xf32>
  } else_branch {
    %1 = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    onnx.Yield %1 : tensor<4x4xf32>
  }
  // Ten rounds of 16 additions.
  // CHECK: onnx.Loop(%{{.*}}) {hh.cost = #hh.cost<flops = 160, moved = 1920,
  %n = onnx.Constant() {value = dense<10> : tensor<i64>} : () -> (tensor<i64>)
  %2 = onnx.Loop(%n, %c, %x) : (tensor<i64>, tensor<i1>, tensor<4x4xf32>) -> (tensor<4x4xf32>) body {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<4x4xf32>):
    %3 = onnx.Add(%s, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    onnx.Yield %go, %3 : tensor<i1>, tensor<4x4xf32>
  }
  return %0, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

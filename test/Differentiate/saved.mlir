// RUN: hh-opt %s --split-input-file --hh-differentiate --hh-verify-phase=phase=differentiate | FileCheck %s

// Views of a value are made again from it, wherever they are read: nothing is saved twice.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4x8xf32> from "m.onnx" offset 0 length 128
  hh.program @stage_0(%x: tensor<2x3x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4x8xf32>
    %rows = aten.reshape(%x) {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> (tensor<6x4xf32>)
    %y = aten.mm(%rows, %w) : (tensor<6x4xf32>, tensor<4x8xf32>) -> (tensor<6x8xf32>)
    // Two halves of a value that nobody else reads: each has a slot.
    %a = aten.slice.Tensor(%y) {dim = 1 : i64, start = 0 : i64, end = 4 : i64} : (tensor<6x8xf32>) -> (tensor<6x4xf32>)
    %b = aten.slice.Tensor(%y) {dim = 1 : i64, start = 4 : i64, end = 8 : i64} : (tensor<6x8xf32>) -> (tensor<6x4xf32>)
    %bt = aten.t(%b) : (tensor<6x4xf32>) -> (tensor<4x6xf32>)
    %p = aten.mm(%a, %bt) : (tensor<6x4xf32>, tensor<4x6xf32>) -> (tensor<6x6xf32>)
    %loss = aten.sum.dim_IntList(%p) {dim = array<i64: 0, 1>} : (tensor<6x6xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(%arg0: tensor<2x3x4xf32>
// CHECK: %[[A:.*]] = aten.slice.Tensor({{.*}}end = 4
// CHECK: %[[B:.*]] = aten.slice.Tensor({{.*}}end = 8
// CHECK: hh.return %{{[0-9]+}}, %[[B]], %[[A]], %arg0 : tensor<f32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<2x3x4xf32>
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: aten.reshape(%arg2) {shape = array<i64: 6, 4>}

// -----

// A piece of a value that nobody else reads: a copy is saved, since the piece would keep all of the value.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4x8xf32> from "m.onnx" offset 0 length 128
  hh.program @stage_0(%x: tensor<6x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4x8xf32>
    %y = aten.mm(%x, %w) : (tensor<6x4xf32>, tensor<4x8xf32>) -> (tensor<6x8xf32>)
    %a = aten.slice.Tensor(%y) {dim = 1 : i64, start = 0 : i64, end = 4 : i64} : (tensor<6x8xf32>) -> (tensor<6x4xf32>)
    %t = aten.t(%a) : (tensor<6x4xf32>) -> (tensor<4x6xf32>)
    %p = aten.mm(%t, %a) : (tensor<4x6xf32>, tensor<6x4xf32>) -> (tensor<4x4xf32>)
    %loss = aten.sum.dim_IntList(%p) {dim = array<i64: 0, 1>} : (tensor<4x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(%arg0: tensor<6x4xf32>
// CHECK: %[[A:.*]] = aten.slice.Tensor({{.*}}end = 4
// CHECK-NEXT: %[[COPY:.*]] = aten.clone(%[[A]])
// CHECK: hh.return %{{[0-9]+}}, %[[COPY]], %arg0 : tensor<f32>, tensor<6x4xf32>, tensor<6x4xf32>
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-NOT: aten.clone

// -----

// The whole is saved: pieces of it are cut again.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4x8xf32> from "m.onnx" offset 0 length 128
  hh.program @stage_0(%x: tensor<6x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4x8xf32>
    %y = aten.mm(%x, %w) : (tensor<6x4xf32>, tensor<4x8xf32>) -> (tensor<6x8xf32>)
    %square = aten.mul.Tensor(%y, %y) : (tensor<6x8xf32>, tensor<6x8xf32>) -> (tensor<6x8xf32>)
    %a = aten.slice.Tensor(%y) {dim = 1 : i64, start = 0 : i64, end = 4 : i64} : (tensor<6x8xf32>) -> (tensor<6x4xf32>)
    %b = aten.slice.Tensor(%square) {dim = 1 : i64, start = 4 : i64, end = 8 : i64} : (tensor<6x8xf32>) -> (tensor<6x4xf32>)
    %p = aten.mul.Tensor(%a, %b) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>)
    %loss = aten.sum.dim_IntList(%p) {dim = array<i64: 0, 1>} : (tensor<6x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(%arg0: tensor<6x4xf32>
// CHECK-SAME: tensor<6x4xf32> {hh.saved = 0 : i64}, tensor<6x8xf32> {hh.saved = 1 : i64}, tensor<6x4xf32> {hh.saved = 2 : i64})
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: aten.slice.Tensor(%arg1) {dim = 1 : i64, end = 4 : i64, start = 0 : i64}

// -----

// What depends on parameters and constants alone is the same for each microbatch: computed again, not kept m times. A
// frozen parameter gets no gradient, and one that gets new values from the forward pass none either.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4xf16> from "m.onnx" offset 0 length 8
  hh.parameter @mean : tensor<4xf32> from "m.onnx" offset 8 length 16
  hh.program @stage_0(%x: tensor<2x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}, tensor<4xf32> {hh.update = @mean, onnx.index = 1 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4xf16>
    %mean = hh.get_parameter @mean : tensor<4xf32>
    %wide = aten.to.dtype(%w) {dtype = f32} : (tensor<4xf16>) -> (tensor<4xf32>)
    %y = aten.mul.Tensor(%x, %wide) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    %z = aten.mul.Tensor(%y, %wide) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    %loss = aten.sum.dim_IntList(%z) {dim = array<i64: 0, 1>} : (tensor<2x4xf32>) -> (tensor<f32>)
    %now = aten.mean.dim(%x) {dim = array<i64: 0>} : (tensor<2x4xf32>) -> (tensor<4xf32>)
    %new = aten.mul.Tensor(%mean, %now) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
    hh.return %loss, %new : tensor<f32>, tensor<4xf32>
  }
}

// CHECK-LABEL: hh.program @stage_0(%arg0: tensor<2x4xf32>
// CHECK-SAME: -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}, tensor<4xf32> {hh.update = @mean, onnx.index = 1 : i64}, tensor<2x4xf32> {hh.saved = 0 : i64}, tensor<2x4xf32> {hh.saved = 1 : i64})
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK-SAME: -> (tensor<4xf16> {hh.gradient = @w})
// CHECK: hh.get_parameter @w
// CHECK-NEXT: aten.to.dtype(%{{.*}}) {dtype = f32}

// -----

// What is computed once, when a program is loaded: each program has the part of it that it reads. A branch that no
// gradient passes is computed by the forward program alone.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4xf32> from "m.onnx" offset 0 length 16
  hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %start:3 = hh.start_up -> tensor<4xf32>, tensor<4xf32>, tensor<i1> {
      %ones = aten.full() {dtype = f32, fill_value = 1.0 : f64, size = array<i64: 4>} : () -> (tensor<4xf32>)
      %twos = aten.full() {dtype = f32, fill_value = 2.0 : f64, size = array<i64: 4>} : () -> (tensor<4xf32>)
      %true = aten.full() {dtype = i1, fill_value = true, size = array<i64>} : () -> (tensor<i1>)
      hh.yield %ones, %twos, %true : tensor<4xf32>, tensor<4xf32>, tensor<i1>
    }
    %w = hh.get_parameter @w : tensor<4xf32>
    %branch = hh.if %start#2 : (tensor<i1>) -> tensor<4xf32> {
      %y = aten.add.Tensor(%x, %start#0) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
      hh.yield %y : tensor<4xf32>
    } else {
      hh.yield %x : tensor<4xf32>
    }
    %a = aten.mul.Tensor(%w, %start#1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
    %b = aten.mul.Tensor(%a, %branch) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
    %loss = aten.sum.dim_IntList(%b) {dim = array<i64: 0>} : (tensor<4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(
// CHECK: hh.start_up -> tensor<4xf32>, tensor<4xf32>, tensor<i1>
// CHECK: %[[B:.*]] = hh.if
// CHECK: hh.return %{{.*}}, %[[B]] : tensor<f32>, tensor<4xf32>
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: hh.start_up -> tensor<4xf32> {
// CHECK-NEXT: %[[TWOS:.*]] = aten.full() {dtype = f32, fill_value = 2.0
// CHECK-NEXT: hh.yield %[[TWOS]]
// CHECK-NOT: hh.if

// -----

// A copy that is made only where strides ask for it: again from the value, where that is saved.

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<4x4xf32> from "m.onnx" offset 0 length 64
  hh.program @stage_0(%x: tensor<4x4xf32> {onnx.index = 0 : i64, onnx.name = "x"}) -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<4x4xf32>
    %y = aten.mul.Tensor(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    %c = aten.contiguous(%y) : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
    %z = aten.mul.Tensor(%c, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
    %loss = aten.sum.dim_IntList(%z) {dim = array<i64: 0, 1>} : (tensor<4x4xf32>) -> (tensor<f32>)
    hh.return %loss : tensor<f32>
  }
}

// CHECK-LABEL: hh.program @stage_0(%arg0: tensor<4x4xf32>
// CHECK: %[[Y:.*]] = aten.mul.Tensor(%arg0
// CHECK: hh.return %{{[0-9]+}}, %[[Y]], %arg0 :
// CHECK-LABEL: hh.program @stage_0_backward(
// CHECK: aten.contiguous(%arg0)

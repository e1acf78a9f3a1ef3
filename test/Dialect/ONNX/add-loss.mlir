// RUN: hh-opt %s --onnx-add-loss="loss=cross-entropy loss-output=logits" | FileCheck %s --check-prefix=ENTROPY
// RUN: hh-opt %s --onnx-add-loss="loss=mse loss-output=logits" | FileCheck %s --check-prefix=SQUARE
// RUN: hh-opt %s --onnx-add-loss="loss=mse loss-output=half" | FileCheck %s --check-prefix=HALF
// RUN: hh-opt %s --onnx-add-loss | FileCheck %s --check-prefix=OWN
// RUN: hh-opt %s --onnx-add-loss 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Classes are the last axis, all others are rows of SoftmaxCrossEntropyLoss; what only other outputs need is gone.
// ENTROPY:       func.func @main(%arg0: tensor<2x3x5xf32> {onnx.name = "x"}, %arg1: tensor<2x3xi64> {hh.labels, onnx.name = "labels"})
// ENTROPY-SAME:    -> (tensor<f32> {hh.loss, onnx.name = "loss"}, tensor<4xf32> {hh.update = @mean, onnx.name = "new_mean"})
// ENTROPY:         %[[NEW:.*]] = onnx.Neg
// ENTROPY:         %[[LOGITS:.*]] = onnx.Relu
// ENTROPY-NOT:     onnx.Exp
// ENTROPY:         %[[SCORES:.*]] = onnx.Reshape(%[[LOGITS]], %{{.*}}) : (tensor<2x3x5xf32>, tensor<2xi64>) -> (tensor<6x5xf32>)
// ENTROPY:         %[[LABELS:.*]] = onnx.Reshape(%arg1, %{{.*}}) : (tensor<2x3xi64>, tensor<1xi64>) -> (tensor<6xi64>)
// ENTROPY:         %[[LOSS:.*]] = onnx.SoftmaxCrossEntropyLoss(%[[SCORES]], %[[LABELS]]) {ignore_index = -100 : i64, reduction = "mean"}
// ENTROPY:         return %[[LOSS]], %[[NEW]] : tensor<f32>, tensor<4xf32>

// SQUARE:        %arg1: tensor<2x3x5xf32> {hh.labels, onnx.name = "labels"}
// SQUARE:          %[[DIFFERENCE:.*]] = onnx.Sub(%{{.*}}, %arg1)
// SQUARE:          %[[SQUARE:.*]] = onnx.Mul(%[[DIFFERENCE]], %[[DIFFERENCE]])
// SQUARE:          %[[LOSS:.*]] = onnx.ReduceMean(%[[SQUARE]]) {keepdims = 0 : i64} : (tensor<2x3x5xf32>) -> (tensor<f32>)
// SQUARE:          return %[[LOSS]]

// 16-bit outputs are compared in 32 bits.
// HALF:          %arg1: tensor<2x3xf16>
// HALF:            onnx.Sub({{.*}}) : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)

// OWN:           -> (tensor<f32> {hh.loss, onnx.name = "total"}, tensor<4xf32> {hh.update = @mean, onnx.name = "new_mean"})
// OWN-NOT:         onnx.Cast
// OWN:             %[[TOTAL:.*]] = onnx.ReduceSum
// OWN:             return %[[TOTAL]],

// REMARK: remark: outputs that are not the loss are left out of the training step: 'logits', 'half'
hh.parameter @mean : tensor<4xf32> from "m.onnx" offset 0 length 16
func.func @main(%x: tensor<2x3x5xf32> {onnx.name = "x"})
    -> (tensor<2x3x5xf32> {onnx.name = "logits"}, tensor<f32> {onnx.name = "total"},
        tensor<4xf32> {onnx.name = "new_mean", hh.update = @mean}, tensor<2x3xf16> {onnx.name = "half"}) {
  %m = hh.get_parameter @mean : tensor<4xf32>
  %n = onnx.Neg(%m) : (tensor<4xf32>) -> (tensor<4xf32>) loc("new_mean")
  %y = onnx.Relu(%x) : (tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>) loc("logits")
  %e = onnx.Exp(%y) : (tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>) loc("exp")
  %t = onnx.ReduceSum(%e) {keepdims = 0 : i64} : (tensor<2x3x5xf32>) -> (tensor<f32>) loc("total")
  %last = onnx.Constant() {value = dense<2> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %s = onnx.ReduceMax(%x, %last) {keepdims = 0 : i64} : (tensor<2x3x5xf32>, tensor<1xi64>) -> (tensor<2x3xf32>)
  %h = onnx.Cast(%s) {to = 10 : i64} : (tensor<2x3xf32>) -> (tensor<2x3xf16>) loc("half")
  return %y, %t, %n, %h : tensor<2x3x5xf32>, tensor<f32>, tensor<4xf32>, tensor<2x3xf16>
}

// RUN: hh-opt %s --onnx-training-mode="operators=batch-norm,dropout" | FileCheck %s
// RUN: hh-opt %s --onnx-training-mode | FileCheck %s --check-prefix=KEPT
// RUN: hh-opt %s --onnx-training-mode="operators=batch-norm,dropout" --onnx-fold-constants --hh-lower-to-aten | FileCheck %s --check-prefix=LOWERED
// RUN: not hh-opt %s --onnx-training-mode="operators=norm" 2>&1 | FileCheck %s --check-prefix=NAME

// The new statistics are results that the runtime stores in the parameters.
// CHECK:       -> (tensor<2x3x4xf32> {onnx.name = "y"}, tensor<3xf32> {hh.update = @mean, onnx.name = "bn/running_mean"}, tensor<3xf32> {hh.update = @var, onnx.name = "bn/running_var"})
// CHECK:         %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]] = onnx.BatchNormalization({{.*}}) {hh.training, momentum = 8.000000e-01 : f32, training_mode = 1 : i64}
// CHECK:         %[[TRUE:.*]] = onnx.Constant() {value = dense<true> : tensor<i1>}
// CHECK:         onnx.Dropout(%[[Y]], none, %[[TRUE]]) {hh.training}
// CHECK:         return %{{.*}}, %[[MEAN]], %[[VAR]] : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>

// What trains in the model trains without being named.
// KEPT:        -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
// KEPT:        onnx.BatchNormalization({{.*}}) {momentum
// KEPT-NOT:    hh.training
// KEPT:        onnx.Dropout(%{{[^,]*}}) :
// KEPT:        onnx.Dropout({{.*}}) {hh.training}

// The running mean moves by 1 - 0.8; the variance, which the backward pass gets as 1 / sqrt(variance + epsilon), by 8 / 7
// of it.
// LOWERED:       %[[BN:.*]]:3 = aten.native_batch_norm({{.*}}, none, none) {eps = {{.*}}, momentum = 0.000000e+00 : f64, training = true}
// LOWERED:       aten.mul.Scalar(%{{.*}}) {other = 0.800000011{{.*}} : f64}
// LOWERED:       aten.mul.Scalar(%[[BN]]#1) {other = 0.199999988{{.*}} : f64}
// LOWERED:       %[[POW:.*]] = aten.pow.Tensor_Scalar(%[[BN]]#2) {exponent = -2.000000e+00 : f64}
// LOWERED:       %[[BIASED:.*]] = aten.add.Scalar(%[[POW]]) {other = -9.99999974{{.*}}E-6 : f64}
// LOWERED:       aten.mul.Scalar(%{{.*}}) {other = 0.800000011{{.*}} : f64}
// LOWERED:       aten.mul.Scalar(%[[BIASED]]) {other = 0.228571{{.*}} : f64}
// LOWERED:       %[[DROPPED:.*]]:2 = aten.native_dropout(%[[BN]]#0) {p = 5.000000e-01 : f64, train = true}
// LOWERED:       aten.native_dropout(%[[DROPPED]]#0) {p = 2.500000e-01 : f64, train = true}

// NAME: error: operators in training form must be batch-norm or dropout, got: norm
hh.parameter @scale : tensor<3xf32> from "m.onnx" offset 0 length 12
hh.parameter @mean : tensor<3xf32> from "m.onnx" offset 12 length 12
hh.parameter @var : tensor<3xf32> from "m.onnx" offset 24 length 12
func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
  %s = hh.get_parameter @scale : tensor<3xf32>
  %m = hh.get_parameter @mean : tensor<3xf32>
  %v = hh.get_parameter @var : tensor<3xf32>
  %bn = onnx.BatchNormalization(%x, %s, %s, %m, %v) {momentum = 8.000000e-01 : f32} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>) loc("bn")
  %d = onnx.Dropout(%bn) : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>) loc("drop")
  %r = onnx.Constant() {value = dense<0.25> : tensor<f32>} : () -> (tensor<f32>)
  %t = onnx.Constant() {value = dense<true> : tensor<i1>} : () -> (tensor<i1>)
  %y = onnx.Dropout(%d, %r, %t) : (tensor<2x3x4xf32>, tensor<f32>, tensor<i1>) -> (tensor<2x3x4xf32>) loc("y")
  return %y : tensor<2x3x4xf32>
}


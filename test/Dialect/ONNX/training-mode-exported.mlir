// RUN: hh-opt %s --split-input-file --onnx-training-mode --verify-diagnostics | FileCheck %s

// A file of an exporter that keeps the mode: statistics that nobody reads become new values of their parameters.
// CHECK:      -> (tensor<2x3x4xf32> {onnx.name = "y"}, tensor<3xf32> {hh.update = @mean, onnx.name = "{{.*}}"}, tensor<3xf32> {hh.update = @var, onnx.name = "{{.*}}"})
// CHECK:        %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]] = onnx.BatchNormalization({{.*}}) {hh.training, training_mode = 1 : i64}
// CHECK:        return %[[Y]], %[[MEAN]], %[[VAR]]
hh.parameter @mean : tensor<3xf32> from "m.onnx" offset 12 length 12
hh.parameter @var : tensor<3xf32> from "m.onnx" offset 24 length 12
func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
  %m = hh.get_parameter @mean : tensor<3xf32>
  %v = hh.get_parameter @var : tensor<3xf32>
  %y, %0, %1 = onnx.BatchNormalization(%x, %m, %m, %m, %v) {training_mode = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<2x3x4xf32>
}

// -----

// CHECK:      func.func @main(%{{.*}}) -> (tensor<2x3x4xf32> {onnx.name = "y"}, tensor<3xf32> {hh.update = @var
hh.parameter @var : tensor<3xf32> from "m.onnx" offset 24 length 12
func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
  %v = hh.get_parameter @var : tensor<3xf32>
  %m = onnx.Neg(%v) : (tensor<3xf32>) -> (tensor<3xf32>)
  // expected-warning @+1 {{running statistics must be parameters to be updated, got a computed value: they keep their values}}
  %y, %0, %1 = onnx.BatchNormalization(%x, %m, %m, %m, %v) {training_mode = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<2x3x4xf32>
}

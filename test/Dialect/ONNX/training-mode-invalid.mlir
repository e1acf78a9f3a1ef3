// RUN: hh-opt %s --onnx-training-mode="operators=batch-norm" --verify-diagnostics

hh.parameter @mean : tensor<3xf32> from "m.onnx" offset 12 length 12
hh.parameter @var : tensor<3xf32> from "m.onnx" offset 24 length 12
func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
  %m = hh.get_parameter @mean : tensor<3xf32>
  %v = hh.get_parameter @var : tensor<3xf32>
  %h = onnx.BatchNormalization(%x, %m, %m, %m, %v) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>)
  // expected-error @+1 {{a running statistic must have one batch normalisation that updates it, got two for 'mean'}}
  %y = onnx.BatchNormalization(%h, %m, %m, %m, %v) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>)
  return %y : tensor<2x3x4xf32>
}

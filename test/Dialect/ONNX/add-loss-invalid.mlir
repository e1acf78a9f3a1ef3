// RUN: not hh-opt %s --onnx-add-loss="loss=mse loss-output=z" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not hh-opt %s --onnx-add-loss="loss=mse" 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not hh-opt %s --onnx-add-loss="loss=hinge" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not hh-opt %s --onnx-add-loss="loss-output=y" 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not hh-opt %s --onnx-add-loss 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hh-opt %s --onnx-add-loss="loss=cross-entropy loss-output=n" 2>&1 | FileCheck %s --check-prefix=FLOAT
// RUN: not hh-opt %s --onnx-add-loss="loss=cross-entropy loss-output=count" 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not hh-opt %s --onnx-add-loss="loss=mse loss-output=y" 2>&1 | FileCheck %s --check-prefix=LABELS

// NAME: error: the loss must come from an output of the model, there are: 'y', 'n', 'count'; got: 'z'
// SEVERAL: error: the output that makes the loss must be named (--loss-output), got: 'y', 'n', 'count'
// KIND: error: loss must be cross-entropy or mse, got: hinge
// SCALAR: error: the loss must be a float scalar, or be made of an output with cross-entropy or mse (--loss), got: 'y' of type 'tensor<2x3xf32>'
// NONE: error: training needs a loss: an output that is a float scalar, or cross-entropy or mse of one (--loss), got outputs: 'y', 'n', 'count'
// FLOAT: error: cross-entropy must be given floats of known shape, got: 'n' of type 'tensor<2x3xi64>'
// CLASSES: error: cross-entropy must be given floats of known shape, got: 'count' of type 'tensor<i64>'
// LABELS: error: the name 'labels' must be free for the labels of the loss, got: an input of the model that has it
func.func @main(%x: tensor<2x3xf32> {onnx.name = "labels"}, %n: tensor<2x3xi64> {onnx.name = "n"})
    -> (tensor<2x3xf32> {onnx.name = "y"}, tensor<2x3xi64> {onnx.name = "n"}, tensor<i64> {onnx.name = "count"}) {
  %y = onnx.Relu(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  %s = onnx.Size(%x) : (tensor<2x3xf32>) -> (tensor<i64>)
  return %y, %n, %s : tensor<2x3xf32>, tensor<2x3xi64>, tensor<i64>
}

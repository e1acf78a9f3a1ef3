// RUN: hh-opt %s -split-input-file -hh-lower-to-aten -verify-diagnostics

// All operations that cannot be lowered are reported at once, and a summary at the module.

// expected-error@below {{3 of 4 operations cannot be lowered: onnx.Abs, onnx.NonZero, onnx.Pad}}
module {
  func.func @several(%x: tensor<2x3xf32>, %pads: tensor<4xi64>, %n: tensor<?xf32>) {
    %0 = onnx.Relu(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    // expected-error@+1 {{onnx.Pad cannot be lowered: pads and axes must be constants}}
    %1 = onnx.Pad(%0, %pads) : (tensor<2x3xf32>, tensor<4xi64>) -> (tensor<4x5xf32>)
    // expected-error@+1 {{onnx.NonZero cannot be lowered: this operator is not supported yet}}
    %2 = onnx.NonZero(%x) : (tensor<2x3xf32>) -> (tensor<2x?xi64>)
    // expected-error@+1 {{onnx.Abs cannot be lowered: shape of an input is not known when compiling: tensor<?xf32>}}
    %3 = onnx.Abs(%n) : (tensor<?xf32>) -> (tensor<?xf32>)
    return
  }
}

// -----

// expected-error@below {{1 of 1 operations cannot be lowered: com.microsoft::FastGelu}}
module {
  func.func @custom(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{com.microsoft::FastGelu cannot be lowered: this operator is not supported yet}}
    %0 = onnx.Custom "com.microsoft" "FastGelu"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error@below {{1 of 1 operations cannot be lowered: onnx.StringConcat}}
module {
  func.func @strings(%x: tensor<4x!onnx.string>) -> tensor<4x!onnx.string> {
    // expected-error@+1 {{onnx.StringConcat cannot be lowered: this operator is not supported yet}}
    %0 = onnx.StringConcat(%x, %x) : (tensor<4x!onnx.string>, tensor<4x!onnx.string>) -> (tensor<4x!onnx.string>)
    return %0 : tensor<4x!onnx.string>
  }
}

// -----

// expected-error@below {{1 of 1 operations cannot be lowered: onnx.Identity}}
module {
  func.func @elements(%x: tensor<4xi4>) -> tensor<4xi4> {
    // expected-error@+1 {{onnx.Identity cannot be lowered: an input has elements that LibTorch lacks: tensor<4xi4>}}
    %0 = onnx.Identity(%x) : (tensor<4xi4>) -> (tensor<4xi4>)
    return %0 : tensor<4xi4>
  }
}

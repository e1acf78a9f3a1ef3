// RUN: hh-opt %s -split-input-file -hh-lower-to-aten -verify-diagnostics

// All operations that cannot be lowered are reported at once, and a summary at the module.

// expected-error@below {{3 of 4 operations cannot be lowered: onnx.Hardmax, onnx.ImageDecoder, onnx.Transpose}}
module {
  func.func @several(%x: tensor<2x3xf32>, %bytes: tensor<9xui8>, %n: tensor<?xf32>, %u: tensor<*xf32>) {
    %0 = onnx.Relu(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    // expected-error@+1 {{onnx.ImageDecoder cannot be lowered: this operator is not supported yet}}
    %1 = onnx.ImageDecoder(%bytes) : (tensor<9xui8>) -> (tensor<?x?x3xui8>)
    // expected-error@+1 {{onnx.Hardmax cannot be lowered: shape of an input is not known when compiling: tensor<?xf32>}}
    %2 = onnx.Hardmax(%n) : (tensor<?xf32>) -> (tensor<?xf32>)
    // expected-error@+1 {{onnx.Transpose cannot be lowered: rank of an input is not known when compiling}}
    %3 = onnx.Transpose(%u) : (tensor<*xf32>) -> (tensor<*xf32>)
    return
  }
}

// -----

// expected-error@below {{1 of 1 operations cannot be lowered: com.example::FastGelu}}
module {
  func.func @custom(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{com.example::FastGelu cannot be lowered: this operator is not supported yet}}
    %0 = onnx.Custom "com.example" "FastGelu"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error@below {{1 of 1 operations cannot be lowered: onnx.Loop}}
module {
  func.func @stacked(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<*xf32>) -> tensor<*xf32> {
    // expected-error@+1 {{onnx.Loop cannot be lowered: rank of what an iteration gives is not known when compiling}}
    %0 = onnx.Loop(%n, %c) : (tensor<i64>, tensor<i1>) -> (tensor<*xf32>) body {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>):
      onnx.Yield %go, %x : tensor<i1>, tensor<*xf32>
    }
    return %0 : tensor<*xf32>
  }
}

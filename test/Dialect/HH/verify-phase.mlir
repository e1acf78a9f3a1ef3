// RUN: hh-opt %s --split-input-file --hh-verify-phase=phase=import --verify-diagnostics
// RUN: not hh-opt %s --hh-verify-phase=phase=nothing 2>&1 | FileCheck %s
// CHECK: phase must be one of import, normalise, cost, partition, communication, lower, differentiate, schedule; got: 'nothing'

// expected-error @+1 {{the model must be one function @main of one block, got: 2 functions}}
module {
  func.func @main() {
    return
  }
  func.func private @other()
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{@main must hold onnx operations and parameters only, got: hh.constant}}
  %0 = hh.constant dense<1.0> : tensor<4xf32>
  return
}

// RUN: hh-opt %s --split-input-file --hh-verify-phase=phase=partition --verify-diagnostics

func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{operations must be in stages, got: onnx.Relu}}
  %a = onnx.Relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

// expected-error @+1 {{@main must have a stage}}
func.func @main() {
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main() {
  // expected-error @+1 {{stages must be numbered from 0 in their order, 0, got: 1}}
  hh.stage 1 on @d () : () -> () {
  }
  return
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hh.stage 0 on @d (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %b = onnx.Relu(%a) : (tensor<4xf32>) -> (tensor<4xf32>)
    hh.yield %b : tensor<4xf32>
  }
  // expected-error @+1 {{a stage must compute an operation of its own, got none in stage 1}}
  %1 = hh.stage 1 on @d (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %b = onnx.Relu(%a) {hh.clone} : (tensor<4xf32>) -> (tensor<4xf32>)
    hh.yield %b : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hh.stage 0 on @d (%a = %x) : (tensor<4xf32>) -> !onnx.seq<tensor<4xf32>> {
    %b = onnx.SequenceConstruct(%a) : (tensor<4xf32>) -> (!onnx.seq<tensor<4xf32>>)
    hh.yield %b : !onnx.seq<tensor<4xf32>>
  }
  // expected-error @+1 {{a value that crosses stages must be a tensor of numbers and of known rank, got: '!onnx.seq<tensor<4xf32>>'}}
  %1 = hh.stage 1 on @d (%a = %0) : (!onnx.seq<tensor<4xf32>>) -> tensor<4xf32> {
    %i = onnx.Constant() {value = dense<0> : tensor<i64>} : () -> (tensor<i64>)
    %b = onnx.SequenceAt(%a, %i) : (!onnx.seq<tensor<4xf32>>, tensor<i64>) -> (tensor<4xf32>)
    hh.yield %b : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{stages must not take more devices than there are, 2 of d, got: 3}}
hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hh.stage 0 on @d replicas 3 (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %b = onnx.Relu(%a) : (tensor<4xf32>) -> (tensor<4xf32>)
    hh.yield %b : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hh.stage 0 on @d (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{clones must be free of side effects, got: onnx.RandomNormalLike}}
    %b = onnx.RandomNormalLike(%a) {hh.clone} : (tensor<4xf32>) -> (tensor<4xf32>)
    %c = onnx.Relu(%b) : (tensor<4xf32>) -> (tensor<4xf32>)
    hh.yield %c : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

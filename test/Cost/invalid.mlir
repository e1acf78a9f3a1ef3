// RUN: hh-opt %s --hh-annotate-cost --split-input-file --verify-diagnostics

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
// expected-error @+1 {{symbolic dimensions 'batch', 'seq' have no size: give --dim batch=N --dim seq=N}}
func.func @main(%x: tensor<?x?xi64> {onnx.name = "ids", onnx.dims = ["batch", "seq"]}, %m: tensor<?x1xi64> {onnx.name = "mask", onnx.dims = ["batch", ""]}) -> tensor<?x?xi64> {
  return %x : tensor<?x?xi64>
}

// -----

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
// expected-error @+1 {{symbolic dimension 'batch' has no size: give --dim batch=N}}
func.func @main(%x: tensor<?x4xf32> {onnx.name = "x", onnx.dims = ["batch", ""]}) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// -----

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
// expected-error @+1 {{symbolic dimension 'x[1]' has no size: give --dim x[1]=N}}
func.func @main(%x: tensor<4x?xf32> {onnx.name = "x"}) -> tensor<4x?xf32> {
  return %x : tensor<4x?xf32>
}

// -----

// expected-error @+1 {{module must have device types (hh-load-cluster)}}
module {
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{module must have a function @main of one block}}
module {
}

// -----

hh.device_type @gaudi kind "hpu" count 1 memory 1024 {peak_flops = {bfloat16 = 4.32e+14}, memory_bandwidth = 2.45e+12 : f64}
// expected-error @+1 {{device type 'gaudi' must state its peak FLOP/s for float32 in the cluster file}}
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> tensor<4xf32> {
  %0 = onnx.Relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  return %0 : tensor<4xf32>
}

// -----

hh.device_type @cpu kind "cpu" count 1 memory 1024 {peak_flops = {float32 = 1.0e+11}, memory_bandwidth = 1.0e+10 : f64}
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> tensor<1x?xi64> {
  // expected-warning @+1 {{sizes that depend on data count as 1 in costs}}
  %0 = onnx.NonZero(%x) : (tensor<4xf32>) -> (tensor<1x?xi64>)
  return %0 : tensor<1x?xi64>
}

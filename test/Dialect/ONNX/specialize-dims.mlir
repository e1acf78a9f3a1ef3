// RUN: hh-opt %s --onnx-specialize-dims="dims=batch=2,seq=32" | FileCheck %s
// RUN: hh-opt %s --onnx-specialize-dims="dims=batch=2,image[1]=48" | FileCheck %s --check-prefix=AXIS
// RUN: hh-opt %s --onnx-specialize-dims="dims=batch=2,*=?" | FileCheck %s --check-prefix=OPEN
// RUN: not hh-opt %s --onnx-specialize-dims="dims=batch=2,batch=?" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not hh-opt %s --onnx-specialize-dims="dims=rows=2" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not hh-opt %s --onnx-specialize-dims="dims=batch=two" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not hh-opt %s --onnx-specialize-dims="dims=batch=-1" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not hh-opt %s --onnx-specialize-dims="dims=batch=2,batch=3" 2>&1 | FileCheck %s --check-prefix=TWICE

// Only arguments change; dims that are not named stay dynamic; names are kept.
// CHECK: func.func @main(%arg0: tensor<2x32xi64> {onnx.dims = ["batch", "seq"], onnx.name = "ids"},
// CHECK-SAME: %arg1: tensor<2x?x3xf32> {onnx.dims = ["batch", "", ""], onnx.name = "image"}) -> tensor<?x?xi64>
// AXIS: func.func @main(%arg0: tensor<2x?xi64> {{.*}} %arg1: tensor<2x48x3xf32>

// OPEN: func.func @main(%arg0: tensor<2x?xi64> {{.*}} attributes {hh.open_dims = ["*"]}
// BOTH: error: dim 'batch' must have one size, got: 2 and ?

// NAME: error: no dim of the inputs has this name: 'rows'; there are: batch, seq, image[1]
// NUMBER: error: dims must be given as name=size with a size of at least 0, or ? where it stays open, got: batch=two
// ZERO: error: dims must be given as name=size with a size of at least 0, or ? where it stays open, got: batch=-1
// TWICE: error: dim 'batch' must have one size, got: 2 and 3
func.func @main(%ids: tensor<?x?xi64> {onnx.dims = ["batch", "seq"], onnx.name = "ids"},
                %image: tensor<?x?x3xf32> {onnx.dims = ["batch", "", ""], onnx.name = "image"}) -> tensor<?x?xi64> {
  %y = onnx.Neg(%ids) : (tensor<?x?xi64>) -> (tensor<?x?xi64>)
  return %y : tensor<?x?xi64>
}

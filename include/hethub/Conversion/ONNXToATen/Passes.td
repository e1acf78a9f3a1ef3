//===- Passes.td - from onnx operators to LibTorch calls ---*- tablegen -*-===//

#ifndef HETHUB_CONVERSION_ONNXTOATEN_PASSES
#define HETHUB_CONVERSION_ONNXTOATEN_PASSES

include "mlir/Pass/PassBase.td"

def LowerToATen : Pass<"hh-lower-to-aten", "::mlir::ModuleOp"> {
  let summary = "replaces onnx operators by LibTorch calls";
  let description = [{
    Lowers every `onnx.*` operation of all programs and functions. Each is lowered by itself: what an operation becomes
    does not depend on its neighbours, so that the same model gives the same bits however it is cut in stages. Shapes
    must be known. Either all operations are lowered, or each one that cannot be is reported at its node with the
    reason, and the module stays as it was.

    ```mlir
    %y = onnx.Gemm(%x, %w, %b) {transB = 1 : i64} : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    // becomes
    %y = aten.linear(%x, %w, %b) : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    ```
  }];
  let dependentDialects = ["::hethub::aten::ATenDialect", "::hethub::hh::HHDialect"];
}

def LowerPrecision : Pass<"hh-lower-precision", "::mlir::ModuleOp"> {
  let summary = "computes products of float32 in the type that their device trains in";
  let description = [{
    On a device type with `training_precision`, products (linear, matmul, convolution, attention) read their operands
    rounded to that type and their results become float32 again; all else, and what crosses stages, stays as it is.
    Parameters stay float32: they are the copies that the optimizer trains, and are rounded where they are read. Each
    call is changed by itself, whatever stands beside it: forward passes give the same bits in any cut.

    ```mlir
    %y = aten.linear(%x, %w) : (tensor<2x8xf32>, tensor<4x8xf32>) -> (tensor<2x4xf32>)
    // becomes
    %a = aten.to.dtype(%x) {dtype = bf16} : (tensor<2x8xf32>) -> (tensor<2x8xbf16>)
    %b = aten.to.dtype(%w) {dtype = bf16} : (tensor<4x8xf32>) -> (tensor<4x8xbf16>)
    %c = aten.linear(%a, %b) : (tensor<2x8xbf16>, tensor<4x8xbf16>) -> (tensor<2x4xbf16>)
    %y = aten.to.dtype(%c) {dtype = f32} : (tensor<2x4xbf16>) -> (tensor<2x4xf32>)
    ```
  }];
  let dependentDialects = ["::hethub::aten::ATenDialect"];
}

def HoistStartUp : Pass<"hh-hoist-start-up", "::mlir::ModuleOp"> {
  let summary = "moves what depends on parameters alone to the start of its program";
  let description = [{
    Collects all pure operations of an `hh.program` whose operands are parameters, constants or other such operations
    into one `hh.start_up` region, which the runtime executes once when the program is loaded: repacked LSTM weights,
    transposed or cast tables. What would make a tensor out of small constants only (masks, filled tensors) moves as
    well; in `training`, where parameters change, only that does.

    ```mlir
    %w = hh.get_parameter @w : tensor<8x4xf32>
    %t = aten.t(%w) : (tensor<8x4xf32>) -> (tensor<4x8xf32>)
    // becomes
    %t = hh.start_up -> tensor<4x8xf32> {
      %w = hh.get_parameter @w : tensor<8x4xf32>
      %t = aten.t(%w) : (tensor<8x4xf32>) -> (tensor<4x8xf32>)
      hh.yield %t : tensor<4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"training", "training", "bool", "false", "leave what depends on parameters where it is">,
  ];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

#endif // HETHUB_CONVERSION_ONNXTOATEN_PASSES

//===- MicrosoftOps.td - the com_microsoft dialect ---------*- tablegen -*-===//
//
// Operators themselves are generated from lib/Dialect/Microsoft/IR/operators.txt (utils/gen_microsoft_ops.py).
//
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_MICROSOFT_IR_MICROSOFTOPS
#define HETHUB_DIALECT_MICROSOFT_IR_MICROSOFTOPS

include "hethub/Dialect/ONNX/IR/ONNXBase.td"

def Microsoft_Dialect : Dialect {
  let name = "com_microsoft";
  let summary = "operators of onnxruntime that exported and optimised models contain";
  let description = [{
    Operators of the ONNX domain com.microsoft: nodes as those of the onnx dialect are, with the same text form, types
    and interfaces. They come from models that onnxruntime has optimised (fused and quantized forms) and from exporters
    that name its kernels. Operators of that domain which are not listed here are carried by `onnx.Custom`.

    ```mlir
    %y = com_microsoft.FastGelu(%x, %bias) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>)
    ```
  }];
  let cppNamespace = "::hethub::ms";
  let dependentDialects = ["::hethub::ox::ONNXDialect"];
}

class Microsoft_Op<string mnemonic, list<Trait> traits = []> : ONNX_NodeOp<Microsoft_Dialect, mnemonic, traits>;

include "hethub/Dialect/Microsoft/IR/GeneratedOps.td"

#endif // HETHUB_DIALECT_MICROSOFT_IR_MICROSOFTOPS

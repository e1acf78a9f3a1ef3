//===- Passes.td - passes of the onnx dialect ----------------*- tablegen -*-===//

#ifndef HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES
#define HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES

//===- Passes.td - what emission needs before lowering ------*- tablegen -*-===//

#ifndef HETHUB_EMIT_PROGRAM_PASSES
#define HETHUB_EMIT_PROGRAM_PASSES

include "mlir/Pass/PassBase.td"

def RecordOrigins : Pass<"hh-record-origins", "::mlir::ModuleOp"> {
  let summary = "numbers the operations of all programs, so that lowered calls can be traced to them";
  let description = [{
    Wraps the location of each `onnx.*` operation in one that carries a number and leaves a table of what the numbers
    stand for (name, operation, scope, signature) in the module. Lowering keeps locations; profiles and error messages
    of the runtime speak of the model's operations through this table.

    ```mlir
    module attributes {hh.origins = [{name = "fc1", op = "onnx.Gemm", scope = "", signature = "Gemm(...)"} ]}
    %y = onnx.Gemm(%x, %w, %b) ... loc(fused<0 : i64>["fc1"])
    ```
  }];
}

#endif // HETHUB_EMIT_PROGRAM_PASSES

//===- ONNXOps.td - operators that no schema describes -----*- tablegen -*-===//

#ifndef HETHUB_DIALECT_ONNX_IR_ONNXOPS
#define HETHUB_DIALECT_ONNX_IR_ONNXOPS

include "hethub/Dialect/ONNX/IR/ONNXBase.td"
include "hethub/Dialect/ONNX/IR/GeneratedOps.td"

def ONNX_CustomOp : Op<ONNX_Dialect, "Custom", [
    DeclareOpInterfaceMethods<HH_CostInterface>]> {
  let summary = "operator of a domain that this dialect does not describe";
  let description = [{
    Carries a node of any other domain unchanged, so that import loses nothing; whether it can be lowered is decided
    later. Positions of inputs and outputs that the model leaves out are listed in the gap attributes.

    ```mlir
    %y = onnx.Custom "com.microsoft" "FastGelu"(%x, %bias) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$domain, StrAttr:$op_type, Variadic<AnyType>:$inputs, DictionaryAttr:$fields,
                   DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$input_gaps,
                   DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$output_gaps);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$domain $op_type `(` $inputs `)` $fields attr-dict `:` functional-type($inputs, $outputs)";
  let extraClassDefinition = [{
    ::hethub::hh::OpWork $cppClass::getWork() { return ::hethub::ox::workOf(*this); }
  }];
}

def ONNX_YieldOp : Op<ONNX_Dialect, "Yield", [Pure, ReturnLike, Terminator]> {
  let summary = "ends a sub-graph and gives its outputs";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // HETHUB_DIALECT_ONNX_IR_ONNXOPS

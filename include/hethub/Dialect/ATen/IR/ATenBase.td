//===- ATenBase.td - the aten dialect and its op base ------*- tablegen -*-===//
//
// Operators themselves are generated from ATen schemas (utils/gen_aten_ops.py, lib/Dialect/ATen/IR/operators.txt).
//
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ATEN_IR_ATENBASE
#define HETHUB_DIALECT_ATEN_IR_ATENBASE

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ATen_Dialect : Dialect {
  let name = "aten";
  let summary = "calls of LibTorch operators";
  let description = [{
    One operation an overload of a LibTorch operator, and one a function of HetHub's runtime for what LibTorch lacks
    (`aten.hethub.NAME`). Tensor arguments are operands in the order of the schema, all other arguments attributes
    named as in the schema; those that equal the schema's default are left out. Absent optional tensors are printed as
    `none`, lists of tensors in brackets.

    ```mlir
    %y = aten.add.Tensor(%a, %b) {alpha = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
    %z = aten.cat([%a, %b]) {dim = 1 : i64} : ([tensor<2x3xf32>, tensor<2x4xf32>]) -> (tensor<2x7xf32>)
    %n = aten.layer_norm(%x, %w, none) {normalized_shape = array<i64: 256>}
        : (tensor<2x256xf32>, tensor<256xf32>, none) -> (tensor<2x256xf32>)
    ```

    Views are operations on values like all others: no operator here writes to its arguments.
  }];
  let cppNamespace = "::hethub::aten";
}

def ATen_CallInterface : OpInterface<"CallInterface"> {
  let cppNamespace = "::hethub::aten";
  let description = [{What all operators share: the description of their schema.}];
  let methods = [
    StaticInterfaceMethod<"description of the schema", "const ::hethub::aten::CallLayout &", "getCallLayout">,
  ];
}

// The base of all operators: one parser, printer and verifier on the description of the schema.
class ATen_Op<string mnemonic, list<Trait> traits = []>
    : Op<ATen_Dialect, mnemonic, !listconcat([ATen_CallInterface], traits)> {
  // Tensors, and what the runtime holds as one: sequences and optionals.
  let arguments = (ins Variadic<AnyType>:$tensors);
  let results = (outs Variadic<AnyType>:$outputs);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$types, "::mlir::ValueRange":$values), [{
    $_state.addOperands(values);
    $_state.addTypes(types);
  }]>];
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser, ::mlir::OperationState &result) {
      return ::hethub::aten::parseCall(parser, result, getCallLayout());
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      ::hethub::aten::printCall(printer, *this, getCallLayout());
    }
    ::llvm::LogicalResult $cppClass::verify() { return ::hethub::aten::verifyCall(*this, getCallLayout()); }
  }];
}

#endif // HETHUB_DIALECT_ATEN_IR_ATENBASE

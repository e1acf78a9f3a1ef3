//===- ONNXBase.td - the onnx dialect, its types and op base -*- tablegen -*-===//
//
// Operators themselves are generated from the schemas of the onnx package (utils/gen_onnx_ops.py).
//
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ONNX_IR_ONNXBASE
#define HETHUB_DIALECT_ONNX_IR_ONNXBASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "hethub/Dialect/HH/IR/CostInterface.td"

def ONNX_Dialect : Dialect {
  let name = "onnx";
  let summary = "operators of ONNX at their newest version";
  let description = [{
    One operation an operator of the default and the `ai.onnx.ml` domain, generated from the schemas of the onnx
    package. Only the newest version of an operator exists: models are converted before they are imported. Those of
    com.microsoft have a dialect of their own; other domains are carried by `onnx.Custom`.

    Optional operands and results that are left out are printed as `none`; sub-graphs are regions that end in
    `onnx.Yield` and read outer values directly.

    ```mlir
    %y = onnx.Clip(%x, none, %high) : (tensor<2x3xf32>, none, tensor<f32>) -> (tensor<2x3xf32>)
    ```
  }];
  let cppNamespace = "::hethub::ox";
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = [];
}

class ONNX_TypeDef<string name, string typeMnemonic> : TypeDef<ONNX_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def ONNX_String : ONNX_TypeDef<"String", "string"> {
  let summary = "element type of a tensor of strings";
}
def ONNX_Unknown : ONNX_TypeDef<"Unknown", "unknown"> {
  let summary = "type of a value that has not been inferred yet";
}
def ONNX_Seq : ONNX_TypeDef<"Seq", "seq"> {
  let summary = "sequence";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}
def ONNX_Opt : ONNX_TypeDef<"Opt", "opt"> {
  let summary = "optional value";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}
def ONNX_Map : ONNX_TypeDef<"Map", "map"> {
  let summary = "map from a key type to a value type";
  let parameters = (ins "::mlir::Type":$keyType, "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $keyType `,` $valueType `>`";
}

// Constraints on nested types: "a sequence whose elements satisfy t".
class ONNX_ElementOf<string cppType, Type t, string name>
    : Type<And<[CPred<"::llvm::isa<" # cppType # ">($_self)">,
                SubstLeaves<"$_self", "::llvm::cast<" # cppType # ">($_self).getElementType()", t.predicate>]>, name>;
class ONNX_SeqOf<Type t> : ONNX_ElementOf<"::hethub::ox::SeqType", t, "sequence">;
class ONNX_OptOf<Type t> : ONNX_ElementOf<"::hethub::ox::OptType", t, "optional">;
class ONNX_MapOf<Type k, Type v>
    : Type<And<[CPred<"::llvm::isa<::hethub::ox::MapType>($_self)">,
                SubstLeaves<"$_self", "::llvm::cast<::hethub::ox::MapType>($_self).getKeyType()", k.predicate>,
                SubstLeaves<"$_self", "::llvm::cast<::hethub::ox::MapType>($_self).getValueType()", v.predicate>]>,
           "map">;

def ONNX_NodeInterface : OpInterface<"NodeInterface"> {
  let cppNamespace = "::hethub::ox";
  let description = [{What all operators share: the layout of the schema's formal inputs and outputs.}];
  let methods = [
    StaticInterfaceMethod<"layout of the operator's schema", "const ::hethub::ox::NodeLayout &", "getNodeLayout">,
  ];
}

// What all generated operators of a dialect of nodes share: one parser, printer, verifier and cost model.
class ONNX_NodeOp<Dialect dialect, string mnemonic, list<Trait> traits>
    : Op<dialect, mnemonic, !listconcat([
        DeclareOpInterfaceMethods<HH_CostInterface>, ONNX_NodeInterface], traits)> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser, ::mlir::OperationState &result) {
      return ::hethub::ox::parseNode(parser, result, nodeLayout);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) { ::hethub::ox::printNode(printer, *this, nodeLayout); }
    ::llvm::LogicalResult $cppClass::verify() { return ::hethub::ox::verifyNode(*this); }
    ::hethub::hh::OpWork $cppClass::getWork() { return ::hethub::ox::workOf(*this); }
  }];
}

class ONNX_Op<string mnemonic, list<Trait> traits = []> : ONNX_NodeOp<ONNX_Dialect, mnemonic, traits>;

#endif // HETHUB_DIALECT_ONNX_IR_ONNXBASE

//===- HHDialect.cpp - registration, parsers and printers -----------------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hethub::hh;

#include "hethub/Dialect/HH/IR/CostInterface.cpp.inc"
#include "hethub/Dialect/HH/IR/HHDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "hethub/Dialect/HH/IR/HHAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "hethub/Dialect/HH/IR/HHOps.cpp.inc"

void HHDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "hethub/Dialect/HH/IR/HHAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "hethub/Dialect/HH/IR/HHOps.cpp.inc"
      >();
}

Type hethub::hh::typicalType(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto types =
        result.getOwner()->getAttrOfType<ArrayAttr>(typicalTypesAttrName);
    if (types && result.getResultNumber() < types.size())
      if (auto type = dyn_cast<TypeAttr>(types[result.getResultNumber()]))
        return type.getValue();
    return value.getType();
  }
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (function && argument.getOwner()->isEntryBlock())
    if (auto type = function.getArgAttrOfType<TypeAttr>(argument.getArgNumber(),
                                                        typicalTypeAttrName))
      return type.getValue();
  return value.getType();
}

int64_t hethub::hh::byteSize(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  Type element = tensor.getElementType();
  int64_t bits = 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else if (element.isIntOrFloat())
    bits = std::max(8u, element.getIntOrFloatBitWidth());
  int64_t bytes = bits / 8;
  for (int64_t size : tensor.getShape())
    bytes *= ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

//===----------------------------------------------------------------------===//
// hh.stage 1 on @new replicas 2 (%x = %0, ...) : (types) -> types { ... }
//===----------------------------------------------------------------------===//

void StageOp::print(OpAsmPrinter &p) {
  p << ' ' << getIndex() << " on " << getDeviceAttr();
  if (getReplicas() != 1)
    p << " replicas " << getReplicas();
  p << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()), p,
                        [&](auto pair) {
                          p.printRegionArgument(std::get<0>(pair), {},
                                                /*omitType=*/true);
                          p << " = " << std::get<1>(pair);
                        });
  p << ") : ";
  p.printFunctionalType(getOperation());
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  p.printOptionalAttrDict((*this)->getAttrs(), {"index", "device", "replicas"});
}

ParseResult StageOp::parse(OpAsmParser &p, OperationState &result) {
  Builder &builder = p.getBuilder();
  int64_t index, replicas = 1;
  FlatSymbolRefAttr device;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  if (p.parseInteger(index) || p.parseKeyword("on") || p.parseAttribute(device))
    return failure();
  if (succeeded(p.parseOptionalKeyword("replicas")) && p.parseInteger(replicas))
    return failure();
  SMLoc loc = p.getCurrentLocation();
  if (p.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Paren,
          [&]() -> ParseResult {
            return failure(p.parseArgument(arguments.emplace_back()) ||
                           p.parseEqual() ||
                           p.parseOperand(operands.emplace_back()));
          }) ||
      p.parseColonType(type))
    return failure();
  if (type.getNumInputs() != operands.size())
    return p.emitError(loc, "expected as many input types as inputs");
  for (auto [argument, argumentType] : llvm::zip(arguments, type.getInputs()))
    argument.type = argumentType;
  result.addAttribute("index", builder.getI64IntegerAttr(index));
  result.addAttribute("device", device);
  result.addAttribute("replicas", builder.getI64IntegerAttr(replicas));
  result.addTypes(type.getResults());
  Region *body = result.addRegion();
  if (p.resolveOperands(operands, type.getInputs(), loc, result.operands) ||
      p.parseRegion(*body, arguments) ||
      p.parseOptionalAttrDict(result.attributes))
    return failure();
  StageOp::ensureTerminator(*body, builder, result.location);
  return success();
}

//===----------------------------------------------------------------------===//
// hh.program
//===----------------------------------------------------------------------===//

void ProgramOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(
      p, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

ParseResult ProgramOp::parse(OpAsmParser &p, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      p, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name),
      buildType, getArgAttrsAttrName(result.name),
      getResAttrsAttrName(result.name));
}

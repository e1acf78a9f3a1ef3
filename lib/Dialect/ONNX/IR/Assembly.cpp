//===- Assembly.cpp - one parser and printer for all operators ------------===//
//
//   onnx.Clip(%x, none, %high) {attributes} : (T, none, T) -> (T)
//   onnx.If(%c) : (tensor<i1>) -> (T) then_branch {...} else_branch {...}
//
// `none` stands for an optional operand or result that is left out; trailing
// ones are not written.
//===----------------------------------------------------------------------===//

#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hethub::ox;

static constexpr StringLiteral operandSegments = "operandSegmentSizes";
static constexpr StringLiteral resultSegments = "resultSegmentSizes";

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// Spreads values over schema positions: null where a formal that is not
/// variadic is left out. Gaps at the end are dropped.
template <typename Range>
static SmallVector<Value> withGaps(Range values, ArrayRef<int32_t> sizes,
                                   bool variadic) {
  SmallVector<Value> result;
  auto it = values.begin();
  for (auto [position, size] : llvm::enumerate(sizes)) {
    if (size == 0 && !(variadic && position + 1 == sizes.size()))
      result.push_back(nullptr);
    for (int32_t i = 0; i < size; ++i)
      result.push_back(*it++);
  }
  while (!result.empty() && !result.back())
    result.pop_back();
  return result;
}

static ArrayRef<int32_t> segmentsOf(Operation *op, StringRef name) {
  auto sizes = op->getAttrOfType<DenseI32ArrayAttr>(name);
  return sizes ? sizes.asArrayRef() : ArrayRef<int32_t>();
}

void hethub::ox::printNode(OpAsmPrinter &printer, Operation *op,
                           const NodeLayout &layout) {
  SmallVector<Value> inputs(op->getOperands()), outputs(op->getResults());
  if (layout.inputSegments)
    inputs = withGaps(op->getOperands(), segmentsOf(op, operandSegments),
                      layout.inputVariadic);
  if (layout.outputSegments)
    outputs = withGaps(op->getResults(), segmentsOf(op, resultSegments),
                       layout.outputVariadic);
  auto printType = [&](Value value) {
    if (value)
      printer << value.getType();
    else
      printer << "none";
  };
  printer << '(';
  llvm::interleaveComma(inputs, printer, [&](Value value) {
    if (value)
      printer << value;
    else
      printer << "none";
  });
  printer << ')';
  printer.printOptionalAttrDict(op->getAttrs(),
                                {operandSegments, resultSegments});
  printer << " : (";
  llvm::interleaveComma(inputs, printer, printType);
  printer << ") -> (";
  llvm::interleaveComma(outputs, printer, printType);
  printer << ')';
  for (int i = 0; i < layout.regionCount; ++i) {
    printer << ' ' << layout.regions[i] << ' ';
    printer.printRegion(op->getRegion(i));
  }
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// A comma-separated list of types, null for `none`.
static ParseResult parseTypes(OpAsmParser &parser,
                              SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        if (succeeded(parser.parseOptionalKeyword("none"))) {
          types.push_back(nullptr);
          return success();
        }
        return parser.parseType(types.emplace_back());
      });
}

/// Segment sizes from presence at schema positions: position k belongs to
/// formal min(k, formals - 1).
static ParseResult segment(OpAsmParser &parser, SMLoc loc, ArrayRef<Type> types,
                           int formals, bool variadic,
                           SmallVectorImpl<int32_t> &sizes) {
  sizes.assign(formals, 0);
  if (!variadic && static_cast<int>(types.size()) > formals)
    return parser.emitError(loc) << "expected at most " << formals
                                 << " values, got: " << types.size();
  for (auto [position, type] : llvm::enumerate(types))
    if (type)
      ++sizes[std::min<int>(position, formals - 1)];
  return success();
}

ParseResult hethub::ox::parseNode(OpAsmParser &parser, OperationState &result,
                                  const NodeLayout &layout) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<bool> present;
  SMLoc loc = parser.getCurrentLocation();
  auto parseInput = [&]() -> ParseResult {
    bool gap = succeeded(parser.parseOptionalKeyword("none"));
    present.push_back(!gap);
    return gap ? success() : parser.parseOperand(operands.emplace_back());
  };
  SmallVector<Type> inputTypes, outputTypes;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseInput) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parseTypes(parser, inputTypes) || parser.parseArrow() ||
      parseTypes(parser, outputTypes))
    return failure();

  if (inputTypes.size() != present.size())
    return parser.emitError(loc) << "expected " << present.size()
                                 << " input types, got: " << inputTypes.size();
  for (auto [type, there] : llvm::zip(inputTypes, present))
    if (static_cast<bool>(type) != there)
      return parser.emitError(loc, "`none` must stand at the same positions "
                                   "in the operands and in their types");
  SmallVector<int32_t> sizes;
  bool gaps = llvm::is_contained(inputTypes, Type());
  if (layout.inputSegments) {
    if (segment(parser, loc, inputTypes, layout.inputs, layout.inputVariadic,
                sizes))
      return failure();
    result.addAttribute(operandSegments, builder.getDenseI32ArrayAttr(sizes));
  } else if (gaps) {
    return parser.emitError(loc, "operator has no optional input to leave out");
  }
  if (layout.outputSegments) {
    if (segment(parser, loc, outputTypes, layout.outputs, layout.outputVariadic,
                sizes))
      return failure();
    result.addAttribute(resultSegments, builder.getDenseI32ArrayAttr(sizes));
  } else if (llvm::is_contained(outputTypes, Type())) {
    return parser.emitError(loc,
                            "operator has no optional output to leave out");
  }

  llvm::erase(inputTypes, Type());
  llvm::erase(outputTypes, Type());
  result.addTypes(outputTypes);
  if (parser.resolveOperands(operands, inputTypes, loc, result.operands))
    return failure();
  // Without this, MLIR drops an inherent attribute of the wrong kind in
  // silence.
  if (failed(result.name.verifyInherentAttrs(result.attributes, [&]() {
        return parser.emitError(loc) << "'" << result.name << "' op ";
      })))
    return failure();
  for (int i = 0; i < layout.regionCount; ++i) {
    Region *region = result.addRegion();
    if (parser.parseKeyword(layout.regions[i]) || parser.parseRegion(*region))
      return failure();
  }
  return success();
}

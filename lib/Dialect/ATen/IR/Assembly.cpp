//===- Assembly.cpp - one parser, printer and verifier for all operators --===//
//
//   aten.layer_norm(%x, %w, none) {attributes} : (T, T, none) -> (T)
//   aten.index.Tensor(%x, [none, %i]) : (T, [none, T]) -> (T)
//
//===----------------------------------------------------------------------===//

#include "hethub/Dialect/ATen/IR/ATenDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace hethub::aten {

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void printCall(OpAsmPrinter &printer, Operation *op, const CallLayout &layout) {
  CallView call(op);
  auto printTensors = [&](llvm::function_ref<void(Value)> print) {
    auto one = [&](Value value) {
      if (value)
        print(value);
      else
        printer << "none";
    };
    printer << '(';
    bool first = true;
    for (unsigned i = 0; i < call.size(); ++i) {
      Argument argument = call.argument(i);
      if (!argument.isTensor())
        continue;
      if (!first)
        printer << ", ";
      first = false;
      if (argument.layout->kind == Kind::TensorList) {
        printer << '[';
        llvm::interleaveComma(argument.values, printer, one);
        printer << ']';
      } else {
        one(argument.values.empty() ? Value() : argument.values.front());
      }
    }
    printer << ')';
  };
  printTensors([&](Value value) { printer << value; });
  printer.printOptionalAttrDict(op->getAttrs(), {presentAttrName});
  printer << " : ";
  printTensors([&](Value value) { printer << value.getType(); });
  printer << " -> (";
  llvm::interleaveComma(op->getResultTypes(), printer);
  printer << ')';
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Reads what stands between the parentheses, following the tensor arguments of
/// the schema. `element` reads one operand or type, or says that there is
/// `none`. Appends to `present` as presentAttrName describes.
static ParseResult
parseTensors(OpAsmParser &parser, const CallLayout &layout,
             SmallVectorImpl<int32_t> &present,
             llvm::function_ref<ParseResult(bool &)> element) {
  if (parser.parseLParen())
    return failure();
  bool first = true;
  for (const ArgumentLayout &argument : layout.args()) {
    if (argument.kind != Kind::Tensor && argument.kind != Kind::TensorList)
      continue;
    if (!first && parser.parseComma())
      return failure();
    first = false;
    SMLoc loc = parser.getCurrentLocation();
    bool there = false;
    if (argument.kind == Kind::Tensor) {
      if (element(there))
        return failure();
      if (argument.optional)
        present.push_back(there);
      else if (!there)
        return parser.emitError(loc)
               << "argument '" << argument.name << "' must not be none";
      continue;
    }
    size_t length = present.size();
    present.push_back(0);
    auto parseElement = [&]() -> ParseResult {
      SMLoc loc = parser.getCurrentLocation();
      if (element(there))
        return failure();
      ++present[length];
      if (argument.elementOptional)
        present.push_back(there);
      else if (!there)
        return parser.emitError(loc) << "elements of argument '"
                                     << argument.name << "' must not be none";
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                       parseElement))
      return failure();
  }
  return parser.parseRParen();
}

ParseResult parseCall(OpAsmParser &parser, OperationState &result,
                      const CallLayout &layout) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types, resultTypes;
  SmallVector<int32_t> present, presentTypes;
  SMLoc loc = parser.getCurrentLocation();
  if (parseTensors(parser, layout, present,
                   [&](bool &there) -> ParseResult {
                     there = failed(parser.parseOptionalKeyword("none"));
                     if (!there)
                       return success();
                     return parser.parseOperand(operands.emplace_back());
                   }) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parseTensors(parser, layout, presentTypes,
                   [&](bool &there) -> ParseResult {
                     there = failed(parser.parseOptionalKeyword("none"));
                     return there ? parser.parseType(types.emplace_back())
                                  : success();
                   }) ||
      parser.parseArrow() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() {
        return parser.parseType(resultTypes.emplace_back());
      }))
    return failure();
  if (present != presentTypes)
    return parser.emitError(loc, "operands and their types must have `none` "
                                 "and lists at the same positions");
  if (!present.empty())
    result.addAttribute(presentAttrName,
                        parser.getBuilder().getDenseI32ArrayAttr(present));
  result.addTypes(resultTypes);
  return parser.resolveOperands(operands, types, loc, result.operands);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static StringRef kindName(Kind kind) {
  static constexpr StringLiteral names[] = {
      "tensor",         "list of tensors",
      "64-bit integer", "64-bit float",
      "boolean",        "number or boolean",
      "array<i64>",     "array<f64>",
      "array<i1>",      "string",
      "type",           "64-bit integer",
      "nothing",        "nothing",
      "nothing"};
  return names[static_cast<size_t>(kind)];
}

static bool hasKind(Attribute attribute, Kind kind) {
  auto isInt = [](Attribute a) {
    auto integer = dyn_cast<IntegerAttr>(a);
    return integer && integer.getType().isSignlessInteger(64);
  };
  auto isFloat = [](Attribute a) {
    auto real = dyn_cast<FloatAttr>(a);
    return real && real.getType().isF64();
  };
  switch (kind) {
  case Kind::Int:
  case Kind::MemoryFormat:
    return isInt(attribute);
  case Kind::Float:
    return isFloat(attribute);
  case Kind::Bool:
    return isa<BoolAttr>(attribute);
  case Kind::Scalar:
    return isInt(attribute) || isFloat(attribute) || isa<BoolAttr>(attribute);
  case Kind::Ints:
    return isa<DenseI64ArrayAttr>(attribute);
  case Kind::Floats:
    return isa<DenseF64ArrayAttr>(attribute);
  case Kind::Bools:
    return isa<DenseBoolArrayAttr>(attribute);
  case Kind::Str:
    return isa<StringAttr>(attribute);
  case Kind::ScalarType:
    return isa<TypeAttr>(attribute);
  default:
    return false;
  }
}

/// Number of operands and the form of `present`: everything that CallView
/// relies on.
static LogicalResult verifyTensors(Operation *op, const CallLayout &layout) {
  ArrayRef<int32_t> present;
  if (auto attribute = op->getAttrOfType<DenseI32ArrayAttr>(presentAttrName))
    present = attribute.asArrayRef();
  auto next = [&](int32_t limit) -> int32_t {
    if (present.empty() || present.front() < 0 || present.front() > limit)
      return -1;
    int32_t value = present.front();
    present = present.drop_front();
    return value;
  };
  auto malformed = [&]() {
    return op->emitOpError("needs a '")
           << presentAttrName << "' attribute that fits its schema "
           << layout.schema;
  };
  int64_t expected = 0;
  constexpr int32_t anyLength = std::numeric_limits<int32_t>::max();
  for (const ArgumentLayout &argument : layout.args()) {
    if (argument.kind == Kind::Tensor) {
      int32_t there = argument.optional ? next(1) : 1;
      if (there < 0)
        return malformed();
      expected += there;
    } else if (argument.kind == Kind::TensorList) {
      int32_t length = next(anyLength);
      if (length < 0)
        return malformed();
      for (int32_t i = 0; i < length; ++i) {
        int32_t there = argument.elementOptional ? next(1) : 1;
        if (there < 0)
          return malformed();
        expected += there;
      }
    }
  }
  if (!present.empty())
    return malformed();
  if (expected != op->getNumOperands())
    return op->emitOpError("expects ")
           << expected << " tensors, got: " << op->getNumOperands();
  return success();
}

LogicalResult verifyCall(Operation *op, const CallLayout &layout) {
  if (failed(verifyTensors(op, layout)))
    return failure();
  if (op->getNumResults() != layout.resultCount)
    return op->emitOpError("expects ")
           << layout.resultCount << " results, got: " << op->getNumResults();
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    // Names with a dot belong to other dialects.
    if (name == presentAttrName || name.contains('.'))
      continue;
    const ArgumentLayout *argument =
        llvm::find_if(layout.args(), [&](auto &a) { return name == a.name; });
    if (argument == layout.args().end())
      return op->emitOpError("has no argument '") << name << "'";
    if (!hasKind(attribute.getValue(), argument->kind))
      return op->emitOpError("argument '")
             << name << "' must be a " << kindName(argument->kind)
             << ", got: " << attribute.getValue();
    auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    if (list && argument->listSize > 1 && list.size() != argument->listSize)
      return op->emitOpError("argument '")
             << name << "' must have " << argument->listSize
             << " elements, got: " << list.size();
  }
  for (const ArgumentLayout &argument : layout.args()) {
    bool tensor =
        argument.kind == Kind::Tensor || argument.kind == Kind::TensorList;
    if (!tensor && !argument.optional && !argument.defaultText &&
        !op->hasAttr(argument.name))
      return op->emitOpError("needs argument '") << argument.name << "'";
  }
  return success();
}

} // namespace hethub::aten

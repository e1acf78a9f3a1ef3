//===- Signature.cpp - which operations take the same time ----------------===//

#include "hethub/Cost/Signature.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/IR/Work.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MD5.h"

using namespace mlir;
using namespace hethub;

static void printType(llvm::raw_ostream &os, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    os << type;
    return;
  }
  for (int64_t dim : tensor.getShape()) {
    if (ShapedType::isDynamic(dim))
      os << '?';
    else
      os << dim;
    os << 'x';
  }
  os << tensor.getElementType();
}

/// The value of a constant of one number, in a form that does not depend on its
/// rank.
static bool printNumber(llvm::raw_ostream &os, ElementsAttr value) {
  if (value.getNumElements() != 1)
    return false;
  if (isa<FloatType>(value.getElementType())) {
    SmallString<24> text;
    (*value.value_begin<APFloat>()).toString(text);
    os << text;
    // Told from an integer by its point.
    if (text.find_first_not_of("-0123456789") == StringRef::npos)
      os << ".0";
    return true;
  }
  if (auto type = dyn_cast<IntegerType>(value.getElementType())) {
    APInt number = *value.value_begin<APInt>();
    number.print(os, /*isSigned=*/!type.isUnsigned() && type.getWidth() > 1);
    return true;
  }
  return false;
}

static void printOperand(llvm::raw_ostream &os, Value value) {
  if (!value) {
    os << "none";
    return;
  }
  if (ElementsAttr constant = ox::constantValue(value)) {
    if (printNumber(os, constant))
      return;
    os << "const ";
  } else if (ox::isParameter(value)) {
    os << "param ";
  }
  printType(os, value.getType());
}

/// Attributes that say what is computed: no costs and no segment sizes, which
/// `none` stands for.
static void printAttributes(llvm::raw_ostream &os, Operation *op) {
  bool first = true;
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName().strref();
    if (name == "operandSegmentSizes" || name == "resultSegmentSizes" ||
        name.contains('.'))
      continue;
    os << (first ? " {" : ", ") << name << " = ";
    if (isa<ElementsAttr>(attribute.getValue()) &&
        cast<ElementsAttr>(attribute.getValue()).getNumElements() > 64)
      printType(os, cast<ElementsAttr>(attribute.getValue()).getType());
    else
      os << attribute.getValue();
    first = false;
  }
  if (!first)
    os << '}';
}

static std::string hashOf(Region &region) {
  llvm::MD5 hash;
  for (Operation &op : region.getOps())
    if (ox::isNode(&op))
      hash.update(cost::signatureOf(&op) + "\n");
  llvm::MD5::MD5Result result;
  hash.final(result);
  return result.digest().str().str();
}

std::string cost::signatureOf(Operation *op) {
  ox::Node node(op);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!node.domain().empty())
    os << node.domain() << "::";
  os << node.opType() << '(';
  for (unsigned i = 0; i < node.inputCount(); ++i) {
    os << (i ? ", " : "");
    printOperand(os, node.input(i));
  }
  os << ") -> (";
  for (unsigned i = 0; i < node.outputCount(); ++i) {
    os << (i ? ", " : "");
    if (Value result = node.output(i))
      printType(os, result.getType());
    else
      os << "none";
  }
  os << ')';
  printAttributes(os, op);
  for (Region &region : op->getRegions())
    os << " body=" << hashOf(region);
  return text;
}

StringRef cost::computedType(Operation *op) {
  auto nameOf = [](Type type) -> StringRef {
    auto shaped = dyn_cast<ShapedType>(type);
    Type element = shaped ? shaped.getElementType() : Type();
    if (!element)
      return "";
    if (element.isF16())
      return "float16";
    if (element.isBF16())
      return "bfloat16";
    if (element.isF64())
      return "float64";
    if (element.isInteger(8))
      return "int8";
    return isa<FloatType>(element) ? "float32" : "";
  };
  for (Value operand : op->getOperands())
    if (StringRef name = nameOf(operand.getType()); !name.empty())
      return name;
  for (Value result : op->getResults())
    if (StringRef name = nameOf(result.getType()); !name.empty())
      return name;
  return "float32";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The MLIR type of an operand or result as a signature writes it; `number` is
/// the element type that a constant of one number takes.
static std::string typeText(StringRef text, StringRef number) {
  text.consume_front("param ");
  text.consume_front("const ");
  if (text == "none" || text.starts_with("!"))
    return text.str();
  double value;
  if (text.getAsDouble(value, /*AllowInexact=*/true))
    return ("tensor<" + text + ">").str();
  bool integer = text.find_first_not_of("-0123456789") == StringRef::npos;
  return "tensor<" + (integer ? "i64" : number.str()) + ">";
}

static SmallVector<StringRef> listed(StringRef text) {
  SmallVector<StringRef> parts;
  if (!text.empty())
    text.split(parts, ", ");
  return parts;
}

OwningOpRef<ModuleOp> cost::parseSignature(StringRef signature,
                                           MLIRContext *context,
                                           Operation *&op) {
  if (signature.contains(" body=") || signature.contains("::"))
    return {};
  auto [head, tail] = signature.split(") -> (");
  auto [name, operands] = head.split('(');
  auto [results, attributes] = tail.split(')');
  // Numbers are of the type of the first tensor beside them.
  StringRef number = "f32";
  for (StringRef operand : listed(operands))
    if (StringRef element = operand.rsplit('x').second;
        element.starts_with("f") || element.starts_with("bf")) {
      number = element;
      break;
    }
  std::string arguments, uses, types;
  for (auto [index, operand] : llvm::enumerate(listed(operands))) {
    std::string type = typeText(operand, number), use = "none";
    if (type != "none") {
      use = "%a" + std::to_string(index);
      arguments += (arguments.empty() ? "" : ", ") + use + ": " + type;
    }
    uses += (index ? ", " : "") + use;
    types += (index ? ", " : "") + type;
  }
  std::string outputs;
  unsigned present = 0;
  for (auto [index, result] : llvm::enumerate(listed(results))) {
    std::string type = typeText(result, number);
    present += type != "none";
    outputs += (index ? ", " : "") + type;
  }
  std::string text = "func.func @signature(" + arguments + ") {\n";
  if (present)
    text += "%r:" + std::to_string(present) + " = ";
  text += ("onnx." + name + "(" + uses + ")" + attributes + " : (" + types +
           ") -> (" + outputs + ")\nreturn\n}")
              .str();
  // What is no signature is skipped, not complained about.
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(context));
  if (!module)
    return {};
  auto function = module->lookupSymbol<func::FuncOp>("signature");
  op = &function.getBody().front().front();
  return ox::isNode(op) ? std::move(module) : OwningOpRef<ModuleOp>();
}

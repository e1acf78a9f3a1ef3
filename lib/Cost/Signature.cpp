//===- Signature.cpp - which operations take the same time ----------------===//

#include "hethub/Cost/Signature.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/IR/Work.h"

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

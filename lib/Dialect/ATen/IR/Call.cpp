//===- Call.cpp - an aten operation as a call of its schema ---------------===//

#include "hethub/Dialect/ATen/IR/ATenDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace hethub::aten {

CallView::CallView(Operation *op) : op(op), description(nullptr) {
  if (auto call = dyn_cast<CallInterface>(op))
    description = &call.getCallLayout();
}

Argument CallView::argument(unsigned position) const {
  ArrayRef<ArgumentLayout> layouts = layout().args();
  Argument result{&layouts[position], {}, nullptr, false};
  if (!result.isTensor()) {
    result.attribute = op->getAttr(layouts[position].name);
    result.isDefault = !result.attribute;
    if (result.isDefault)
      result.attribute = defaultValue(layouts[position], op->getContext());
    return result;
  }
  // Walk the tensor arguments up to this one; `present` tells their extents.
  ArrayRef<int32_t> present;
  if (auto attribute = op->getAttrOfType<DenseI32ArrayAttr>(presentAttrName))
    present = attribute.asArrayRef();
  auto operands = op->getOperands().begin();
  for (const ArgumentLayout &layout : layouts.take_front(position + 1)) {
    bool wanted = &layout == result.layout;
    if (layout.kind == Kind::Tensor) {
      int32_t there = 1;
      if (layout.optional) {
        there = present.front();
        present = present.drop_front();
      }
      if (wanted && there)
        result.values.push_back(*operands);
      operands += there;
    } else if (layout.kind == Kind::TensorList) {
      int32_t length = present.front();
      ArrayRef<int32_t> flags;
      present = present.drop_front();
      if (layout.elementOptional) {
        flags = present.take_front(length);
        present = present.drop_front(length);
      }
      for (int32_t i = 0; i < length; ++i) {
        bool there = flags.empty() || flags[i];
        if (wanted)
          result.values.push_back(there ? *operands : Value());
        operands += there;
      }
    }
  }
  result.isDefault = result.layout->kind == Kind::Tensor &&
                     result.values.empty() && result.layout->defaultText;
  return result;
}

Argument CallView::argument(StringRef name) const {
  for (auto [position, layout] : llvm::enumerate(layout().args()))
    if (name == layout.name)
      return argument(position);
  llvm_unreachable("the schema has no argument of that name");
}

const CallLayout *lookupLayout(StringRef operation, MLIRContext *context) {
  auto name = RegisteredOperationName::lookup(operation, context);
  if (!name)
    return nullptr;
  auto *call = name->getInterface<CallInterface>();
  return call ? &call->getCallLayout() : nullptr;
}

/// "[0, 1]" or "0" as a list; a single default is repeated to the size of
/// `int[n]`.
static SmallVector<StringRef> elements(const ArgumentLayout &argument) {
  StringRef text(argument.defaultText);
  SmallVector<StringRef> parts;
  if (text.consume_front("[")) {
    text.consume_back("]");
    text.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (StringRef &part : parts)
      part = part.trim();
  } else {
    parts.assign(std::max(1, argument.listSize), text);
  }
  return parts;
}

static double toDouble(StringRef text) {
  double value = 0;
  (void)text.getAsDouble(value);
  return value;
}

static int64_t toInt(StringRef text) {
  int64_t value = 0;
  (void)text.getAsInteger(10, value);
  return value;
}

/// Names that schemas use for the defaults of Reduction, MemoryFormat and the
/// like.
static int64_t namedInt(StringRef text) {
  return llvm::StringSwitch<int64_t>(text)
      .Case("Mean", 1)
      .Case("Sum", 2)
      .Case("contiguous_format", 0)
      .Case("preserve_format", 1)
      .Default(toInt(text));
}

Attribute defaultValue(const ArgumentLayout &argument, MLIRContext *context) {
  if (!argument.defaultText || argument.kind == Kind::Tensor ||
      argument.kind == Kind::TensorList)
    return nullptr;
  Builder builder(context);
  StringRef text(argument.defaultText);
  if (text == "None")
    return nullptr;
  switch (argument.kind) {
  case Kind::Int:
  case Kind::MemoryFormat:
    return builder.getI64IntegerAttr(namedInt(text));
  case Kind::Float:
    return builder.getF64FloatAttr(toDouble(text));
  case Kind::Bool:
    return builder.getBoolAttr(text == "True");
  case Kind::Scalar:
    if (text == "True" || text == "False")
      return builder.getBoolAttr(text == "True");
    if (text.contains('.') || text.contains('e'))
      return builder.getF64FloatAttr(toDouble(text));
    return builder.getI64IntegerAttr(toInt(text));
  case Kind::Ints: {
    SmallVector<int64_t> values =
        llvm::map_to_vector(elements(argument), toInt);
    return builder.getDenseI64ArrayAttr(values);
  }
  case Kind::Floats: {
    SmallVector<double> values =
        llvm::map_to_vector(elements(argument), toDouble);
    return builder.getDenseF64ArrayAttr(values);
  }
  case Kind::Bools: {
    SmallVector<bool> values = llvm::map_to_vector(
        elements(argument), [](StringRef part) { return part == "True"; });
    return builder.getDenseBoolArrayAttr(values);
  }
  case Kind::Str:
    return builder.getStringAttr(text.trim("\"'"));
  default: // a ScalarType default ("long") is always written out by the
           // lowering
    return nullptr;
  }
}

} // namespace hethub::aten

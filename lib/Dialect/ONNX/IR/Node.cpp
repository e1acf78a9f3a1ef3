//===- Node.cpp - an onnx operation as ONNX sees it -----------------------===//

#include "hethub/Dialect/ONNX/IR/Node.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace hethub::ox {

static constexpr StringLiteral customName = "onnx.Custom";

/// Spreads values over positions by segment sizes; without sizes, positions are
/// as they stand.
template <typename Range>
static void spread(Operation *op, Range values, StringRef attribute,
                   bool variadic, SmallVectorImpl<Value> &positions) {
  auto sizes = op->getAttrOfType<DenseI32ArrayAttr>(attribute);
  if (!sizes) {
    positions.append(values.begin(), values.end());
    return;
  }
  auto it = values.begin();
  for (auto [index, size] : llvm::enumerate(sizes.asArrayRef())) {
    bool last = index + 1 == static_cast<size_t>(sizes.size());
    if (size == 0 && !(variadic && last))
      positions.push_back(nullptr);
    for (int32_t i = 0; i < size; ++i)
      positions.push_back(*it++);
  }
  while (!positions.empty() && !positions.back())
    positions.pop_back();
}

/// onnx.Custom lists the positions that are left out.
template <typename Range>
static void spreadCustom(Operation *op, Range values, StringRef attribute,
                         SmallVectorImpl<Value> &positions) {
  auto gaps = op->getAttrOfType<DenseI64ArrayAttr>(attribute);
  for (Value value : values) {
    while (gaps && llvm::is_contained(gaps.asArrayRef(),
                                      static_cast<int64_t>(positions.size())))
      positions.push_back(nullptr);
    positions.push_back(value);
  }
}

Node::Node(Operation *op) : op(op) {
  if (auto node = dyn_cast<NodeInterface>(op)) {
    const NodeLayout &layout = node.getNodeLayout();
    spread(op, op->getOperands(), "operandSegmentSizes", layout.inputVariadic,
           inputs);
    spread(op, op->getResults(), "resultSegmentSizes", layout.outputVariadic,
           outputs);
    return;
  }
  spreadCustom(op, op->getOperands(), "input_gaps", inputs);
  spreadCustom(op, op->getResults(), "output_gaps", outputs);
}

StringRef Node::opType() const {
  if (auto node = dyn_cast<NodeInterface>(op))
    return node.getNodeLayout().name;
  if (auto type = op->getAttrOfType<StringAttr>("op_type"))
    return type.getValue();
  return op->getName().stripDialect();
}

StringRef Node::domain() const {
  if (auto node = dyn_cast<NodeInterface>(op))
    return node.getNodeLayout().domain;
  auto domain = op->getAttrOfType<StringAttr>("domain");
  return domain ? domain.getValue() : StringRef();
}

Attribute Node::attribute(StringRef name) const {
  if (op->getName().getStringRef() == customName) {
    auto attributes = op->getAttrOfType<DictionaryAttr>("fields");
    return attributes ? attributes.get(name) : Attribute();
  }
  // The one schema attribute whose accessor would hide a member of mlir::Op.
  return op->getAttr(name == "type" ? "type_attr" : name);
}

int64_t Node::integer(StringRef name, int64_t fallback) const {
  auto value = dyn_cast_or_null<IntegerAttr>(attribute(name));
  return value ? value.getInt() : fallback;
}

double Node::real(StringRef name, double fallback) const {
  auto value = dyn_cast_or_null<FloatAttr>(attribute(name));
  return value ? value.getValueAsDouble() : fallback;
}

StringRef Node::string(StringRef name, StringRef fallback) const {
  auto value = dyn_cast_or_null<StringAttr>(attribute(name));
  return value ? value.getValue() : fallback;
}

SmallVector<int64_t> Node::integers(StringRef name) const {
  if (auto value = dyn_cast_or_null<DenseI64ArrayAttr>(attribute(name)))
    return SmallVector<int64_t>(value.asArrayRef());
  return {};
}

SmallVector<double> Node::reals(StringRef name) const {
  if (auto value = dyn_cast_or_null<DenseF32ArrayAttr>(attribute(name)))
    return SmallVector<double>(value.asArrayRef().begin(),
                               value.asArrayRef().end());
  return {};
}

Region *Node::subgraph(StringRef name) const {
  auto node = dyn_cast<NodeInterface>(op);
  if (!node)
    return nullptr;
  const NodeLayout &layout = node.getNodeLayout();
  for (int i = 0; i < layout.regionCount; ++i)
    if (name == layout.regions[i])
      return &op->getRegion(i);
  return nullptr;
}

bool isNode(Operation *op) {
  return isa<NodeInterface>(op) || op->getName().getStringRef() == customName;
}

ElementsAttr constantValue(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || op->getName().getStringRef() != "onnx.Constant")
    return nullptr;
  return op->getAttrOfType<ElementsAttr>("value");
}

} // namespace hethub::ox

//===- Match.cpp - how raising patterns look at a graph -------------------===//

#include "Match.h"

#include "hethub/Support/Names.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Operation *raise::producer(Value value, StringRef opType) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || op->getResult(0) != value)
    return nullptr;
  StringRef name = op->getName().getStringRef();
  return name.consume_front("onnx.") && name == opType ? op : nullptr;
}

Operation *raise::soleProducer(Value value, StringRef opType) {
  Operation *op = producer(value, opType);
  return op && value.hasOneUse() ? op : nullptr;
}

static std::optional<double> firstNumber(ElementsAttr value) {
  if (auto type = dyn_cast<FloatType>(value.getElementType())) {
    APFloat number = *value.value_begin<APFloat>();
    bool loses;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  }
  if (auto type = dyn_cast<IntegerType>(value.getElementType())) {
    APInt number = *value.value_begin<APInt>();
    return type.isUnsigned() || type.getWidth() == 1
               ? static_cast<double>(number.getZExtValue())
               : static_cast<double>(number.getSExtValue());
  }
  return std::nullopt;
}

std::optional<double> raise::numberOf(Value value) {
  ElementsAttr constant = constantValue(value);
  if (!constant || constant.getNumElements() != 1)
    return std::nullopt;
  return firstNumber(constant);
}

std::optional<double> raise::splatOf(Value value) {
  ElementsAttr constant = constantValue(value);
  if (!constant || constant.getNumElements() == 0 ||
      (constant.getNumElements() != 1 && !constant.isSplat()))
    return std::nullopt;
  return firstNumber(constant);
}

bool raise::isClose(double value, double expected, Type elementType) {
  double tolerance = elementType.isF16() || elementType.isBF16() ? 4e-3 : 1e-5;
  if (std::isinf(expected))
    return value == expected;
  return std::abs(value - expected) <= tolerance * std::abs(expected);
}

bool raise::isNumber(Value value, double expected) {
  std::optional<double> number = numberOf(value);
  return number && isClose(*number, expected,
                           cast<ShapedType>(value.getType()).getElementType());
}

std::optional<SmallVector<int64_t>> raise::integersOf(Value value) {
  ElementsAttr constant = constantValue(value);
  if (!constant || !isa<IntegerType>(constant.getElementType()) ||
      constant.getShapedType().getRank() > 1)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (const APInt &number : constant.getValues<APInt>())
    result.push_back(number.getSExtValue());
  return result;
}

Value raise::otherOperand(Operation *op, Value value) {
  if (op->getNumOperands() != 2)
    return nullptr;
  if (op->getOperand(0) == value)
    return op->getOperand(1);
  return op->getOperand(1) == value ? op->getOperand(0) : nullptr;
}

bool raise::eitherOrder(Operation *op, function_ref<bool(Value, Value)> match) {
  if (op->getNumOperands() != 2)
    return false;
  Value a = op->getOperand(0), b = op->getOperand(1);
  return match(a, b) || match(b, a);
}

RankedTensorType raise::staticType(Value value) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : nullptr;
  return type && type.hasStaticShape() ? type : nullptr;
}

bool raise::isTrailingMean(Operation *reduceMean, int64_t &axis) {
  Node node(reduceMean);
  auto type = dyn_cast<RankedTensorType>(node.input(0).getType());
  auto axes = integersOf(node.input(1));
  if (!type || !axes || axes->empty() || node.integer("keepdims", 1) != 1)
    return false;
  int64_t rank = type.getRank();
  for (int64_t &each : *axes)
    each += each < 0 ? rank : 0;
  llvm::sort(*axes);
  for (auto [index, each] : llvm::enumerate(*axes))
    if (each != rank - static_cast<int64_t>(axes->size() - index))
      return false;
  axis = axes->front();
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static void collectFactors(Value value, bool root, Product &product) {
  if (std::optional<double> number = numberOf(value)) {
    product.number *= *number;
    return;
  }
  if (root || value.hasOneUse()) {
    if (Operation *mul = producer(value, "Mul")) {
      collectFactors(mul->getOperand(0), false, product);
      collectFactors(mul->getOperand(1), false, product);
      return;
    }
    if (Operation *div = producer(value, "Div"))
      if (std::optional<double> divisor = numberOf(div->getOperand(1))) {
        product.number /= *divisor;
        collectFactors(div->getOperand(0), false, product);
        return;
      }
  }
  product.factors.push_back(value);
}

Product raise::productOf(Value root) {
  Product product;
  collectFactors(root, /*root=*/true, product);
  return product;
}

Value raise::unscaledStep(Value value, double &number) {
  Operation *mul = producer(value, "Mul"), *div = producer(value, "Div");
  Operation *op = mul ? mul : div;
  if (!op)
    return nullptr;
  for (unsigned i : {1u, 0u}) {
    std::optional<double> factor = numberOf(op->getOperand(i));
    if (!factor || op->getOperand(1 - i).getType() != value.getType())
      continue;
    if (div && i == 0) // number / value
      return nullptr;
    number *= div ? 1 / *factor : *factor;
    return op->getOperand(1 - i);
  }
  return nullptr;
}

Value raise::unscaled(Value value, double &number) {
  while (Value inner = unscaledStep(value, number))
    value = inner;
  return value;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Operation *raise::createNode(OpBuilder &builder, Location loc, StringRef opType,
                             ArrayRef<Value> inputs,
                             ArrayRef<NamedAttribute> attributes,
                             ArrayRef<Type> outputs) {
  OperationName name(("onnx." + opType).str(), builder.getContext());
  const NodeLayout &layout =
      name.getInterface<NodeInterface>()->getNodeLayout();
  OperationState state(loc, name);
  state.addTypes(outputs);
  state.addAttributes(attributes);
  SmallVector<int32_t> sizes(layout.inputs, 0);
  for (auto [position, input] : llvm::enumerate(inputs)) {
    if (!input)
      continue;
    state.addOperands(input);
    ++sizes[std::min<int>(position, layout.inputs - 1)];
  }
  if (layout.inputSegments)
    state.addAttribute("operandSegmentSizes",
                       builder.getDenseI32ArrayAttr(sizes));
  if (layout.outputSegments) {
    SmallVector<int32_t> results(layout.outputs, 0);
    for (size_t i = 0; i < outputs.size(); ++i)
      results[std::min<int>(i, layout.outputs - 1)] += 1;
    state.addAttribute("resultSegmentSizes",
                       builder.getDenseI32ArrayAttr(results));
  }
  return builder.create(state);
}

Location raise::helperLoc(Operation *op, StringRef suffix) {
  std::string name = (nodeName(op) + "/" + suffix).str();
  return makeNodeLoc(op->getContext(), name, {StringRef(name)},
                     scopeOf(op->getLoc()));
}

Value raise::createIntegers(OpBuilder &builder, Location loc,
                            ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                    builder.getI64Type());
  NamedAttribute value =
      builder.getNamedAttr("value", DenseIntElementsAttr::get(type, values));
  return createNode(builder, loc, "Constant", {}, {value}, {type})
      ->getResult(0);
}

/// A size of 0 must mean itself, not "copy the size of the input".
static SmallVector<NamedAttribute, 1> reshapeAttributes(Builder &builder,
                                                        RankedTensorType type) {
  if (!llvm::is_contained(type.getShape(), 0))
    return {};
  return {builder.getNamedAttr("allowzero", builder.getI64IntegerAttr(1))};
}

Value raise::createReshape(OpBuilder &builder, Location loc, Value value,
                           RankedTensorType type) {
  if (value.getType() == type)
    return value;
  Value shape = createIntegers(builder, loc, type.getShape());
  return createNode(builder, loc, "Reshape", {value, shape},
                    reshapeAttributes(builder, type), {type})
      ->getResult(0);
}

void raise::replaceWithReshape(PatternRewriter &rewriter, Operation *op,
                               Value value) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value shape =
      createIntegers(rewriter, helperLoc(op, "shape"), type.getShape());
  replaceWithNode(rewriter, op, "Reshape", {value, shape},
                  reshapeAttributes(rewriter, type));
}

Value raise::createTranspose(OpBuilder &builder, Location loc, Value value,
                             ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  bool identity = true;
  for (auto [index, from] : llvm::enumerate(permutation)) {
    shape.push_back(type.getDimSize(from));
    identity &= from == static_cast<int64_t>(index);
  }
  if (identity)
    return value;
  NamedAttribute perm =
      builder.getNamedAttr("perm", builder.getDenseI64ArrayAttr(permutation));
  return createNode(builder, loc, "Transpose", {value}, {perm},
                    {type.clone(shape)})
      ->getResult(0);
}

void raise::replaceWithNode(PatternRewriter &rewriter, Operation *op,
                            StringRef opType, ArrayRef<Value> inputs,
                            ArrayRef<NamedAttribute> attributes) {
  Operation *node = createNode(rewriter, op->getLoc(), opType, inputs,
                               attributes, {op->getResult(0).getType()});
  rewriter.replaceOp(op, node);
}

//===- Evaluate.cpp - operators on small constant tensors -----------------===//

#include "Evaluate.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace hethub::ox {

bool hasSmallForm(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth() == 1 ||
           (integer.getWidth() % 8 == 0 && integer.getWidth() <= 64);
  return element.isF16() || element.isBF16() || element.isF32() ||
         element.isF64();
}

std::optional<SmallTensor> toSmallTensor(DenseElementsAttr value,
                                         int64_t maxElements) {
  ShapedType type = value.getType();
  if (!hasSmallForm(type.getElementType()) ||
      type.getNumElements() > maxElements)
    return std::nullopt;
  SmallTensor tensor{
      type.getElementType(), SmallVector<int64_t>(type.getShape()), {}, {}};
  if (tensor.isReal()) {
    for (APFloat real : value.getValues<APFloat>()) {
      bool lost;
      real.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
      tensor.reals.push_back(real.convertToDouble());
    }
    return tensor;
  }
  bool isUnsigned =
      tensor.element.isUnsignedInteger() || tensor.element.isInteger(1);
  for (const APInt &integer : value.getValues<APInt>()) {
    if (isUnsigned && integer.getActiveBits() > 63)
      return std::nullopt;
    tensor.ints.push_back(isUnsigned ? integer.getZExtValue()
                                     : integer.getSExtValue());
  }
  return tensor;
}

DenseElementsAttr toAttribute(const SmallTensor &tensor) {
  auto type = RankedTensorType::get(tensor.shape, tensor.element);
  if (tensor.isReal()) {
    SmallVector<APFloat> values;
    const auto &semantics = cast<FloatType>(tensor.element).getFloatSemantics();
    for (double real : tensor.reals) {
      APFloat value(real);
      bool lost;
      value.convert(semantics, APFloat::rmNearestTiesToEven, &lost);
      values.push_back(value);
    }
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  unsigned width = tensor.element.getIntOrFloatBitWidth();
  // Arithmetic wraps around at the width of the type.
  for (int64_t integer : tensor.ints)
    values.push_back(APInt(64, static_cast<uint64_t>(integer)).trunc(width));
  return DenseElementsAttr::get(type, values);
}

SmallTensor SmallTensor::take(ArrayRef<int64_t> newShape,
                              ArrayRef<int64_t> indices) const {
  SmallTensor result{element, SmallVector<int64_t>(newShape), {}, {}};
  for (int64_t index : indices) {
    if (isReal())
      result.reals.push_back(reals[index]);
    else
      result.ints.push_back(ints[index]);
  }
  return result;
}

SmallTensor SmallTensor::reshaped(ArrayRef<int64_t> newShape) const {
  SmallTensor result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  return result;
}

std::optional<int64_t> countElements(ArrayRef<int64_t> shape, int64_t limit) {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || dim > limit || (count *= dim) > limit)
      return std::nullopt;
  }
  return count;
}

bool broadcastShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                     SmallVectorImpl<int64_t> &result) {
  size_t rank = std::max(a.size(), b.size());
  result.assign(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t dimA = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t dimB = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (dimA != dimB && dimA != 1 && dimB != 1)
      return false;
    result[rank - 1 - i] = dimA == 1 ? dimB : dimA;
  }
  return true;
}

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

SmallVector<int64_t> broadcastIndices(ArrayRef<int64_t> source,
                                      ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sourceStrides = stridesOf(source);
  SmallVector<int64_t> strides = stridesOf(shape);
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  SmallVector<int64_t> result;
  size_t skipped = shape.size() - source.size();
  for (int64_t linear = 0; linear < count; ++linear) {
    int64_t index = 0;
    for (size_t axis = 0; axis < source.size(); ++axis)
      if (source[axis] != 1)
        index += linear / strides[axis + skipped] % shape[axis + skipped] *
                 sourceStrides[axis];
    result.push_back(index);
  }
  return result;
}

int64_t normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < 0)
    axis += rank;
  return axis >= 0 && axis < rank ? axis : -1;
}

SmallVector<DenseElementsAttr> evaluate(const Node &node, int64_t maxElements) {
  if (!node.domain().empty())
    return {};
  Evaluator evaluator = nullptr;
  for (auto find :
       {findArithmeticEvaluator, findMovementEvaluator, findReductionEvaluator})
    if (!evaluator)
      evaluator = find(node.opType());
  if (!evaluator)
    return {};

  SmallVector<std::optional<SmallTensor>> tensors(node.inputCount());
  SmallVector<const SmallTensor *> inputs;
  for (unsigned i = 0; i < node.inputCount(); ++i) {
    Value input = node.input(i);
    if (!input) {
      inputs.push_back(nullptr);
      continue;
    }
    auto dense = dyn_cast_or_null<DenseElementsAttr>(constantValue(input));
    if (!dense)
      return {};
    tensors[i] = toSmallTensor(dense, maxElements);
    if (!tensors[i])
      return {};
    inputs.push_back(&*tensors[i]);
  }
  Evaluation evaluation{node, inputs, {}, maxElements, {}};
  for (unsigned i = 0; i < node.outputCount(); ++i) {
    Value output = node.output(i);
    auto type = output ? dyn_cast<TensorType>(output.getType()) : TensorType();
    if (!type || !hasSmallForm(type.getElementType()))
      return {};
    evaluation.elements.push_back(type.getElementType());
  }
  if (!evaluator(evaluation) || evaluation.results.size() != node.outputCount())
    return {};
  SmallVector<DenseElementsAttr> results;
  for (const SmallTensor &result : evaluation.results) {
    if (result.size() > maxElements)
      return {};
    results.push_back(toAttribute(result));
  }
  return results;
}

} // namespace hethub::ox

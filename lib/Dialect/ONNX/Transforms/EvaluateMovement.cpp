//===- EvaluateMovement.cpp - operators that move or make constants -------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace hethub::ox {

namespace {

/// The shape is what inference found; the elements stay as they are.
bool evaluateReshape(Evaluation &e) {
  auto type = dyn_cast<RankedTensorType>(e.node.output(0).getType());
  if (!type || !type.hasStaticShape() ||
      type.getNumElements() != e.input(0)->size())
    return false;
  e.results.push_back(e.input(0)->reshaped(type.getShape()));
  return true;
}

bool evaluateConcat(Evaluation &e) {
  const SmallTensor &first = *e.input(0);
  int64_t axis = normalizeAxis(e.node.integer("axis", 0), first.rank());
  if (axis < 0)
    return false;
  SmallTensor &result = e.results.emplace_back();
  result.element = first.element;
  result.shape = first.shape;
  result.shape[axis] = 0;
  int64_t outer = 1;
  for (int64_t i = 0; i < axis; ++i)
    outer *= first.shape[i];
  for (const SmallTensor *input : e.inputs) {
    if (!input || input->element != first.element ||
        input->rank() != first.rank())
      return false;
    result.shape[axis] += input->shape[axis];
  }
  if (!countElements(result.shape, e.maxElements))
    return false;
  for (int64_t block = 0; block < outer; ++block)
    for (const SmallTensor *input : e.inputs) {
      int64_t length = input->size() / outer;
      for (int64_t i = block * length; i < (block + 1) * length; ++i) {
        if (result.isReal())
          result.reals.push_back(input->reals[i]);
        else
          result.ints.push_back(input->ints[i]);
      }
    }
  return true;
}

bool evaluateGather(Evaluation &e) {
  const SmallTensor &data = *e.input(0), &indices = *e.input(1);
  int64_t axis = normalizeAxis(e.node.integer("axis", 0), data.rank());
  if (axis < 0)
    return false;
  int64_t outer = 1, inner = 1, length = data.shape[axis];
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < axis; ++i) {
    outer *= data.shape[i];
    shape.push_back(data.shape[i]);
  }
  llvm::append_range(shape, indices.shape);
  for (int64_t i = axis + 1; i < data.rank(); ++i) {
    inner *= data.shape[i];
    shape.push_back(data.shape[i]);
  }
  if (!countElements(shape, e.maxElements))
    return false;
  SmallVector<int64_t> from;
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t index : indices.ints) {
      int64_t at = normalizeAxis(index, length);
      if (at < 0)
        return false;
      for (int64_t i = 0; i < inner; ++i)
        from.push_back((block * length + at) * inner + i);
    }
  e.results.push_back(data.take(shape, from));
  return true;
}

bool evaluateGatherND(Evaluation &e) {
  const SmallTensor &data = *e.input(0), &indices = *e.input(1);
  if (e.node.integer("batch_dims", 0) || indices.rank() < 1)
    return false;
  int64_t depth = indices.shape.back();
  if (depth > data.rank())
    return false;
  SmallVector<int64_t> strides = stridesOf(data.shape);
  SmallVector<int64_t> shape(indices.shape.begin(), indices.shape.end() - 1);
  int64_t inner = 1;
  for (int64_t i = depth; i < data.rank(); ++i) {
    shape.push_back(data.shape[i]);
    inner *= data.shape[i];
  }
  if (!countElements(shape, e.maxElements))
    return false;
  SmallVector<int64_t> from;
  for (int64_t row = 0; row < (depth ? indices.size() / depth : 0); ++row) {
    int64_t base = 0;
    for (int64_t i = 0; i < depth; ++i) {
      int64_t at = normalizeAxis(indices.ints[row * depth + i], data.shape[i]);
      if (at < 0)
        return false;
      base += at * strides[i];
    }
    for (int64_t i = 0; i < inner; ++i)
      from.push_back(base + i);
  }
  e.results.push_back(data.take(shape, from));
  return true;
}

/// Start and end are cut to the dim; a step may be negative.
bool evaluateSlice(Evaluation &e) {
  const SmallTensor &data = *e.input(0);
  const SmallTensor *starts = e.input(1), *ends = e.input(2),
                    *axes = e.input(3), *steps = e.input(4);
  SmallVector<int64_t> first(data.rank(), 0), step(data.rank(), 1);
  SmallVector<int64_t> shape = data.shape;
  for (int64_t i = 0; i < starts->size(); ++i) {
    int64_t axis = normalizeAxis(axes ? axes->ints[i] : i, data.rank());
    int64_t by = steps ? steps->ints[i] : 1;
    if (axis < 0 || by == 0)
      return false;
    int64_t dim = data.shape[axis];
    auto cut = [&](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? at + dim : at, low, high);
    };
    bool back = by < 0;
    int64_t from = cut(starts->ints[i], 0, back ? dim - 1 : dim);
    int64_t to =
        back ? cut(ends->ints[i], -1, dim - 1) : cut(ends->ints[i], 0, dim);
    int64_t span = back ? from - to : to - from;
    int64_t width = back ? -std::max(by, -INT64_MAX) : by;
    first[axis] = from;
    step[axis] = by;
    shape[axis] = span <= 0 ? 0 : (span - 1) / width + 1;
  }
  SmallVector<int64_t> strides = stridesOf(data.shape);
  SmallVector<int64_t> newStrides = stridesOf(shape);
  SmallVector<int64_t> from;
  std::optional<int64_t> count = countElements(shape, e.maxElements);
  for (int64_t linear = 0; linear < count.value_or(0); ++linear) {
    int64_t at = 0;
    for (int64_t axis = 0; axis < data.rank(); ++axis)
      at +=
          (first[axis] + linear / newStrides[axis] % shape[axis] * step[axis]) *
          strides[axis];
    from.push_back(at);
  }
  e.results.push_back(data.take(shape, from));
  return true;
}

bool evaluateTranspose(Evaluation &e) {
  const SmallTensor &data = *e.input(0);
  SmallVector<int64_t> perm = e.node.integers("perm");
  if (perm.empty())
    for (int64_t i = data.rank(); i-- > 0;)
      perm.push_back(i);
  SmallVector<int64_t> shape, strides, dataStrides = stridesOf(data.shape);
  for (int64_t axis : perm) {
    shape.push_back(data.shape[axis]);
    strides.push_back(dataStrides[axis]);
  }
  SmallVector<int64_t> newStrides = stridesOf(shape), from;
  for (int64_t linear = 0; linear < data.size(); ++linear) {
    int64_t at = 0;
    for (auto [newStride, dim, stride] : llvm::zip(newStrides, shape, strides))
      at += linear / newStride % dim * stride;
    from.push_back(at);
  }
  e.results.push_back(data.take(shape, from));
  return true;
}

/// Both ways: a target of 1 keeps the dim of the input.
bool evaluateExpand(Evaluation &e) {
  const SmallTensor &data = *e.input(0);
  SmallVector<int64_t> shape;
  if (!broadcastShapes(data.shape, e.input(1)->ints, shape) ||
      !countElements(shape, e.maxElements))
    return false;
  e.results.push_back(data.take(shape, broadcastIndices(data.shape, shape)));
  return true;
}

bool evaluateTile(Evaluation &e) {
  const SmallTensor &data = *e.input(0), &repeats = *e.input(1);
  if (repeats.size() != data.rank())
    return false;
  SmallVector<int64_t> shape = data.shape;
  for (int64_t i = 0; i < data.rank(); ++i) {
    if (repeats.ints[i] < 0 || repeats.ints[i] > e.maxElements)
      return false;
    shape[i] *= repeats.ints[i];
  }
  std::optional<int64_t> count = countElements(shape, e.maxElements);
  if (!count)
    return false;
  SmallVector<int64_t> strides = stridesOf(data.shape),
                       newStrides = stridesOf(shape), from;
  for (int64_t linear = 0; linear < *count; ++linear) {
    int64_t at = 0;
    for (int64_t i = 0; i < data.rank(); ++i)
      at += linear / newStrides[i] % shape[i] % data.shape[i] * strides[i];
    from.push_back(at);
  }
  e.results.push_back(data.take(shape, from));
  return true;
}

bool evaluateConstantOfShape(Evaluation &e) {
  std::optional<int64_t> count = countElements(e.input(0)->ints, e.maxElements);
  if (!count)
    return false;
  SmallTensor value;
  if (auto dense =
          dyn_cast_or_null<DenseElementsAttr>(e.node.attribute("value"))) {
    std::optional<SmallTensor> small = toSmallTensor(dense, 1);
    if (!small || small->size() != 1)
      return false;
    value = *small;
  } else {
    value.element = e.elements[0];
    value.reals.push_back(0);
  }
  e.results.push_back(
      value.take(e.input(0)->ints, SmallVector<int64_t>(*count, 0)));
  return true;
}

bool evaluateRange(Evaluation &e) {
  const SmallTensor &start = *e.input(0), &limit = *e.input(1),
                    &delta = *e.input(2);
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1)
    return false;
  SmallTensor &result = e.results.emplace_back();
  result.element = start.element;
  double first = start.isReal() ? start.reals[0] : start.ints[0];
  double last = start.isReal() ? limit.reals[0] : limit.ints[0];
  double step = start.isReal() ? delta.reals[0] : delta.ints[0];
  double count = std::max(0.0, std::ceil((last - first) / step));
  if (!(count <= static_cast<double>(e.maxElements)))
    return false;
  result.shape.push_back(static_cast<int64_t>(count));
  for (int64_t i = 0; i < result.shape[0]; ++i) {
    if (start.isReal())
      result.reals.push_back(first + i * step);
    else
      result.ints.push_back(start.ints[0] + i * delta.ints[0]);
  }
  return true;
}

bool evaluateTrilu(Evaluation &e) {
  const SmallTensor &data = *e.input(0);
  int64_t k = e.input(1) ? e.input(1)->ints[0] : 0;
  bool upper = e.node.integer("upper", 1);
  if (data.rank() < 2)
    return false;
  SmallTensor result = data;
  int64_t rows = data.shape[data.rank() - 2], columns = data.shape.back();
  for (int64_t i = 0; i < data.size(); ++i) {
    int64_t row = i / columns % rows, column = i % columns;
    if (upper ? column - row >= k : column - row <= k)
      continue;
    if (result.isReal())
      result.reals[i] = 0;
    else
      result.ints[i] = 0;
  }
  e.results.push_back(std::move(result));
  return true;
}

bool evaluateOneHot(Evaluation &e) {
  const SmallTensor &indices = *e.input(0), &values = *e.input(2);
  if (e.input(1)->size() != 1 || values.size() != 2 || indices.isReal() ||
      e.input(1)->isReal())
    return false;
  int64_t depth = e.input(1)->ints[0];
  int64_t axis = normalizeAxis(e.node.integer("axis", -1), indices.rank() + 1);
  if (axis < 0 || depth < 0)
    return false;
  SmallVector<int64_t> shape = indices.shape;
  shape.insert(shape.begin() + axis, depth);
  std::optional<int64_t> count = countElements(shape, e.maxElements);
  if (!count)
    return false;
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < static_cast<int64_t>(shape.size()); ++i)
    inner *= shape[i];
  SmallVector<int64_t> which;
  for (int64_t i = 0; i < *count; ++i) {
    int64_t at = indices.ints[i / (inner * depth) * inner + i % inner];
    which.push_back(normalizeAxis(at, depth) == i / inner % depth);
  }
  e.results.push_back(values.take(shape, which));
  return true;
}

bool evaluateSplit(Evaluation &e) {
  const SmallTensor &data = *e.input(0);
  int64_t axis = normalizeAxis(e.node.integer("axis", 0), data.rank());
  int64_t parts = e.node.outputCount();
  if (axis < 0)
    return false;
  SmallVector<int64_t> sizes;
  int64_t dim = data.shape[axis];
  if (e.input(1)) {
    sizes.assign(e.input(1)->ints.begin(), e.input(1)->ints.end());
  } else { // the last part is smaller where the dim does not divide
    int64_t size = (dim + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(dim - i * size, 0, size));
  }
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < data.rank(); ++i)
    inner *= data.shape[i];
  bool empty = dim == 0 || inner == 0;
  int64_t outer = empty ? 0 : data.size() / (dim * inner), begin = 0;
  for (int64_t size : sizes) {
    if (size < 0 || begin + size > dim)
      return false;
    SmallVector<int64_t> shape = data.shape, from;
    shape[axis] = size;
    for (int64_t block = 0; block < outer; ++block)
      for (int64_t i = 0; i < size * inner; ++i)
        from.push_back((block * dim + begin) * inner + i);
    begin += size;
    e.results.push_back(data.take(shape, from));
  }
  return true;
}

bool evaluateNonZero(Evaluation &e) {
  const SmallTensor &data = *e.input(0);
  SmallVector<int64_t> found, strides = stridesOf(data.shape);
  for (int64_t i = 0; i < data.size(); ++i)
    if (data.isReal() ? data.reals[i] != 0 : data.ints[i] != 0)
      found.push_back(i);
  SmallTensor &result = e.results.emplace_back();
  result.element = e.elements[0];
  result.shape = {data.rank(), static_cast<int64_t>(found.size())};
  for (auto [stride, dim] : llvm::zip(strides, data.shape))
    for (int64_t i : found)
      result.ints.push_back(i / stride % dim);
  return countElements(result.shape, e.maxElements).has_value();
}

} // namespace

Evaluator findMovementEvaluator(StringRef opType) {
  static const llvm::StringMap<Evaluator> table = {
      {"Reshape", evaluateReshape},
      {"Squeeze", evaluateReshape},
      {"Unsqueeze", evaluateReshape},
      {"Flatten", evaluateReshape},
      {"Concat", evaluateConcat},
      {"Gather", evaluateGather},
      {"GatherND", evaluateGatherND},
      {"Slice", evaluateSlice},
      {"Transpose", evaluateTranspose},
      {"Expand", evaluateExpand},
      {"Tile", evaluateTile},
      {"ConstantOfShape", evaluateConstantOfShape},
      {"Range", evaluateRange},
      {"Trilu", evaluateTrilu},
      {"OneHot", evaluateOneHot},
      {"Split", evaluateSplit},
      {"NonZero", evaluateNonZero},
  };
  auto it = table.find(opType);
  return it == table.end() ? nullptr : it->second;
}

} // namespace hethub::ox

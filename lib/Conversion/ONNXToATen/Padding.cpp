//===- Padding.cpp - Pad and CenterCropPad --------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// Where output position `i - before` of an axis of `size` elements reads its
/// value.
int64_t sourceOf(StringRef mode, int64_t position, int64_t size) {
  if (mode == "edge")
    return std::max<int64_t>(0, std::min(position, size - 1));
  if (mode == "wrap")
    return ((position % size) + size) % size;
  // reflect: the border element is not repeated
  int64_t period = std::max<int64_t>(1, 2 * (size - 1));
  position = ((position % period) + period) % period;
  return position < size ? position : period - position;
}

/// Any mode, any axis: one index_select an axis with constant indices.
Value padByIndex(Lowering &l, Value x, StringRef mode, const Dims &before,
                 const Dims &after) {
  for (int64_t axis = 0; axis < Lowering::rank(x); ++axis) {
    int64_t size = Lowering::dims(x)[axis];
    if (before[axis] == 0 && after[axis] == 0)
      continue;
    Dims sources;
    for (int64_t i = -before[axis]; i < size + after[axis]; ++i)
      sources.push_back(sourceOf(mode, i, size));
    x = l.indexSelect(x, axis, l.constantInts(sources));
  }
  return x;
}

/// LibTorch's own kernels: reflect and edge on the last axes of a tensor of
/// rank 3 or 4, when reflect stays inside.
bool fitsTorchPad(Value x, StringRef mode, const Dims &before,
                  const Dims &after) {
  int64_t rank = Lowering::rank(x), padded = rank - 2;
  if (rank < 3 || rank > 4 || !isFloat(Lowering::element(x)) || mode == "wrap")
    return false;
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t size = Lowering::dims(x)[axis];
    bool any = before[axis] || after[axis];
    if (before[axis] < 0 || after[axis] < 0 || (any && axis < rank - padded))
      return false;
    if (mode == "reflect" && std::max(before[axis], after[axis]) >= size)
      return false;
  }
  return true;
}

LogicalResult lowerPad(Lowering &l) {
  Value x = l.data(0);
  int64_t rank = Lowering::rank(x);
  auto pads = l.ints(l.in(1));
  auto axes = l.has(3) ? l.ints(l.in(3)) : std::optional<Dims>(iota(rank));
  if (!pads || !axes)
    return l.refuse("pads and axes must be constants");
  Dims before(rank, 0), after(rank, 0);
  for (auto [i, given] : llvm::enumerate(*axes)) {
    int64_t axis = given < 0 ? given + rank : given;
    before[axis] = (*pads)[i];
    after[axis] = (*pads)[i + axes->size()];
  }
  StringRef mode = l.node.string("mode", "constant");
  if (mode == "constant") {
    if (!l.has(2))
      return l.done(l.pad(x, before, after, 0.0));
    if (Attribute value = l.scalar(l.in(2)))
      return l.done(l.pad(x, before, after, value));
    // A value known at run time only: choose it where a padded mask is false.
    Value mask =
        l.full(Lowering::dims(x), l.builder.getBoolAttr(true), l.boolean());
    mask = l.pad(mask, before, after, l.builder.getBoolAttr(false));
    Value fill = l.reshape(l.data(2), {});
    return l.done(l.where(mask, l.pad(x, before, after, 0.0), fill));
  }
  if (fitsTorchPad(x, mode, before, after)) {
    Dims list;
    for (int64_t axis = rank - 1; axis >= 2; --axis)
      list.append({before[axis], after[axis]});
    return l.done(
        l.call("pad", {x},
               {l.arg("pad", list),
                l.arg("mode", mode == "edge" ? "replicate" : "reflect")},
               Lowering::tensor(l.outType().getShape(), Lowering::element(x))));
  }
  for (int64_t axis = 0; axis < rank; ++axis)
    if (Lowering::dims(x)[axis] == 0 && (before[axis] > 0 || after[axis] > 0))
      return l.refuse("an empty axis has nothing to pad with");
  return l.done(padByIndex(l, x, mode, before, after));
}

/// Crops or pads with zeros around the centre; an odd element goes to the end.
LogicalResult lowerCenterCropPad(Lowering &l) {
  Value x = l.data(0);
  int64_t rank = Lowering::rank(x);
  Dims before(rank, 0), after(rank, 0);
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t from = Lowering::dims(x)[axis];
    int64_t to = l.outType().getShape()[axis];
    int64_t difference = to > from ? to - from : from - to;
    int64_t sign = to > from ? 1 : -1;
    before[axis] = sign * (difference / 2);
    after[axis] = sign * (difference - difference / 2);
  }
  return l.done(l.pad(x, before, after, 0.0));
}

} // namespace

void addPaddingHandlers(HandlerTable &table) {
  table["Pad"] = lowerPad;
  table["CenterCropPad"] = lowerCenterCropPad;
}

} // namespace hethub

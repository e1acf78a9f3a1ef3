//===- Shape.cpp - views, slices, joins -----------------------------------===//
//
// Output shapes are known, so that a target shape is read off the result type,
// never off a shape input.
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// Reshape, Flatten, Squeeze, Unsqueeze: the same elements in order, a view
/// where strides allow it.
LogicalResult lowerReshape(Lowering &l) {
  return l.done(l.reshape(l.in(0), l.outType().getShape()));
}

LogicalResult lowerTranspose(Lowering &l) {
  int64_t rank = Lowering::rank(l.in(0));
  Dims order = l.node.integers("perm");
  if (!l.node.attribute("perm"))
    for (int64_t axis = rank - 1; axis >= 0; --axis)
      order.push_back(axis);
  return l.done(l.permute(l.in(0), order));
}

LogicalResult lowerExpand(Lowering &l) {
  return l.done(l.expand(l.in(0), l.outType().getShape()));
}

LogicalResult lowerTile(Lowering &l) {
  Dims repeats;
  for (auto [from, to] :
       llvm::zip_equal(Lowering::dims(l.in(0)), l.outType().getShape()))
    repeats.push_back(from ? to / from : 1);
  Value x = l.data(0);
  return l.done(
      l.call("repeat", {x}, {l.arg("repeats", repeats)},
             Lowering::tensor(l.outType().getShape(), Lowering::element(x))));
}

LogicalResult lowerConcat(Lowering &l) {
  Values parts;
  for (unsigned i = 0; i < l.node.inputCount(); ++i)
    parts.push_back(l.data(i));
  return l.done(l.cat(parts, l.axis("axis", 0, Lowering::rank(l.in(0)))));
}

LogicalResult lowerSplit(Lowering &l) {
  Value x = l.in(0);
  int64_t axis = l.axis("axis", 0, Lowering::rank(x)), start = 0;
  for (unsigned i = 0; i < l.node.outputCount(); ++i) {
    int64_t size = l.outType(i).getShape()[axis];
    l.replace(i, l.slice(x, axis, start, start + size));
    start += size;
  }
  return success();
}

/// Limits count from the end where negative and are cut to the axis; a negative
/// step walks backwards.
LogicalResult lowerSlice(Lowering &l) {
  Value x = l.data(0);
  int64_t rank = Lowering::rank(x);
  auto starts = l.ints(l.in(1)), ends = l.ints(l.in(2));
  auto axes = l.has(3) ? l.ints(l.in(3)) : std::optional<Dims>();
  auto steps = l.has(4) ? l.ints(l.in(4)) : std::optional<Dims>();
  if (!starts || !ends || (l.has(3) && !axes) || (l.has(4) && !steps))
    return l.refuse("starts, ends, axes and steps must be constants");
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    axis += axis < 0 ? rank : 0;
    int64_t size = Lowering::dims(x)[axis];
    int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0)
      return l.refuse("a step must not be 0");
    auto clamp = [&](int64_t value, int64_t low, int64_t high) {
      if (value < 0)
        value += size;
      return std::max(low, std::min(value, high));
    };
    if (step < 0) {
      // Positions start, start + step, ... above end, in the flipped tensor.
      int64_t first = clamp((*starts)[i], -1, size - 1);
      int64_t end = clamp((*ends)[i], -1, size - 1);
      x = l.flip(x, {axis});
      int64_t from = size - 1 - first, to = std::max(from, size - 1 - end);
      x = l.slice(x, axis, from, to, step == INT64_MIN ? INT64_MAX : -step);
      continue;
    }
    int64_t from = clamp((*starts)[i], 0, size);
    int64_t to = std::max(from, clamp((*ends)[i], 0, size));
    // A step beyond the end takes one element; keep it small for the ceiling
    // division.
    x = l.slice(x, axis, from, to, std::min(step, std::max<int64_t>(size, 1)));
  }
  return l.done(x);
}

LogicalResult lowerShape(Lowering &l) {
  ArrayRef<int64_t> dims = Lowering::dims(l.in(0));
  int64_t rank = dims.size();
  auto clamp = [&](int64_t value) {
    return std::max<int64_t>(0,
                             std::min(value < 0 ? value + rank : value, rank));
  };
  int64_t start = clamp(l.node.integer("start", 0));
  int64_t end = std::max(start, clamp(l.node.integer("end", rank)));
  return l.done(l.constantInts(dims.slice(start, end - start)));
}

LogicalResult lowerSize(Lowering &l) {
  return l.done(l.constantInts({product(Lowering::dims(l.in(0)))}, {}));
}

/// [N, b*b*C, H, W] -> [N, C, H*b, W*b]
LogicalResult lowerDepthToSpace(Lowering &l) {
  Value x = l.data(0);
  ArrayRef<int64_t> d = Lowering::dims(x);
  int64_t b = l.node.integer("blocksize", 1), n = d[0], h = d[2], w = d[3];
  int64_t c = d[1] / (b * b);
  bool crd = l.node.string("mode", "DCR") == "CRD";
  Value y =
      crd ? l.permute(l.reshape(x, {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3})
          : l.permute(l.reshape(x, {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2});
  return l.done(l.reshape(y, {n, c, h * b, w * b}));
}

/// [N, C, H*b, W*b] -> [N, b*b*C, H, W], positions within a block before (DCR)
/// or after (CRD) the channels.
LogicalResult lowerSpaceToDepth(Lowering &l) {
  Value x = l.data(0);
  ArrayRef<int64_t> d = Lowering::dims(x);
  int64_t b = l.node.integer("blocksize", 1), n = d[0], c = d[1];
  int64_t h = d[2] / b, w = d[3] / b;
  bool crd = l.node.string("mode", "DCR") == "CRD";
  Value y = l.reshape(x, {n, c, h, b, w, b});
  y = crd ? l.permute(y, {0, 1, 3, 5, 2, 4}) : l.permute(y, {0, 3, 5, 1, 2, 4});
  return l.done(l.reshape(y, {n, c * b * b, h, w}));
}

} // namespace

void addShapeHandlers(HandlerTable &table) {
  for (const char *name : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
    table[name] = lowerReshape;
  table["Transpose"] = lowerTranspose;
  table["Expand"] = lowerExpand;
  table["Tile"] = lowerTile;
  table["Concat"] = lowerConcat;
  table["Split"] = lowerSplit;
  table["Slice"] = lowerSlice;
  table["Shape"] = lowerShape;
  table["Size"] = lowerSize;
  table["DepthToSpace"] = lowerDepthToSpace;
  table["SpaceToDepth"] = lowerSpaceToDepth;
}

} // namespace hethub

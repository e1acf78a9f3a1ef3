//===- Indexing.cpp - gathers, sorting, selection -------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

LogicalResult lowerGather(Lowering &l) {
  Value x = l.data(0), index = l.in(1);
  int64_t rank = Lowering::rank(x), axis = l.axis("axis", 0, rank);
  int64_t size = Lowering::dims(x)[axis];
  auto constants = l.ints(index);
  if (constants && Lowering::rank(index) == 0) {
    int64_t i = constants->front();
    if (i < -size || i >= size)
      return l.refuse("index " + Twine(i) + " is outside an axis of size " +
                      Twine(size));
    return l.done(l.select(x, axis, i < 0 ? i + size : i));
  }
  index = l.wrapIndex(index, size);
  Dims result(Lowering::dims(x).take_front(axis));
  llvm::append_range(result, Lowering::dims(index));
  llvm::append_range(result, Lowering::dims(x).drop_front(axis + 1));
  RankedTensorType type = Lowering::tensor(result, Lowering::element(x));
  if (axis == 0 && rank == 2)
    return l.done(l.call("embedding", {x, index}, {}, type));
  Value flat = l.reshape(index, {product(Lowering::dims(index))});
  return l.done(l.reshape(l.indexSelect(x, axis, flat), result));
}

LogicalResult lowerGatherElements(Lowering &l) {
  Value x = l.data(0);
  int64_t axis = l.axis("axis", 0, Lowering::rank(x));
  Value index = l.wrapIndex(l.in(1), Lowering::dims(x)[axis]);
  return l.done(
      l.call("gather", {x, index}, {l.arg("dim", axis)},
             Lowering::tensor(Lowering::dims(index), Lowering::element(x))));
}

/// index.Tensor with one index tensor a column; batch axes are indexed by their
/// own positions.
LogicalResult lowerGatherND(Lowering &l) {
  Value x = l.data(0), index = l.in(1);
  int64_t last = Lowering::rank(index) - 1,
          columns = Lowering::dims(index)[last];
  int64_t batch = l.node.integer("batch_dims", 0);
  Values indices;
  for (int64_t axis = 0; axis < batch; ++axis) {
    Dims shape(last, 1);
    shape[axis] = Lowering::dims(index)[axis];
    indices.push_back(l.constantInts(iota(shape[axis]), shape));
  }
  for (int64_t column = 0; column < columns; ++column)
    indices.push_back(l.select(index, last, column));
  return l.done(
      l.call("index.Tensor", {x, indices}, {},
             Lowering::tensor(l.outType().getShape(), Lowering::element(x))));
}

/// A stable sort: of equal elements the first stands first, as ONNX demands and
/// LibTorch's topk does not promise.
LogicalResult lowerTopK(Lowering &l) {
  Value x = l.compute(0);
  bool offset = isUnsigned(Lowering::element(l.in(0)), 64);
  if (offset)
    x = l.withInt("add.Scalar", x, std::numeric_limits<int64_t>::min());
  int64_t axis = l.axis("axis", -1, Lowering::rank(x));
  int64_t k = l.outType(0).getShape()[axis];
  RankedTensorType type = Lowering::typeOf(x);
  Values sorted =
      l.calls("sort.stable", {x},
              {l.arg("stable", true), l.arg("dim", axis),
               l.arg("descending", bool(l.node.integer("largest", 1)))},
              {type, Lowering::tensor(type.getShape(), l.i64())});
  Value values = l.slice(sorted[0], axis, 0, k);
  if (offset)
    values =
        l.withInt("add.Scalar", values, std::numeric_limits<int64_t>::min());
  l.replace(0, values);
  l.replace(1, l.slice(sorted[1], axis, 0, k));
  return success();
}

LogicalResult lowerCompress(Lowering &l) {
  auto condition = l.ints(l.in(1));
  if (!condition)
    return l.refuse("the condition must be a constant");
  Value x = l.data(0);
  int64_t axis = 0;
  if (l.node.attribute("axis"))
    axis = l.axis("axis", 0, Lowering::rank(x));
  else
    x = l.reshape(x, {product(Lowering::dims(x))});
  Dims kept;
  for (auto [i, flag] : llvm::enumerate(*condition))
    if (flag)
      kept.push_back(i);
  return l.done(l.indexSelect(x, axis, l.constantInts(kept)));
}

LogicalResult lowerTrilu(Lowering &l) {
  auto k = l.has(1) ? l.ints(l.in(1)) : std::optional<Dims>(Dims{0});
  if (!k || k->size() != 1)
    return l.refuse("the diagonal must be a constant");
  return l.done(l.unary(l.node.integer("upper", 1) ? "triu" : "tril", l.data(0),
                        {l.arg("diagonal", k->front())}));
}

LogicalResult lowerReverseSequence(Lowering &l) {
  Value x = l.data(0);
  int64_t rank = Lowering::rank(x);
  return l.done(l.call("hethub.reverse_sequence", {x, l.in(1)},
                       {l.arg("time_axis", l.axis("time_axis", 0, rank)),
                        l.arg("batch_axis", l.axis("batch_axis", 1, rank))},
                       Lowering::typeOf(x)));
}

} // namespace

void addIndexingHandlers(HandlerTable &table) {
  table["Gather"] = lowerGather;
  table["GatherElements"] = lowerGatherElements;
  table["GatherND"] = lowerGatherND;
  table["TopK"] = lowerTopK;
  table["Compress"] = lowerCompress;
  // ONNX took it over from there as it was.
  table["Trilu"] = table["com.microsoft.Trilu"] = lowerTrilu;
  table["ReverseSequence"] = lowerReverseSequence;
}

} // namespace hethub

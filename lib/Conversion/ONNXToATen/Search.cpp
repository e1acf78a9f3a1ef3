//===- Search.cpp - results whose size the data decide --------------------===//

#include "OpenHandlers.h"
#include "Window.h"

using namespace mlir;

namespace hethub {

namespace {

/// Rows of places become columns of them.
LogicalResult lowerNonZero(Lowering &l) {
  Value x = l.data(0);
  RankedTensorType type = l.outType();
  ArrayRef<int64_t> dims = type.getShape();
  Value places =
      l.call("nonzero", {x}, {}, Lowering::tensor({dims[1], dims[0]}, l.i64()));
  return l.done(l.transpose(places, 0, 1));
}

LogicalResult lowerUnique(Lowering &l) {
  bool sorted = l.node.integer("sorted", 1);
  if (sorted && isUnsigned(Lowering::element(l.in(0)), 64))
    return l.refuse("unsigned 64-bit elements cannot be sorted");
  Value x = l.compute(0);
  bool flat = !l.node.attribute("axis");
  int64_t axis = flat ? 0 : l.axis("axis", 0, Lowering::rank(x));
  RankedTensorType y = l.outType().clone(Lowering::element(x));
  RankedTensorType found = Lowering::tensor({y.getShape()[axis]}, l.i64());
  ArrayRef<int64_t> dims = Lowering::dims(x);
  int64_t all = !flat                              ? dims[axis]
                : ShapedType::isDynamicShape(dims) ? ShapedType::kDynamic
                                                   : product(dims);
  Values results = l.calls(
      "hethub.unique", {x},
      {l.arg("flat", flat), l.arg("axis", axis), l.arg("sorted", sorted)},
      {y, found, Lowering::tensor({all}, l.i64()), found});
  for (unsigned i = 0; i < results.size(); ++i)
    if (l.node.output(i))
      l.replace(i, results[i]);
  return success();
}

LogicalResult lowerOpenCompress(Lowering &l) {
  return l.done(l.call("hethub.compress_by", {l.in(0), l.in(1)},
                       {l.arg("flat", !l.node.attribute("axis")),
                        l.arg("axis", l.node.integer("axis", 0))},
                       l.node.output(0).getType()));
}

/// Pooled elements back at their places, and zeros up to the size that only a
/// run knows.
LogicalResult lowerOpenMaxUnpool(Lowering &l) {
  if (!l.has(2))
    return l.refuse("the shape of the output must be given");
  auto sized = llvm::dyn_cast<RankedTensorType>(l.in(0).getType());
  if (!sized || !sized.hasStaticShape())
    return l.refuse("the shape of the input must be known");
  return l.done(l.call("hethub.grow_to", {unpooled(l), l.in(2)}, {},
                       l.node.output(0).getType()));
}

LogicalResult lowerOpenDropout(Lowering &l) {
  Type type = l.in(0).getType();
  Values made =
      l.calls("hethub.dropout_by", {l.in(0), l.in(1), l.in(2)}, {},
              {type, llvm::cast<TensorType>(type).clone(l.boolean())});
  if (l.node.output(1))
    l.replace(1, made[1]);
  return l.done(made[0]);
}

} // namespace

void addOpenSearchHandlers(OpenHandlerTable &table) {
  table["Dropout"] = {lowerOpenDropout, Known::Nothing};
  table["MaxUnpool"] = {lowerOpenMaxUnpool, Known::Ranks};
  table["Compress"] = {lowerOpenCompress, Known::Nothing};
}

void addSearchHandlers(HandlerTable &table) {
  table["NonZero"] = lowerNonZero;
  table["Unique"] = lowerUnique;
}

} // namespace hethub

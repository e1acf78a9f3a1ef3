//===- Scatter.cpp - scatters with all of their reductions ----------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// LibTorch's name of a reduction; empty for "none".
StringRef reductionName(Lowering &l) {
  return llvm::StringSwitch<StringRef>(l.node.string("reduction", "none"))
      .Case("add", "sum")
      .Case("mul", "prod")
      .Case("max", "amax")
      .Case("min", "amin")
      .Default("");
}

/// Sums and products of unsigned numbers are those of their bits; 64-bit
/// extrema are not.
bool orderMatters(Lowering &l, StringRef reduction) {
  return reduction.starts_with("am") &&
         isUnsigned(Lowering::element(l.in(0)), 64);
}

Value scatter(Lowering &l, Value x, int64_t axis, Value index, Value updates,
              StringRef reduction) {
  SmallVector<NamedArg> args{l.arg("dim", axis)};
  if (reduction.empty())
    return l.call("scatter.src", {x, index, updates}, args,
                  Lowering::typeOf(x));
  if (reduction == "sum")
    return l.call("scatter_add", {x, index, updates}, args,
                  Lowering::typeOf(x));
  args.push_back(l.arg("reduce", reduction));
  return l.call("scatter_reduce.two", {x, index, updates}, args,
                Lowering::typeOf(x));
}

LogicalResult lowerScatterElements(Lowering &l) {
  StringRef reduction = reductionName(l);
  if (orderMatters(l, reduction))
    return l.refuse("unsigned 64-bit elements have no max or min reduction");
  Value x = reduction.empty() ? l.data(0) : l.compute(0);
  Value updates = reduction.empty() ? l.data(2) : l.compute(2);
  int64_t axis = l.axis("axis", 0, Lowering::rank(x));
  Value index = l.wrapIndex(l.in(1), Lowering::dims(x)[axis]);
  return l.done(scatter(l, x, axis, index, updates, reduction));
}

/// Rows of the indices name slices of the data.
LogicalResult lowerScatterND(Lowering &l) {
  StringRef reduction = reductionName(l);
  if (orderMatters(l, reduction))
    return l.refuse("unsigned 64-bit elements have no max or min reduction");
  Value x = reduction.empty() ? l.data(0) : l.compute(0);
  Value updates = reduction.empty() ? l.data(2) : l.compute(2);
  Value index = l.in(1);
  int64_t last = Lowering::rank(index) - 1,
          columns = Lowering::dims(index)[last];
  Values indices;
  for (int64_t column = 0; column < columns; ++column)
    indices.push_back(l.select(index, last, column));
  if (reduction.empty() || reduction == "sum")
    return l.done(l.call("index_put", {x, indices, updates},
                         {l.arg("accumulate", !reduction.empty())},
                         Lowering::typeOf(x)));

  // Products and extrema: one row number for each slice of the flattened data.
  ArrayRef<int64_t> dims = Lowering::dims(x);
  int64_t rows = product(dims.take_front(columns));
  int64_t width = product(dims.drop_front(columns));
  int64_t count = product(Lowering::dims(index).drop_back());
  Value row;
  for (int64_t column = 0; column < columns; ++column) {
    Value part = l.wrapIndex(indices[column], dims[column]);
    row = row ? l.binary("add.Tensor",
                         l.withInt("mul.Scalar", row, dims[column]), part)
              : part;
  }
  row = l.expand(l.reshape(row, {count, 1}), {count, width});
  Value flat = scatter(l, l.reshape(x, {rows, width}), 0, row,
                       l.reshape(updates, {count, width}), reduction);
  return l.done(l.reshape(flat, dims));
}

/// Writes rows into a cache of [B, ..., S, ...] from a position of each batch
/// entry on.
LogicalResult lowerTensorScatter(Lowering &l) {
  Value cache = l.data(0), update = l.data(1);
  int64_t rank = Lowering::rank(cache), axis = l.axis("axis", -2, rank);
  int64_t batch = Lowering::dims(cache)[0], size = Lowering::dims(cache)[axis];
  int64_t rows = Lowering::dims(update)[axis];
  // The axis of the rows goes next to the batch.
  Dims order = iota(rank), inverse(rank);
  order.erase(order.begin() + axis);
  order.insert(order.begin() + 1, axis);
  for (int64_t i = 0; i < rank; ++i)
    inverse[order[i]] = i;
  Value row = l.constantInts(iota(rows), {1, rows});
  if (l.has(2))
    row = l.binary("add.Tensor", row,
                   l.reshape(l.cast(l.in(2), l.i64()), {batch, 1}));
  if (l.node.string("mode", "linear") == "circular")
    row = l.withInt("remainder.Scalar", row, size);
  Value entry = l.constantInts(iota(batch), {batch, 1});
  Value turned = l.permute(cache, order);
  Value y = l.call("index_put",
                   {turned, Values{entry, row}, l.permute(update, order)}, {},
                   Lowering::typeOf(turned));
  return l.done(l.permute(y, inverse));
}

} // namespace

void addScatterHandlers(HandlerTable &table) {
  table["Scatter"] = lowerScatterElements;
  table["ScatterElements"] = lowerScatterElements;
  table["ScatterND"] = lowerScatterND;
  table["TensorScatter"] = lowerTensorScatter;
}

} // namespace hethub

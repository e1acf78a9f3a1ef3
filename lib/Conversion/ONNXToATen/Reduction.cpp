//===- Reduction.cpp - reductions, arg-reductions, cumulative sums --------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// Axes to reduce: input 1, or all; none at all with noop_with_empty_axes.
/// Nothing where they are not constant.
std::optional<Dims> reducedAxes(Lowering &l) {
  int64_t rank = Lowering::rank(l.in(0));
  Dims axes;
  if (l.has(1)) {
    std::optional<Dims> given = l.ints(l.in(1));
    if (!given)
      return std::nullopt;
    for (int64_t axis : *given)
      axes.push_back(axis < 0 ? axis + rank : axis);
  }
  if (axes.empty() && !l.node.integer("noop_with_empty_axes", 0))
    axes = iota(rank);
  llvm::sort(axes);
  return axes;
}

Value sum(Lowering &l, Value x, const Dims &axes, bool keep) {
  if (axes.empty())
    return x;
  // LibTorch would sum small integers in 64 bits.
  NamedArg dtype = isFloat(Lowering::element(x))
                       ? NamedArg("dtype", nullptr)
                       : l.arg("dtype", Lowering::element(x));
  return l.reduce("sum.dim_IntList", x, axes, keep, {dtype});
}

/// One axis after the other, from the last: LibTorch has no product over
/// several.
Value prod(Lowering &l, Value x, const Dims &axes, bool keep) {
  Type element = Lowering::element(x);
  for (int64_t axis : llvm::reverse(axes)) {
    Dims dims(Lowering::dims(x));
    if (keep)
      dims[axis] = 1;
    else
      dims.erase(dims.begin() + axis);
    x = l.call(
        "prod.dim_int", {x},
        {l.arg("dim", axis), l.arg("keepdim", keep), l.arg("dtype", element)},
        Lowering::tensor(dims, element));
  }
  return x;
}

/// Unsigned 64-bit order as signed order, and back: adds 2^63, which wraps.
Value flipSign(Lowering &l, Value x, Type original) {
  return isUnsigned(original, 64)
             ? l.withInt("add.Scalar", x, std::numeric_limits<int64_t>::min())
             : x;
}

Value extremum(Lowering &l, Value x, const Dims &axes, bool keep, bool max) {
  Type original = Lowering::element(l.in(0));
  if (axes.empty())
    return x;
  Value y =
      l.reduce(max ? "amax" : "amin", flipSign(l, x, original), axes, keep);
  return flipSign(l, y, original);
}

/// What a reduction of no elements gives.
Value emptyResult(Lowering &l) {
  StringRef type = l.node.opType();
  RankedTensorType result = l.outType();
  Type element = result.getElementType();
  double infinity = std::numeric_limits<double>::infinity();
  double value = llvm::StringSwitch<double>(type)
                     .Case("ReduceProd", 1)
                     .Case("ReduceMax", -infinity)
                     .Case("ReduceMin", infinity)
                     .Case("ReduceMean", std::nan(""))
                     .Cases({"ReduceLogSum", "ReduceLogSumExp"}, -infinity)
                     .Default(0);
  if (isFloat(element))
    return l.full(result.getShape(), l.real(value), element);
  if (type != "ReduceMax" && type != "ReduceMin")
    return l.full(result.getShape(),
                  l.number(std::isfinite(value) ? value : 0, element), element);
  // The neutral element of an integer extremum is the other end of the type.
  bool low = type == "ReduceMax";
  if (element.isInteger(1))
    return l.full(result.getShape(), l.builder.getBoolAttr(!low), element);
  unsigned bits = element.getIntOrFloatBitWidth();
  APInt end = element.isUnsignedInteger()
                  ? (low ? APInt::getMinValue(bits) : APInt::getMaxValue(bits))
                  : (low ? APInt::getSignedMinValue(bits)
                         : APInt::getSignedMaxValue(bits));
  auto splat = DenseElementsAttr::get(Lowering::tensor({}, element), end);
  return l.expand(l.constant(splat), result.getShape());
}

LogicalResult lowerReduce(Lowering &l) {
  std::optional<Dims> given = reducedAxes(l);
  if (!given)
    return l.refuse("the axes must be constants");
  const Dims &axes = *given;
  StringRef type = l.node.opType();
  bool keep = l.node.integer("keepdims", 1);
  int64_t reduced = 1;
  for (int64_t axis : axes)
    reduced *= Lowering::dims(l.in(0))[axis];
  if (reduced == 0)
    return l.done(emptyResult(l));

  Value x = l.compute(0);
  if (type == "ReduceSum")
    return l.done(sum(l, x, axes, keep));
  if (type == "ReduceProd")
    return l.done(prod(l, x, axes, keep));
  if (type == "ReduceMax" || type == "ReduceMin")
    return l.done(extremum(l, x, axes, keep, type == "ReduceMax"));
  if (type == "ReduceL1") {
    bool isUnsignedType = Lowering::element(l.in(0)).isUnsignedInteger();
    return l.done(sum(l, isUnsignedType ? x : l.unary("abs", x), axes, keep));
  }
  if (type == "ReduceSumSquare")
    return l.done(sum(l, l.binary("mul.Tensor", x, x), axes, keep));

  // The rest is defined through real numbers.
  Type element = Lowering::element(x);
  Type computed = isFloat(element) ? element : l.builder.getF64Type();
  x = l.cast(x, computed);
  if (type == "ReduceMean") {
    if (!axes.empty())
      x = l.reduce("mean.dim", x, axes, keep);
  } else if (type == "ReduceL2") {
    x = axes.empty() ? l.unary("abs", x)
                     : l.reduce("linalg_vector_norm", x, axes, keep);
  } else if (type == "ReduceLogSum") {
    x = l.unary("log", sum(l, x, axes, keep));
  } else if (!axes.empty()) { // ReduceLogSumExp of one element is the element
    x = l.reduce("logsumexp", x, axes, keep);
  }
  return l.done(l.cast(x, element));
}

LogicalResult lowerArg(Lowering &l) {
  int64_t rank = Lowering::rank(l.in(0)), axis = l.axis("axis", 0, rank);
  Value x = flipSign(l, l.compute(0), Lowering::element(l.in(0)));
  bool last = l.node.integer("select_last_index", 0);
  if (last)
    x = l.flip(x, {axis});
  Value index = l.call(l.node.opType() == "ArgMax" ? "argmax" : "argmin", {x},
                       {l.arg("dim", axis),
                        l.arg("keepdim", bool(l.node.integer("keepdims", 1)))},
                       l.outType());
  if (last)
    index = l.withInt("rsub.Scalar", index, Lowering::dims(x)[axis] - 1);
  return l.done(index);
}

/// CumSum and CumProd, from the front or the back, with or without the element
/// itself.
LogicalResult lowerCumulative(Lowering &l) {
  auto given = l.ints(l.in(1));
  if (!given || given->size() != 1)
    return l.refuse("the axis must be a constant");
  Value x = l.compute(0);
  int64_t rank = Lowering::rank(x), axis = given->front();
  axis += axis < 0 ? rank : 0;
  bool sums = l.node.opType() == "CumSum";
  bool reverse = l.node.integer("reverse", 0);
  if (reverse)
    x = l.flip(x, {axis});
  if (l.node.integer("exclusive", 0)) {
    Dims before(rank, 0), after(rank, 0);
    before[axis] = 1;
    after[axis] = -1;
    x = l.pad(x, before, after, sums ? 0.0 : 1.0);
  }
  x = l.unary(sums ? "cumsum" : "cumprod", x,
              {l.arg("dim", axis), l.arg("dtype", Lowering::element(x))});
  return l.done(reverse ? l.flip(x, {axis}) : x);
}

} // namespace

void addReductionHandlers(HandlerTable &table) {
  for (const char *name :
       {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean",
        "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
        "ReduceLogSumExp"})
    table[name] = lowerReduce;
  table["ArgMax"] = lowerArg;
  table["ArgMin"] = lowerArg;
  table["CumSum"] = lowerCumulative;
  table["CumProd"] = lowerCumulative;
}

} // namespace hethub

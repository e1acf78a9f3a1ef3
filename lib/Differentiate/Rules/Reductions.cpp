//===- Reductions.cpp - rules of sums, extrema, norms and scans -----------===//

#include "../Derivation.h"

#include <cmath>

using namespace mlir;

namespace hethub::differentiate {

namespace {

/// The axes of `self` that a call reduces: one, a list, or all of them.
Dims reducedAxes(const Derivation &d) {
  int64_t rank = d.rank(d.self());
  Attribute given = d.attribute("dim");
  Dims axes;
  if (auto one = dyn_cast_or_null<IntegerAttr>(given))
    axes.push_back(one.getInt());
  else
    axes = d.ints("dim");
  if (axes.empty())
    return iota(rank);
  if (rank == 0)
    return {};
  for (int64_t &axis : axes)
    axis += axis < 0 ? rank : 0;
  return axes;
}

/// A result or its gradient with the reduced axes kept as 1.
Value restored(Derivation &d, Value reduced) {
  Dims kept(d.dims(d.self()));
  for (int64_t axis : reducedAxes(d))
    kept[axis] = 1;
  return d.reshape(reduced, kept);
}

int64_t reducedCount(const Derivation &d) {
  int64_t count = 1;
  for (int64_t axis : reducedAxes(d))
    count *= d.dims(d.self())[axis];
  return count;
}

Value spread(Derivation &d, Value x) { return d.expand(x, d.dims(d.self())); }

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value sum(Derivation &d) { return spread(d, restored(d, d.grad())); }

Value mean(Derivation &d) {
  Value each = d.withReal("div.Scalar", restored(d, d.grad()),
                          static_cast<double>(reducedCount(d)));
  return spread(d, each);
}

/// 2 / (n - correction) (x - mean)
Value variance(Derivation &d) {
  double correction = d.attribute("correction") ? d.real("correction") : 1;
  double count = static_cast<double>(reducedCount(d));
  Value mean = d.reduce("mean.dim", d.self(), reducedAxes(d), true);
  Value gradient = d.times(restored(d, d.grad()), 2 / (count - correction));
  return d.mul(gradient, d.sub(d.self(), mean));
}

Value logSumExp(Derivation &d) {
  Value share = d.unary("exp", d.sub(d.self(), restored(d, d.out())));
  return d.mul(restored(d, d.grad()), share);
}

//===----------------------------------------------------------------------===//
// Extrema and norms
//===----------------------------------------------------------------------===//

/// Equal extrema share the gradient.
Value extremum(Derivation &d) {
  Value found = d.cast(d.compare("eq", restored(d, d.out()), d.self()),
                       d.element(d.self()));
  Value count = d.reduce("sum.dim_IntList", found, reducedAxes(d), true);
  return d.div(d.mul(restored(d, d.grad()), found), count);
}

Value norm(Derivation &d) {
  double order = d.real("ord");
  Value x = d.self(), y = restored(d, d.out()), g = restored(d, d.grad());
  auto sign = [&] { return d.unary("sign", x); };
  auto size = [&] { return d.unary("abs", x); };
  auto zeroWhere = [&](Value of, Value value) {
    return d.keepWhere(d.inverse(d.compare("eq", of, 0)), value);
  };
  if (order == 0)
    return nullptr;
  if (order == 1)
    return d.mul(g, sign());
  if (order == 2)
    return d.mul(g, zeroWhere(y, d.div(x, y)));
  if (std::isinf(order)) {
    Value found = d.cast(d.compare("eq", size(), y), d.element(x));
    Value count = d.reduce("sum.dim_IntList", found, reducedAxes(d), true);
    return d.mul(d.mul(sign(), found), d.div(g, count));
  }
  auto power = [&](Value v, double exponent) {
    return d.withReal("pow.Tensor_Scalar", v, exponent);
  };
  if (order < 1) {
    Value each = zeroWhere(x, d.mul(sign(), power(size(), order - 1)));
    return d.mul(each, d.mul(g, power(y, 1 - order)));
  }
  Value each = order < 2 ? d.mul(sign(), power(size(), order - 1))
                         : d.mul(x, power(size(), order - 2));
  return d.mul(each, zeroWhere(y, d.div(g, power(y, order - 1))));
}

//===----------------------------------------------------------------------===//
// Products and scans
//===----------------------------------------------------------------------===//

Value scan(Derivation &d, StringRef name, Value x, int64_t axis) {
  return d.unary(name, x, {d.arg("dim", axis)});
}

/// Sums of an element and all that stand behind it.
Value sumsToTheEnd(Derivation &d, Value x, int64_t axis) {
  return d.flip(scan(d, "cumsum", d.flip(x, {axis}), axis), {axis});
}

/// The product of all others: of those in front times of those behind. Right
/// for zeros as well.
Value product(Derivation &d) {
  Value x = d.self();
  int64_t rank = d.rank(x);
  if (rank == 0)
    return d.grad();
  int64_t axis = d.axis("dim", rank), size = d.dims(x)[axis];
  Value gradient = restored(d, d.grad());
  if (size == 0)
    return spread(d, gradient);
  if (size == 1)
    return gradient;
  Dims oneDims(d.dims(x));
  oneDims[axis] = 1;
  Value one = d.fullReal(oneDims, 1, d.element(x));
  auto productsBefore = [&](Value rest) {
    return scan(d, "cumprod", d.cat({one, rest}, axis), axis);
  };
  Value before = productsBefore(d.slice(x, axis, 0, size - 1));
  Value reversed = d.flip(d.slice(x, axis, 1, size), {axis});
  Value behind = d.flip(productsBefore(reversed), {axis});
  return d.mul(gradient, d.mul(before, behind));
}

Value cumulativeSum(Derivation &d) {
  int64_t rank = d.rank(d.self());
  return rank ? sumsToTheEnd(d, d.grad(), d.axis("dim", rank)) : d.grad();
}

/// In front of the first zero the sum of what depends on an element over the
/// element; at the first zero the products that step over it, up to the second;
/// behind it nothing.
Value cumulativeProduct(Derivation &d) {
  Value x = d.self(), g = d.grad();
  int64_t rank = d.rank(x);
  if (rank == 0 || d.typeOf(x).getNumElements() == 0)
    return g;
  int64_t axis = d.axis("dim", rank);
  Value one = d.fullReal({}, 1, d.element(x));
  Value zero = d.compare("eq", x, 0);
  Value zeros = d.call("cumsum", {zero}, {d.arg("dim", axis)},
                       d.tensor(d.dims(x), d.i64()));
  Value before = d.compare("eq", zeros, 0);
  Value dependent = d.keepWhere(before, d.mul(d.out(), g));
  Value plain = d.div(sumsToTheEnd(d, dependent, axis), x);

  Value segment = d.compare("eq", zeros, 1), first = d.both(segment, zero);
  Value behind = scan(d, "cumprod",
                      d.where(d.both(segment, d.inverse(zero)), x, one), axis);
  Value sum = d.reduce("sum.dim_IntList",
                       d.keepWhere(segment, d.mul(behind, g)), {axis}, true);
  Dims keptDims(d.dims(x));
  keptDims[axis] = 1;
  Value front = d.call("prod.dim_int", {d.where(before, x, one)},
                       {d.arg("dim", axis), d.arg("keepdim", true)},
                       d.tensor(keptDims, d.element(x)));
  return d.where(before, plain, d.keepWhere(first, d.mul(sum, front)));
}

} // namespace

void addReductionRules(RuleTable &table) {
  table["aten::amax"] = ofSelf<extremum>;
  table["aten::amin"] = ofSelf<extremum>;
  table["aten::cumprod"] = ofSelf<cumulativeProduct>;
  table["aten::cumsum"] = ofSelf<cumulativeSum>;
  table["aten::linalg_vector_norm"] = ofSelf<norm>;
  table["aten::logsumexp"] = ofSelf<logSumExp>;
  table["aten::mean.dim"] = ofSelf<mean>;
  table["aten::prod.dim_int"] = ofSelf<product>;
  table["aten::sum.dim_IntList"] = ofSelf<sum>;
  table["aten::var.correction"] = ofSelf<variance>;

  addNullRules(table, {"all.dim", "any.dim", "argmax", "argmin"});
}

} // namespace hethub::differentiate

//===- Indexing.cpp - rules of gathers, scatters and sorts ----------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

Value zerosLikeSelf(Derivation &d) {
  return d.zeros(d.dims(d.self()), d.element(d.grad()));
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult embedding(Derivation &d) {
  d.give("weight", [&] {
    return d.call("embedding_dense_backward", {d.grad(), d.in("indices")},
                  {d.arg("num_weights", d.dims(d.in("weight")).front()),
                   d.same("padding_idx"), d.same("scale_grad_by_freq")},
                  d.typeOf(d.in("weight")));
  });
  return success();
}

Value gather(Derivation &d) {
  return d.call("scatter_add", {zerosLikeSelf(d), d.in("index"), d.grad()},
                d.arguments({"dim"}), d.typeOf(d.self()));
}

Value indexSelect(Derivation &d) {
  return d.call("index_add", {zerosLikeSelf(d), d.in("index"), d.grad()},
                d.arguments({"dim"}), d.typeOf(d.self()));
}

Value index(Derivation &d) {
  return d.call("index_put", {zerosLikeSelf(d), d.list("indices"), d.grad()},
                {d.arg("accumulate", true)}, d.typeOf(d.self()));
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// Shape of what `indices` select of a tensor: the indexed axes become those of
/// the indices, in the place of the first or, where others stand between them,
/// in front.
Dims selectedDims(Derivation &d, ArrayRef<int64_t> dims,
                  const Values &indices) {
  Dims selected, result;
  std::optional<size_t> first, last;
  bool apart = false;
  for (auto [axis, index] : llvm::enumerate(indices)) {
    if (!index)
      continue;
    selected = broadcastDims(selected, d.dims(index));
    apart |= last && *last + 1 != axis;
    first = first ? first : axis;
    last = axis;
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (!apart && first == axis)
      result.append(selected);
    if (axis >= indices.size() || !indices[axis])
      result.push_back(dims[axis]);
  }
  if (apart)
    result.insert(result.begin(), selected.begin(), selected.end());
  return result;
}

LogicalResult indexPut(Derivation &d) {
  Values indices = d.list("indices");
  Value values = d.in("values"), g = d.grad();
  d.give("self", [&] {
    if (d.flag("accumulate"))
      return g;
    Value zeros = d.zeros(d.dims(values), d.element(g));
    return d.call("index_put", {g, indices, zeros}, {}, d.typeOf(g));
  });
  d.give("values", [&] {
    return d.call("index.Tensor", {g, indices}, {},
                  d.tensor(selectedDims(d, d.dims(g), indices), d.element(g)));
  });
  return success();
}

Value gathered(Derivation &d, Value x) {
  return d.call("gather", {x, d.in("index")}, d.arguments({"dim"}),
                d.tensor(d.dims(d.in("index")), d.element(x)));
}

/// The gradient of elements that the scatter did not overwrite.
Value untouched(Derivation &d, Value gradient) {
  return d.call("scatter.value", {gradient, d.in("index")},
                {d.same("dim"), d.arg("value", d.real(0.0))},
                d.typeOf(gradient));
}

/// Whether each element of `src` is used: those beyond the index's shape would
/// need zeros.
bool usesAll(Derivation &d) {
  return d.dims(d.in("src")) == d.dims(d.in("index"));
}
LogicalResult refuseLarger(Derivation &d) {
  return d.refuse("src must have the shape of index to have a gradient");
}

LogicalResult scatter(Derivation &d) {
  if (d.wants("src") && !usesAll(d))
    return refuseLarger(d);
  d.give("self", [&] { return untouched(d, d.grad()); });
  d.give("src", [&] { return gathered(d, d.grad()); });
  return success();
}

LogicalResult scatterAdd(Derivation &d) {
  if (d.wants("src") && !usesAll(d))
    return refuseLarger(d);
  d.give("self", [&] { return d.grad(); });
  d.give("src", [&] { return gathered(d, d.grad()); });
  return success();
}

Value scatterSum(Derivation &d, Value to, Value from) {
  return d.call("scatter_add", {to, d.in("index"), from}, d.arguments({"dim"}),
                d.typeOf(to));
}

/// Products without an element: the result over the element, or, where that is
/// the only zero, the product computed without it.
void scatterProduct(Derivation &d) {
  Value x = d.self(), source = d.in("src"), g = d.grad();
  Value one = d.fullReal({}, 1, d.element(x));
  auto product = [&](Value to, Value from) {
    return d.call("scatter_reduce.two", {to, d.in("index"), from},
                  d.arguments({"dim", "reduce", "include_self"}), d.typeOf(x));
  };
  d.give("self", [&] {
    Value filled = d.where(d.compare("eq", x, 0), one, x);
    Value result = d.div(d.mul(g, product(filled, source)), filled);
    return d.flag("include_self") ? result : untouched(d, result);
  });
  d.give("src", [&] {
    Value zero = d.compare("eq", source, 0);
    Value zeros = scatterSum(d, d.zeros(d.dims(x), d.element(x)),
                             d.cast(zero, d.element(x)));
    Value only = d.both(zero, d.compare("eq", gathered(d, zeros), 1));
    Value without = product(x, d.where(only, one, source));
    Value plain =
        d.div(gathered(d, d.mul(g, d.out())), d.where(zero, one, source));
    return d.where(only, gathered(d, d.mul(g, without)), plain);
  });
}

/// Equal extrema share the gradient.
void scatterExtremum(Derivation &d) {
  Value x = d.self(), source = d.in("src");
  Type element = d.element(x);
  Value ofData = d.cast(d.compare("eq", x, d.out()), element);
  Value ofSource =
      d.cast(d.compare("eq", source, gathered(d, d.out())), element);
  Value share = d.div(d.grad(), scatterSum(d, ofData, ofSource));
  d.give("self", [&] {
    Value result = d.mul(ofData, share);
    return d.flag("include_self") ? result : untouched(d, result);
  });
  d.give("src", [&] { return d.mul(ofSource, gathered(d, share)); });
}

LogicalResult scatterReduce(Derivation &d) {
  if (d.wants("src") && !usesAll(d))
    return refuseLarger(d);
  StringRef reduction = cast<StringAttr>(d.attribute("reduce")).getValue();
  if (reduction == "prod") {
    scatterProduct(d);
    return success();
  }
  if (reduction == "amax" || reduction == "amin") {
    scatterExtremum(d);
    return success();
  }
  if (reduction != "sum")
    return d.refuse("reduction '" + reduction + "' has no gradient");
  d.give("self", [&] {
    return d.flag("include_self") ? d.grad() : untouched(d, d.grad());
  });
  d.give("src", [&] { return gathered(d, d.grad()); });
  return success();
}

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// Back to where the chosen values stood.
Value chosen(Derivation &d) {
  return d.call("scatter.src", {zerosLikeSelf(d), d.out(1), d.grad()},
                d.arguments({"dim"}), d.typeOf(d.self()));
}

LogicalResult reverseSequence(Derivation &d) {
  d.give("x", [&] {
    return d.call("hethub.reverse_sequence", {d.grad(), d.in("lengths")},
                  d.arguments({"time_axis", "batch_axis"}),
                  d.typeOf(d.in("x")));
  });
  return success();
}

} // namespace

void addIndexingRules(RuleTable &table) {
  table["aten::embedding"] = embedding;
  table["aten::gather"] = ofSelf<gather>;
  table["aten::index.Tensor"] = ofSelf<index>;
  table["aten::index_put"] = indexPut;
  table["aten::index_select"] = ofSelf<indexSelect>;
  table["aten::scatter.src"] = scatter;
  table["aten::scatter_add"] = scatterAdd;
  table["aten::scatter_reduce.two"] = scatterReduce;
  table["aten::sort.stable"] = ofSelf<chosen>;
  table["aten::topk"] = ofSelf<chosen>;
  table["hethub::reverse_sequence"] = reverseSequence;
}

} // namespace hethub::differentiate

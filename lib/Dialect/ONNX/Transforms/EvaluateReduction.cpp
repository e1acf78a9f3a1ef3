//===- EvaluateReduction.cpp - sums over constants ------------------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hethub::ox {

namespace {

struct Reduction {
  double (*onReals)(double, double);
  int64_t (*onInts)(int64_t, int64_t);
  /// The result over no elements; nothing where there is none that all types
  /// share.
  std::optional<int64_t> empty;
};

const llvm::StringMap<Reduction> &reductions() {
  static const llvm::StringMap<Reduction> table = {
      {"ReduceSum",
       {[](double a, double b) { return a + b; },
        [](int64_t a, int64_t b) {
          return static_cast<int64_t>(uint64_t(a) + uint64_t(b));
        },
        0}},
      {"ReduceProd",
       {[](double a, double b) { return a * b; },
        [](int64_t a, int64_t b) {
          return static_cast<int64_t>(uint64_t(a) * uint64_t(b));
        },
        1}},
      {"ReduceMax",
       {[](double a, double b) { return std::max(a, b); },
        [](int64_t a, int64_t b) { return std::max(a, b); }, std::nullopt}},
      {"ReduceMin",
       {[](double a, double b) { return std::min(a, b); },
        [](int64_t a, int64_t b) { return std::min(a, b); }, std::nullopt}},
  };
  return table;
}

bool evaluateReduction(Evaluation &e) {
  const Reduction &reduction = reductions().find(e.node.opType())->second;
  const SmallTensor &data = *e.input(0);
  SmallVector<bool> reduced(data.rank(), false);
  bool listed = e.input(1) && e.input(1)->size() > 0;
  if (!listed && e.node.integer("noop_with_empty_axes", 0)) {
    e.results.push_back(data);
    return true;
  }
  for (int64_t i = 0; i < data.rank(); ++i)
    reduced[i] = !listed;
  if (listed)
    for (int64_t axis : e.input(1)->ints) {
      int64_t at = normalizeAxis(axis, data.rank());
      if (at < 0)
        return false;
      reduced[at] = true;
    }
  SmallVector<int64_t> kept, shape;
  bool keep = e.node.integer("keepdims", 1);
  for (auto [dim, isReduced] : llvm::zip(data.shape, reduced)) {
    kept.push_back(isReduced ? 1 : dim);
    if (!isReduced || keep)
      shape.push_back(isReduced ? 1 : dim);
  }
  std::optional<int64_t> count = countElements(kept, e.maxElements);
  if (!count)
    return false;
  SmallTensor &result = e.results.emplace_back();
  result.element = data.element;
  result.shape = shape;
  // The broadcast of the result over the data tells which elements belong
  // together.
  SmallVector<int64_t> groups = broadcastIndices(kept, data.shape);
  std::vector<bool> seen(*count, false);
  int64_t empty = reduction.empty.value_or(0);
  result.reals.assign(data.isReal() ? *count : 0, empty);
  result.ints.assign(data.isReal() ? 0 : *count, empty);
  for (auto [i, group] : llvm::enumerate(groups)) {
    if (data.isReal())
      result.reals[group] =
          seen[group] ? reduction.onReals(result.reals[group], data.reals[i])
                      : data.reals[i];
    else
      result.ints[group] =
          seen[group] ? reduction.onInts(result.ints[group], data.ints[i])
                      : data.ints[i];
    seen[group] = true;
  }
  return reduction.empty || !llvm::is_contained(seen, false);
}

bool evaluateCumSum(Evaluation &e) {
  const SmallTensor &data = *e.input(0);
  if (e.input(1)->size() != 1)
    return false;
  int64_t axis = normalizeAxis(e.input(1)->ints[0], data.rank());
  if (axis < 0)
    return false;
  bool exclusive = e.node.integer("exclusive", 0);
  bool reverse = e.node.integer("reverse", 0);
  int64_t dim = data.shape[axis], stride = stridesOf(data.shape)[axis];
  SmallTensor result = data;
  for (int64_t i = 0; i < data.size(); ++i) {
    if (i / stride % dim != 0)
      continue;
    double real = 0;
    int64_t integer = 0;
    for (int64_t step = 0; step < dim; ++step) {
      int64_t at = i + (reverse ? dim - 1 - step : step) * stride;
      double nextReal = data.isReal() ? real + data.reals[at] : 0;
      int64_t nextInteger = data.isReal() ? 0 : integer + data.ints[at];
      if (data.isReal())
        result.reals[at] = exclusive ? real : nextReal;
      else
        result.ints[at] = exclusive ? integer : nextInteger;
      real = nextReal;
      integer = nextInteger;
    }
  }
  e.results.push_back(std::move(result));
  return true;
}

} // namespace

Evaluator findReductionEvaluator(StringRef opType) {
  if (reductions().count(opType))
    return evaluateReduction;
  return opType == "CumSum" ? evaluateCumSum : nullptr;
}

} // namespace hethub::ox

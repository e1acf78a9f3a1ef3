//===- EvaluateArithmetic.cpp - elementwise operators on constants --------===//

#include "Evaluate.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace hethub::ox {

namespace {

/// An operator of one input by its function on floats and on integers; null
/// where it has none.
struct Unary {
  double (*onReals)(double);
  bool (*onInts)(int64_t, int64_t &);
};
/// An operator of two inputs. An integer function returns false where it has no
/// result (division by zero).
struct Binary {
  double (*onReals)(double, double);
  bool (*onInts)(int64_t, int64_t, int64_t &);
};
struct Comparison {
  bool (*onReals)(double, double);
  bool (*onInts)(int64_t, int64_t);
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// Unsigned arithmetic wraps; toAttribute cuts the result to the width of the
// type.
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

bool addInts(int64_t a, int64_t b, int64_t &r) {
  r = wrap(uint64_t(a) + uint64_t(b));
  return true;
}
bool subInts(int64_t a, int64_t b, int64_t &r) {
  r = wrap(uint64_t(a) - uint64_t(b));
  return true;
}
bool mulInts(int64_t a, int64_t b, int64_t &r) {
  r = wrap(uint64_t(a) * uint64_t(b));
  return true;
}
/// Towards zero.
bool divInts(int64_t a, int64_t b, int64_t &r) {
  if (b == 0 || (b == -1 && a == INT64_MIN))
    return false;
  r = a / b;
  return true;
}
/// The sign of the divisor.
bool modInts(int64_t a, int64_t b, int64_t &r) {
  if (b == 0 || b == -1)
    return b == -1 && !(r = 0);
  r = a % b;
  if (r != 0 && (r < 0) != (b < 0))
    r += b;
  return true;
}
/// The sign of the dividend.
bool fmodInts(int64_t a, int64_t b, int64_t &r) {
  if (b == 0 || b == -1)
    return b == -1 && !(r = 0);
  r = a % b;
  return true;
}
bool powInts(int64_t a, int64_t b, int64_t &r) {
  if (b < 0)
    return false;
  r = 1;
  for (uint64_t base = a; b; b >>= 1, base *= base)
    if (b & 1)
      r = wrap(uint64_t(r) * base);
  return true;
}
bool minInts(int64_t a, int64_t b, int64_t &r) {
  r = std::min(a, b);
  return true;
}
bool maxInts(int64_t a, int64_t b, int64_t &r) {
  r = std::max(a, b);
  return true;
}
/// Min and Max give NaN if one operand is NaN.
double minReals(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
}
double maxReals(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

const llvm::StringMap<Binary> &binaries() {
  static const llvm::StringMap<Binary> table = {
      {"Add", {[](double a, double b) { return a + b; }, addInts}},
      {"Sub", {[](double a, double b) { return a - b; }, subInts}},
      {"Mul", {[](double a, double b) { return a * b; }, mulInts}},
      {"Div", {[](double a, double b) { return a / b; }, divInts}},
      {"Pow", {[](double a, double b) { return std::pow(a, b); }, powInts}},
      {"Min", {minReals, minInts}},
      {"Max", {maxReals, maxInts}},
  };
  return table;
}

const llvm::StringMap<Comparison> &comparisons() {
  static const llvm::StringMap<Comparison> table = {
      {"Equal",
       {[](double a, double b) { return a == b; },
        [](int64_t a, int64_t b) { return a == b; }}},
      {"Less",
       {[](double a, double b) { return a < b; },
        [](int64_t a, int64_t b) { return a < b; }}},
      {"LessOrEqual",
       {[](double a, double b) { return a <= b; },
        [](int64_t a, int64_t b) { return a <= b; }}},
      {"Greater",
       {[](double a, double b) { return a > b; },
        [](int64_t a, int64_t b) { return a > b; }}},
      {"GreaterOrEqual",
       {[](double a, double b) { return a >= b; },
        [](int64_t a, int64_t b) { return a >= b; }}},
      {"And", {nullptr, [](int64_t a, int64_t b) { return a && b; }}},
      {"Or", {nullptr, [](int64_t a, int64_t b) { return a || b; }}},
      {"Xor", {nullptr, [](int64_t a, int64_t b) { return !a != !b; }}},
  };
  return table;
}

const llvm::StringMap<Unary> &unaries() {
  static const llvm::StringMap<Unary> table = {
      {"Neg",
       {[](double a) { return -a; },
        [](int64_t a, int64_t &r) {
          r = wrap(0 - uint64_t(a));
          return true;
        }}},
      {"Abs",
       {[](double a) { return std::fabs(a); },
        [](int64_t a, int64_t &r) {
          r = a < 0 ? wrap(0 - uint64_t(a)) : a;
          return true;
        }}},
      {"Not",
       {nullptr,
        [](int64_t a, int64_t &r) {
          r = !a;
          return true;
        }}},
      {"Sqrt", {[](double a) { return std::sqrt(a); }, nullptr}},
      {"Cos", {[](double a) { return std::cos(a); }, nullptr}},
      {"Sin", {[](double a) { return std::sin(a); }, nullptr}},
      {"Log", {[](double a) { return std::log(a); }, nullptr}},
      {"Exp", {[](double a) { return std::exp(a); }, nullptr}},
      {"Floor", {[](double a) { return std::floor(a); }, nullptr}},
      {"Ceil", {[](double a) { return std::ceil(a); }, nullptr}},
      {"Reciprocal", {[](double a) { return 1 / a; }, nullptr}},
  };
  return table;
}

//===----------------------------------------------------------------------===//
// Evaluators
//===----------------------------------------------------------------------===//

/// Calls `function(i, a, b)` for each element of the broadcast of two tensors;
/// gives its shape.
template <typename Function>
bool forBroadcast(const SmallTensor &a, const SmallTensor &b, int64_t limit,
                  SmallVectorImpl<int64_t> &shape, Function function) {
  if (!broadcastShapes(a.shape, b.shape, shape) || !countElements(shape, limit))
    return false;
  for (auto [i, j] : llvm::zip(broadcastIndices(a.shape, shape),
                               broadcastIndices(b.shape, shape)))
    if (!function(i, j))
      return false;
  return true;
}

bool applyBinary(const Binary &binary, const SmallTensor &a,
                 const SmallTensor &b, Type element, int64_t limit,
                 SmallTensor &result) {
  result.element = element;
  if (a.isReal() != b.isReal() || result.isReal() != a.isReal())
    return false;
  return forBroadcast(a, b, limit, result.shape, [&](int64_t i, int64_t j) {
    if (a.isReal()) {
      if (!binary.onReals)
        return false;
      result.reals.push_back(binary.onReals(a.reals[i], b.reals[j]));
      return true;
    }
    int64_t value;
    if (!binary.onInts || !binary.onInts(a.ints[i], b.ints[j], value))
      return false;
    result.ints.push_back(value);
    return true;
  });
}

/// Two inputs, or for Min and Max any number.
bool evaluateBinary(Evaluation &e) {
  const Binary &binary = binaries().find(e.node.opType())->second;
  if (!e.input(0))
    return false;
  SmallTensor result = *e.input(0);
  for (size_t i = 1; i < e.inputs.size(); ++i) {
    SmallTensor next;
    if (!e.input(i) || !applyBinary(binary, result, *e.input(i), e.elements[0],
                                    e.maxElements, next))
      return false;
    result = std::move(next);
  }
  e.results.push_back(std::move(result));
  return true;
}

bool evaluateMod(Evaluation &e) {
  bool fmod = e.node.integer("fmod", 0);
  Binary binary{fmod ? [](double a, double b) { return std::fmod(a, b); }
                     : static_cast<double (*)(double, double)>(nullptr),
                fmod ? fmodInts : modInts};
  return applyBinary(binary, *e.input(0), *e.input(1), e.elements[0],
                     e.maxElements, e.results.emplace_back());
}

bool evaluateComparison(Evaluation &e) {
  const Comparison &comparison = comparisons().find(e.node.opType())->second;
  const SmallTensor &a = *e.input(0), &b = *e.input(1);
  SmallTensor &result = e.results.emplace_back();
  result.element = e.elements[0];
  if (a.isReal() != b.isReal() || (a.isReal() && !comparison.onReals))
    return false;
  return forBroadcast(
      a, b, e.maxElements, result.shape, [&](int64_t i, int64_t j) {
        result.ints.push_back(a.isReal()
                                  ? comparison.onReals(a.reals[i], b.reals[j])
                                  : comparison.onInts(a.ints[i], b.ints[j]));
        return true;
      });
}

bool evaluateUnary(Evaluation &e) {
  const Unary &unary = unaries().find(e.node.opType())->second;
  const SmallTensor &input = *e.input(0);
  SmallTensor &result = e.results.emplace_back();
  result.element = e.elements[0];
  result.shape = input.shape;
  if (input.isReal()) {
    if (!unary.onReals)
      return false;
    for (double value : input.reals)
      result.reals.push_back(unary.onReals(value));
    return true;
  }
  for (int64_t value : input.ints) {
    int64_t computed;
    if (!unary.onInts || !unary.onInts(value, computed))
      return false;
    result.ints.push_back(computed);
  }
  return true;
}

/// Floats are cut towards zero; those that do not fit the integer have no
/// defined result.
bool evaluateCast(Evaluation &e) {
  const SmallTensor &input = *e.input(0);
  SmallTensor &result = e.results.emplace_back();
  result.element = e.elements[0];
  result.shape = input.shape;
  bool toBool = result.element.isInteger(1);
  if (result.isReal()) {
    for (int64_t i = 0; i < input.size(); ++i)
      result.reals.push_back(input.isReal() ? input.reals[i]
                                            : double(input.ints[i]));
    return true;
  }
  if (!input.isReal()) {
    for (int64_t value : input.ints)
      result.ints.push_back(toBool ? value != 0 : value);
    return true;
  }
  unsigned width = result.element.getIntOrFloatBitWidth();
  bool isUnsigned = result.element.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, std::min(width, 64u) - !isUnsigned);
  for (double value : input.reals) {
    if (toBool) {
      result.ints.push_back(value != 0);
      continue;
    }
    double cut = std::trunc(value);
    if (!(cut >= low && cut < high && cut < 0x1p63))
      return false;
    result.ints.push_back(static_cast<int64_t>(cut));
  }
  return true;
}

bool evaluateWhere(Evaluation &e) {
  const SmallTensor &condition = *e.input(0), &a = *e.input(1),
                    &b = *e.input(2);
  SmallVector<int64_t> values, shape;
  if (a.element != b.element || !broadcastShapes(a.shape, b.shape, values) ||
      !broadcastShapes(condition.shape, values, shape) ||
      !countElements(shape, e.maxElements))
    return false;
  SmallTensor &result = e.results.emplace_back();
  result.element = a.element;
  result.shape = shape;
  for (auto [c, i, j] : llvm::zip(broadcastIndices(condition.shape, shape),
                                  broadcastIndices(a.shape, shape),
                                  broadcastIndices(b.shape, shape))) {
    bool first = condition.ints[c];
    if (result.isReal())
      result.reals.push_back(first ? a.reals[i] : b.reals[j]);
    else
      result.ints.push_back(first ? a.ints[i] : b.ints[j]);
  }
  return true;
}

} // namespace

Evaluator findArithmeticEvaluator(StringRef opType) {
  if (binaries().count(opType))
    return evaluateBinary;
  if (comparisons().count(opType))
    return evaluateComparison;
  if (unaries().count(opType))
    return evaluateUnary;
  if (opType == "Mod")
    return evaluateMod;
  if (opType == "Cast")
    return evaluateCast;
  if (opType == "Where")
    return evaluateWhere;
  return nullptr;
}

} // namespace hethub::ox

//===- Linear.cpp - rules of matrix products ------------------------------===//

#include "../Derivation.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

Value product(Derivation &d, Value a, Value b) {
  if (d.rank(a) != 2 || d.rank(b) != 2)
    return d.matmul(a, b);
  return d.call("mm", {a, b}, {},
                d.tensor({d.dims(a)[0], d.dims(b)[1]}, d.element(a)));
}

/// The last two axes exchanged.
Value transposed(Derivation &d, Value x) {
  int64_t rank = d.rank(x);
  return d.transpose(x, rank - 2, rank - 1);
}

/// All axes but the last one folded to one.
Value rows(Derivation &d, Value x) {
  int64_t last = d.dims(x).back();
  return d.reshape(x, {hethub::product(d.dims(x).drop_back()), last});
}

//===----------------------------------------------------------------------===//
// Products of two tensors
//===----------------------------------------------------------------------===//

LogicalResult mm(Derivation &d) {
  Value a = d.self(), b = d.in("mat2"), g = d.grad();
  d.give("self", [&] { return product(d, g, transposed(d, b)); });
  d.give("mat2", [&] { return product(d, transposed(d, a), g); });
  return success();
}

LogicalResult bmm(Derivation &d) {
  auto bmm = [&](Value a, Value b) {
    return d.call(
        "bmm", {a, b}, {},
        d.tensor({d.dims(a)[0], d.dims(a)[1], d.dims(b)[2]}, d.element(a)));
  };
  Value a = d.self(), b = d.in("mat2"), g = d.grad();
  d.give("self", [&] { return bmm(g, transposed(d, b)); });
  d.give("mat2", [&] { return bmm(transposed(d, a), g); });
  return success();
}

LogicalResult addmm(Derivation &d) {
  Value a = d.in("mat1"), b = d.in("mat2"), g = d.grad();
  double alpha = d.real("alpha");
  d.give("self", [&] { return d.times(g, d.real("beta")); });
  d.give("mat1",
         [&] { return d.times(product(d, g, transposed(d, b)), alpha); });
  d.give("mat2",
         [&] { return d.times(product(d, transposed(d, a), g), alpha); });
  return success();
}

/// Vectors are matrices of one row or column; batch axes may be broadcast,
/// which give() sums over. A matrix that multiplies a batch gets its gradient
/// from one product over all rows.
LogicalResult matmul(Derivation &d) {
  Value a = d.self(), b = d.in("other"), g = d.grad();
  int64_t inner = d.dims(a).back();
  bool vectorA = d.rank(a) == 1, vectorB = d.rank(b) == 1;
  Value left = vectorA ? d.reshape(a, {1, inner}) : a;
  Value right = vectorB ? d.reshape(b, {inner, 1}) : b;
  Dims dims(d.dims(g));
  if (vectorB)
    dims.push_back(1);
  if (vectorA)
    dims.insert(dims.end() - 1, 1);
  g = d.reshape(g, dims);
  d.give("self", [&] { return product(d, g, transposed(d, right)); });
  d.give("other", [&] {
    bool batched = d.rank(left) > 2 && d.rank(right) == 2;
    Value gradient = batched
                         ? product(d, transposed(d, rows(d, left)), rows(d, g))
                         : product(d, transposed(d, left), g);
    return vectorB ? d.reshape(gradient, d.dims(gradient).drop_back())
                   : gradient;
  });
  return success();
}

LogicalResult linear(Derivation &d) {
  Value x = d.in("input"), w = d.in("weight"), g = d.grad();
  d.give("input", [&] { return product(d, g, w); });
  d.give("weight",
         [&] { return product(d, transposed(d, rows(d, g)), rows(d, x)); });
  d.give("bias", [&] { return g; });
  return success();
}

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

/// An equation with one letter an axis: the ellipsis becomes letters that the
/// equation does not use, an implicit result is written out.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
  llvm::DenseMap<char, int64_t> sizes;
};

Equation readEquation(StringRef text, const Values &operands) {
  std::string plain;
  for (char c : text)
    if (c != ' ')
      plain += c;
  auto [left, right] = StringRef(plain).split("->");
  bool isExplicit = StringRef(plain).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');

  std::string free;
  for (char c = 'Z'; c >= 'A'; --c)
    if (!left.contains(c))
      free += c;
  for (char c = 'z'; c >= 'a'; --c)
    if (!left.contains(c))
      free += c;
  size_t ellipsisRank = 0;
  for (auto [term, operand] : llvm::zip_equal(terms, operands))
    if (term.contains("..."))
      ellipsisRank = std::max<size_t>(ellipsisRank, CallBuilder::rank(operand) -
                                                        (term.size() - 3));
  std::string ellipsis = free.substr(0, ellipsisRank);
  auto written = [&](StringRef term, size_t axes) {
    auto [before, after] = term.split("...");
    if (!term.contains("..."))
      return term.str();
    return (before + StringRef(ellipsis).take_back(axes) + after).str();
  };

  Equation equation;
  llvm::DenseMap<char, unsigned> uses;
  for (auto [term, operand] : llvm::zip_equal(terms, operands)) {
    bool has = term.contains("...");
    equation.operands.push_back(written(
        term, has ? CallBuilder::rank(operand) - (term.size() - 3) : 0));
    for (auto [letter, size] : llvm::zip_equal(equation.operands.back(),
                                               CallBuilder::dims(operand))) {
      ++uses[letter];
      int64_t &known = equation.sizes.try_emplace(letter, size).first->second;
      if (known == 1)
        known = size;
    }
  }
  if (isExplicit) {
    equation.result = written(right, ellipsisRank);
    return equation;
  }
  equation.result = ellipsis;
  for (char c :
       StringRef("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    if (uses.lookup(c) == 1 && !StringRef(ellipsis).contains(c))
      equation.result += c;
  return equation;
}

/// The gradient of operand i: the product of the result's gradient and all
/// other operands, over the letters of i that these have; the rest of its axes
/// is a repetition. Axes with one letter have a gradient on their diagonal.
Value einsumGradient(Derivation &d, const Equation &equation, size_t i,
                     const Values &operands) {
  const std::string &own = equation.operands[i];
  std::string equationText = equation.result;
  std::string known = equation.result;
  Values factors{d.grad()};
  for (size_t other = 0; other < operands.size(); ++other) {
    if (other == i)
      continue;
    factors.push_back(operands[other]);
    equationText += "," + equation.operands[other];
    known += equation.operands[other];
  }
  std::string unique, found;
  for (char letter : own) {
    if (StringRef(unique).contains(letter))
      continue;
    unique += letter;
    if (StringRef(known).contains(letter))
      found += letter;
  }
  Dims foundDims, uniqueDims, spread;
  for (char letter : unique) {
    bool isFound = StringRef(found).contains(letter);
    if (isFound)
      foundDims.push_back(equation.sizes.lookup(letter));
    uniqueDims.push_back(isFound ? equation.sizes.lookup(letter) : 1);
    spread.push_back(equation.sizes.lookup(letter));
  }
  Type element = d.element(d.grad());
  Value gradient =
      d.call("einsum", {factors},
             {d.arg("equation", StringRef(equationText + "->" + found))},
             d.tensor(foundDims, element));
  gradient = d.expand(d.reshape(gradient, uniqueDims), spread);
  // One axis after the other is added for letters that occur again.
  std::string placed;
  for (size_t axis = 0; axis < own.size(); ++axis) {
    size_t first = placed.find(own[axis]);
    placed += own[axis];
    if (first == std::string::npos)
      continue;
    int64_t size = equation.sizes.lookup(own[axis]);
    Dims dims(d.dims(gradient)), eyeDims;
    dims.insert(dims.begin() + axis, 1);
    eyeDims.assign(dims.size(), 1);
    eyeDims[first] = eyeDims[axis] = size;
    Value eye =
        d.call("eye.m", {},
               {d.arg("n", size), d.arg("m", size), d.arg("dtype", element)},
               d.tensor({size, size}, element));
    gradient = d.mul(d.reshape(gradient, dims), d.reshape(eye, eyeDims));
  }
  return gradient;
}

LogicalResult einsum(Derivation &d) {
  Values operands = d.list("tensors");
  Equation equation = readEquation(
      cast<StringAttr>(d.attribute("equation")).getValue(), operands);
  for (auto [i, operand] : llvm::enumerate(operands))
    if (d.wants(operand))
      d.give(operand, einsumGradient(d, equation, i, operands));
  return success();
}

//===----------------------------------------------------------------------===//
// det
//===----------------------------------------------------------------------===//

/// A^T X = det(A) I by the factors that the determinant comes from: those of
/// A^T, since A is contiguous. Zeros on their diagonal give way to the smallest
/// numbers that can be divided by.
LogicalResult det(Derivation &d) {
  Value a = d.forward().unary("contiguous", d.self());
  Dims dims(d.dims(a));
  int64_t size = dims.back();
  Type element = d.element(a);
  Type i32 = d.builder.getI32Type();
  Values factors =
      d.forward().calls("_linalg_det", {a}, {},
                        {d.typeOf(d.out()), d.typeOf(a),
                         d.tensor(ArrayRef(dims).drop_back(), i32)});
  d.replaceCall(factors[0]);
  d.give("self", [&] {
    Value eye =
        d.call("eye.m", {},
               {d.arg("n", size), d.arg("m", size), d.arg("dtype", element)},
               d.tensor({size, size}, element));
    double tiny = element.isF64() ? 0x1p-52 : 0x1p-23;
    Value singular =
        d.both(d.cast(eye, d.boolean()), d.compare("eq", factors[1], 0));
    Value lu = d.where(singular, d.fullReal({}, tiny, element), factors[1]);
    Value scale = d.mul(d.grad(), d.out());
    Dims scaleDims(d.dims(scale));
    scaleDims.append({1, 1});
    Value right = d.mul(d.reshape(scale, scaleDims), eye);
    return d.call("linalg_lu_solve", {lu, factors[2], right}, {}, d.typeOf(a));
  });
  return success();
}

} // namespace

void addLinearRules(RuleTable &table) {
  table["aten::addmm"] = addmm;
  table["aten::bmm"] = bmm;
  table["aten::det"] = det;
  table["aten::einsum"] = einsum;
  table["aten::linear"] = linear;
  table["aten::matmul"] = matmul;
  table["aten::mm"] = mm;
}

} // namespace hethub::differentiate

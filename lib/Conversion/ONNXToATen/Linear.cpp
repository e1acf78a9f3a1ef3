//===- Linear.cpp - matrix products ---------------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

LogicalResult lowerMatMul(Lowering &l) {
  Value a = l.compute(0), b = l.compute(1);
  if (Lowering::rank(a) == 2 && Lowering::rank(b) == 2)
    return l.done(
        l.call("mm", {a, b}, {},
               Lowering::tensor({Lowering::dims(a)[0], Lowering::dims(b)[1]},
                                Lowering::element(a))));
  return l.done(l.matmul(a, b));
}

/// alpha * A' * B' + beta * C; transposes are views.
LogicalResult lowerGemm(Lowering &l) {
  Value a = l.compute(0), b = l.compute(1);
  Type element = Lowering::element(a);
  double alpha = l.node.real("alpha", 1), beta = l.node.real("beta", 1);
  bool transposeB = l.node.integer("transB", 0);
  if (l.node.integer("transA", 0))
    a = l.transpose(a, 0, 1);
  ArrayRef<int64_t> dims = l.outType().getShape();
  RankedTensorType type = Lowering::tensor(dims, element);
  Value c = l.has(2) ? l.compute(2) : Value();
  if (!isFloat(element) &&
      (alpha != std::floor(alpha) || beta != std::floor(beta)))
    return l.refuse("alpha and beta must be whole for integer matrices");
  // linear wants its weight as [outputs, inputs], which transB gives.
  bool vectorBias = !c || (Lowering::rank(c) == 1 &&
                           Lowering::dims(c).front() == dims.back());
  if (alpha == 1 && (beta == 1 || !c) && vectorBias && isFloat(element)) {
    Value weight = transposeB ? b : l.transpose(b, 0, 1);
    return l.done(l.call("linear", {a, weight, c}, {}, type));
  }
  if (transposeB)
    b = l.transpose(b, 0, 1);
  if (c && beta != 0)
    return l.done(l.call("addmm", {c, a, b},
                         {l.arg("beta", l.number(beta, element)),
                          l.arg("alpha", l.number(alpha, element))},
                         type));
  Value y = l.call("mm", {a, b}, {}, type);
  if (alpha != 1)
    y = l.withScalar("mul.Scalar", y, l.number(alpha, element));
  return l.done(y);
}

LogicalResult lowerEinsum(Lowering &l) {
  Values tensors;
  for (unsigned i = 0; i < l.node.inputCount(); ++i)
    tensors.push_back(l.in(i));
  return l.done(l.call("einsum", {tensors},
                       {l.arg("equation", l.node.string("equation", ""))},
                       l.outType()));
}

LogicalResult lowerDet(Lowering &l) {
  return l.done(l.call("det", {l.in(0)}, {}, l.outType()));
}

} // namespace

void addLinearHandlers(HandlerTable &table) {
  table["MatMul"] = lowerMatMul;
  table["Gemm"] = lowerGemm;
  table["Einsum"] = lowerEinsum;
  table["Det"] = lowerDet;
}

} // namespace hethub

//===- Comparison.cpp - comparisons, logical and bitwise operators --------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

struct Comparison {
  const char *onnx;
  const char *aten;
  const char *unsignedName; ///< of the operands in `swapped` order
  bool swapped;
};

constexpr Comparison comparisons[] = {
    {"Equal", "eq", nullptr, false},
    {"Less", "lt", "less", false},
    {"LessOrEqual", "le", "less_equal", false},
    {"Greater", "gt", "less", true},
    {"GreaterOrEqual", "ge", "less_equal", true},
};

LogicalResult lowerComparison(Lowering &l) {
  const Comparison *row = llvm::find_if(
      comparisons, [&](const auto &c) { return l.node.opType() == c.onnx; });
  Value a = l.in(0), b = l.in(1);
  if (row->unsignedName && isUnsigned(Lowering::element(a), 64)) {
    if (row->swapped)
      std::swap(a, b);
    return l.done(l.binary("hethub.unsigned_binary", a, b,
                           {l.arg("operation", row->unsignedName)},
                           l.boolean()));
  }
  Attribute scalar =
      Lowering::rank(b) <= Lowering::rank(a) ? l.scalar(b) : Attribute();
  std::string name(row->aten);
  if (scalar)
    return l.done(
        l.withScalar(name + ".Scalar", l.compute(0), scalar, l.boolean()));
  return l.done(
      l.binary(name + ".Tensor", l.compute(0), l.compute(1), {}, l.boolean()));
}

LogicalResult lowerLogical(Lowering &l) {
  StringRef name = llvm::StringSwitch<StringRef>(l.node.opType())
                       .Case("And", "logical_and")
                       .Case("Or", "logical_or")
                       .Case("Xor", "logical_xor")
                       .Case("BitwiseAnd", "bitwise_and.Tensor")
                       .Case("BitwiseOr", "bitwise_or.Tensor")
                       .Case("BitwiseXor", "bitwise_xor.Tensor");
  return l.done(l.binary(name, l.data(0), l.data(1)));
}

LogicalResult lowerNot(Lowering &l) {
  return l.done(l.unary("logical_not", l.in(0)));
}

LogicalResult lowerBitwiseNot(Lowering &l) {
  return l.done(l.unary("bitwise_not", l.data(0)));
}

/// Shifts of unsigned integers: zeros come in from the left.
LogicalResult lowerBitShift(Lowering &l) {
  bool right = l.node.string("direction", "") == "RIGHT";
  if (right && isUnsigned(Lowering::element(l.in(0)), 64))
    return l.done(l.binary("hethub.unsigned_binary", l.in(0), l.in(1),
                           {l.arg("operation", "shift_right")}));
  return l.done(l.binary(right ? "bitwise_right_shift.Tensor"
                               : "bitwise_left_shift.Tensor",
                         l.compute(0), l.compute(1)));
}

LogicalResult lowerIsNaN(Lowering &l) {
  Value x = l.in(0);
  if (Lowering::element(x).getIntOrFloatBitWidth() == 8)
    x = l.cast(x, l.f32());
  return l.done(l.unary("isnan", x, {}, l.boolean()));
}

LogicalResult lowerIsInf(Lowering &l) {
  bool negative = l.node.integer("detect_negative", 1);
  bool positive = l.node.integer("detect_positive", 1);
  Value x = l.in(0);
  if (Lowering::element(x).getIntOrFloatBitWidth() == 8)
    x = l.cast(x, l.f32());
  if (negative && positive)
    return l.done(l.unary("isinf", x, {}, l.boolean()));
  if (!negative && !positive)
    return l.done(l.full(l.outType().getShape(), l.builder.getBoolAttr(false),
                         l.boolean()));
  double infinity = std::numeric_limits<double>::infinity();
  return l.done(
      l.withReal("eq.Scalar", x, positive ? infinity : -infinity, l.boolean()));
}

} // namespace

void addComparisonHandlers(HandlerTable &table) {
  for (const Comparison &comparison : comparisons)
    table[comparison.onnx] = lowerComparison;
  for (const char *name :
       {"And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    table[name] = lowerLogical;
  table["Not"] = lowerNot;
  table["BitwiseNot"] = lowerBitwiseNot;
  table["BitShift"] = lowerBitShift;
  table["IsNaN"] = lowerIsNaN;
  table["IsInf"] = lowerIsInf;
}

} // namespace hethub

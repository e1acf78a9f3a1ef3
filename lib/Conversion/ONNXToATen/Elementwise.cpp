//===- Elementwise.cpp - arithmetic, functions of one number, casts -------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

struct Name {
  const char *onnx;
  const char *aten;
};

/// Operators that LibTorch has under another name.
constexpr Name unaryNames[] = {
    {"Acos", "acos"},   {"Acosh", "acosh"}, {"Asin", "asin"},
    {"Asinh", "asinh"}, {"Atan", "atan"},   {"Atanh", "atanh"},
    {"Ceil", "ceil"},   {"Cos", "cos"},     {"Cosh", "cosh"},
    {"Erf", "erf"},     {"Exp", "exp"},     {"Floor", "floor"},
    {"Log", "log"},     {"Neg", "neg"},     {"Reciprocal", "reciprocal"},
    {"Round", "round"}, {"Sin", "sin"},     {"Sinh", "sinh"},
    {"Sqrt", "sqrt"},   {"Tan", "tan"},
};

LogicalResult lowerUnary(Lowering &l) {
  for (const Name &name : unaryNames)
    if (l.node.opType() == name.onnx)
      return l.done(l.unary(name.aten, l.in(0)));
  llvm_unreachable("registered from the same table");
}

LogicalResult lowerAbs(Lowering &l) {
  Type element = Lowering::element(l.in(0));
  return l.done(element.isUnsignedInteger() ? l.in(0)
                                            : l.unary("abs", l.in(0)));
}

LogicalResult lowerSign(Lowering &l) {
  Value x = l.in(0);
  if (isUnsigned(Lowering::element(x), 64)) // 1 where any bit is set
    return l.done(l.cast(l.withInt("ne.Scalar", l.data(0), 0, l.boolean()),
                         Lowering::element(x)));
  return l.done(l.unary("sign", l.compute(0)));
}

LogicalResult lowerIdentity(Lowering &l) { return l.done(l.in(0)); }

//===----------------------------------------------------------------------===//
// Two tensors
//===----------------------------------------------------------------------===//

/// The number of a one-element constant that may stand as a Scalar next to
/// `other` without changing the result's shape.
Attribute scalarBeside(Lowering &l, Value value, Value other) {
  return Lowering::rank(value) <= Lowering::rank(other) ? l.scalar(value)
                                                        : Attribute();
}

LogicalResult lowerAddMul(Lowering &l) {
  bool add = l.node.opType() == "Add";
  for (unsigned i : {1u, 0u})
    if (Attribute scalar = scalarBeside(l, l.in(i), l.in(1 - i)))
      return l.done(l.withScalar(add ? "add.Scalar" : "mul.Scalar",
                                 l.compute(1 - i), scalar));
  return l.done(
      l.binary(add ? "add.Tensor" : "mul.Tensor", l.compute(0), l.compute(1)));
}

LogicalResult lowerSub(Lowering &l) {
  if (Attribute scalar = scalarBeside(l, l.in(1), l.in(0)))
    return l.done(l.withScalar("sub.Scalar", l.compute(0), scalar));
  if (Attribute scalar = scalarBeside(l, l.in(0), l.in(1)))
    return l.done(l.withScalar("rsub.Scalar", l.compute(1), scalar));
  return l.done(l.binary("sub.Tensor", l.compute(0), l.compute(1)));
}

/// Integers divide towards zero.
LogicalResult lowerDiv(Lowering &l) {
  Value a = l.in(0), b = l.in(1);
  Type element = Lowering::element(a);
  if (isUnsigned(element, 64))
    return l.done(l.binary("hethub.unsigned_binary", a, b,
                           {l.arg("operation", "divide")}));
  Attribute scalar = scalarBeside(l, b, a);
  if (isFloat(element))
    return l.done(scalar ? l.withScalar("div.Scalar", a, scalar)
                         : l.binary("div.Tensor", a, b));
  NamedArg mode = l.arg("rounding_mode", "trunc");
  if (scalar)
    return l.done(l.unary("div.Scalar_mode", l.compute(0),
                          {l.arg("other", scalar), mode}));
  return l.done(
      l.binary("div.Tensor_mode", l.compute(0), l.compute(1), {mode}));
}

/// fmod = 0: the sign of the divisor (Python's %); fmod = 1: of the dividend.
LogicalResult lowerMod(Lowering &l) {
  Value a = l.in(0), b = l.in(1);
  if (isUnsigned(Lowering::element(a), 64))
    return l.done(l.binary("hethub.unsigned_binary", a, b,
                           {l.arg("operation", "remainder")}));
  bool fmod = l.node.integer("fmod", 0);
  if (Attribute scalar = scalarBeside(l, b, a))
    return l.done(l.withScalar(fmod ? "fmod.Scalar" : "remainder.Scalar",
                               l.compute(0), scalar));
  return l.done(l.binary(fmod ? "fmod.Tensor" : "remainder.Tensor",
                         l.compute(0), l.compute(1)));
}

/// The result has the type of the base, whatever the type of the exponent.
LogicalResult lowerPow(Lowering &l) {
  Value base = l.compute(0), exponent = l.compute(1);
  Type type = Lowering::element(base);
  bool floats = isFloat(type);
  if (!floats && isFloat(Lowering::element(exponent))) {
    Type f64 = l.builder.getF64Type();
    Value y =
        l.binary("pow.Tensor_Tensor", l.cast(base, f64), l.cast(exponent, f64));
    return l.done(l.cast(y, Lowering::element(l.in(0))));
  }
  if (Attribute scalar = scalarBeside(l, l.in(1), base)) {
    auto integer = dyn_cast<IntegerAttr>(scalar);
    if (floats || (integer && integer.getInt() >= 0))
      return l.done(l.withScalar("pow.Tensor_Scalar", base, scalar));
  }
  if (Attribute scalar = scalarBeside(l, l.in(0), exponent))
    if (Lowering::element(exponent) == type)
      return l.done(l.withScalar("pow.Scalar", exponent, scalar));
  return l.done(l.binary("pow.Tensor_Tensor", base, l.cast(exponent, type)));
}

/// Max, Min, Sum, Mean: of any number of tensors.
LogicalResult lowerVariadic(Lowering &l) {
  StringRef type = l.node.opType();
  Type element = Lowering::element(l.in(0));
  bool extremum = type == "Max" || type == "Min";
  Value result = extremum && isUnsigned(element, 64) ? l.in(0) : l.compute(0);
  for (unsigned i = 1; i < l.node.inputCount(); ++i) {
    if (extremum && isUnsigned(element, 64))
      result =
          l.binary("hethub.unsigned_binary", result, l.in(i),
                   {l.arg("operation", type == "Max" ? "maximum" : "minimum")});
    else
      result = l.binary(type == "Max"   ? "maximum"
                        : type == "Min" ? "minimum"
                                        : "add.Tensor",
                        result, l.compute(i));
  }
  if (type == "Mean" && l.node.inputCount() > 1)
    result = l.withReal("div.Scalar", result, l.node.inputCount());
  return l.done(result);
}

LogicalResult lowerWhere(Lowering &l) {
  return l.done(l.where(l.in(0), l.data(1), l.data(2)));
}

LogicalResult lowerClip(Lowering &l) {
  Value x = l.in(0), low = l.in(1), high = l.in(2);
  if (!low && !high)
    return l.done(x);
  if (isUnsigned(Lowering::element(x), 64)) {
    if (low)
      x = l.binary("hethub.unsigned_binary", x, low,
                   {l.arg("operation", "maximum")});
    if (high)
      x = l.binary("hethub.unsigned_binary", x, high,
                   {l.arg("operation", "minimum")});
    return l.done(x);
  }
  Attribute min = low ? l.scalar(low) : Attribute();
  Attribute max = high ? l.scalar(high) : Attribute();
  if (bool(low) == bool(min) && bool(high) == bool(max))
    return l.done(
        l.unary("clamp", l.compute(0), {l.arg("min", min), l.arg("max", max)}));
  return l.done(l.call(
      "clamp.Tensor",
      {l.compute(0), low ? l.widen(low) : low, high ? l.widen(high) : high}, {},
      Lowering::typeOf(l.compute(0))));
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Largest finite number of an 8-bit float type; 0 for others.
double largestFloat8(Type element) {
  if (isa<Float8E4M3FNType>(element))
    return 448;
  if (isa<Float8E4M3FNUZType>(element))
    return 240;
  if (isa<Float8E5M2Type, Float8E5M2FNUZType>(element))
    return 57344;
  return 0;
}

/// Cast and CastLike: the target is the output's type.
LogicalResult lowerCast(Lowering &l) {
  return l.done(convert(l, l.in(0), Lowering::element(l.node.output(0))));
}

LogicalResult lowerBitCast(Lowering &l) {
  return l.done(l.bitcast(l.in(0), l.outType().getElementType()));
}

} // namespace

/// Small integers live in bytes: the low bits of a wider number, as ONNX casts
/// them.
static Value toSmallInteger(Lowering &l, Value x, IntegerType to) {
  int64_t values = int64_t(1) << to.getWidth();
  Type i32 = l.builder.getI32Type();
  x = l.cast(x, i32);
  if (to.isUnsigned())
    return l.cast(l.withInt("remainder.Scalar", x, values), to);
  // remainder() is never negative here: the upper half becomes negative again.
  x = l.withInt("add.Scalar", x, values / 2);
  x = l.withInt("remainder.Scalar", x, values);
  return l.cast(l.withInt("sub.Scalar", x, values / 2), to);
}

static NamedArg format(Lowering &l, Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return l.arg("format", StringRef(text));
}

Value decode(Lowering &l, Value x) {
  Type from = Lowering::element(x);
  return isCoded(from)
             ? l.unary("hethub.decode_float", x, {format(l, from)}, l.f32())
             : x;
}

Value convert(Lowering &l, Value x, Type to) {
  Type from = Lowering::element(x);
  if (from == to)
    return x;
  x = decode(l, x);
  if (isCoded(to) || isa<Float8E8M0FNUType>(to))
    return l.unary("hethub.encode_float", l.cast(x, l.f32()),
                   {format(l, to),
                    l.arg("saturate", bool(l.node.integer("saturate", 1))),
                    l.arg("round_mode", l.node.string("round_mode", "up"))},
                   to);
  if (auto integer = dyn_cast<IntegerType>(to);
      integer && integer.getWidth() > 1 && integer.getWidth() < 8)
    return toSmallInteger(l, x, integer);
  double largest = largestFloat8(to);
  if (!largest)
    return l.cast(x, to);
  if (!isFloat(from) || from.getIntOrFloatBitWidth() <= 8)
    x = l.cast(x, l.f32());
  if (l.node.integer("saturate", 1)) {
    x = l.unary("clamp", x, {l.arg("min", -largest), l.arg("max", largest)});
  } else if (isa<Float8E4M3FNType>(to)) {
    // LibTorch saturates here by itself; without saturation what rounds beyond
    // the largest number is no number.
    Value beyond = l.withReal("gt.Scalar", l.unary("abs", x), 464, l.boolean());
    x = l.call("masked_fill.Scalar", {x, beyond},
               {l.arg("value", std::nan(""))}, Lowering::typeOf(x));
  }
  return l.cast(x, to);
}

void addElementwiseHandlers(HandlerTable &table) {
  for (const Name &name : unaryNames)
    table[name.onnx] = lowerUnary;
  table["Abs"] = lowerAbs;
  table["Sign"] = lowerSign;
  table["Identity"] = lowerIdentity;
  table["Add"] = lowerAddMul;
  table["Mul"] = lowerAddMul;
  table["Sub"] = lowerSub;
  table["Div"] = lowerDiv;
  table["Mod"] = lowerMod;
  table["Pow"] = lowerPow;
  for (const char *name : {"Max", "Min", "Sum", "Mean"})
    table[name] = lowerVariadic;
  table["Where"] = lowerWhere;
  table["Clip"] = lowerClip;
  table["Cast"] = lowerCast;
  table["CastLike"] = lowerCast;
  table["BitCast"] = lowerBitCast;
}

} // namespace hethub

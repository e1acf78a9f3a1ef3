//===- Elementwise.cpp - rules of arithmetic on elements ------------------===//

#include "../Derivation.h"

#include <cmath>

using namespace mlir;

namespace hethub::differentiate {

//===----------------------------------------------------------------------===//
// One tensor
//===----------------------------------------------------------------------===//

static Value abs(Derivation &d) {
  return d.mul(d.grad(), d.unary("sign", d.self()));
}
static Value exp(Derivation &d) { return d.mul(d.grad(), d.out()); }
static Value log(Derivation &d) { return d.div(d.grad(), d.self()); }
static Value negated(Derivation &d) { return d.neg(d.grad()); }
static Value reciprocal(Derivation &d) {
  return d.neg(d.mul(d.grad(), d.square(d.out())));
}
static Value sqrt(Derivation &d) {
  return d.div(d.grad(), d.times(d.out(), 2));
}
static Value rsqrt(Derivation &d) {
  Value cube = d.withInt("pow.Tensor_Scalar", d.out(), 3);
  return d.times(d.mul(d.grad(), cube), -0.5);
}
static Value erf(Derivation &d) {
  Value bell = d.unary("exp", d.neg(d.square(d.self())));
  return d.times(d.mul(d.grad(), bell), M_2_SQRTPI);
}

static Value sin(Derivation &d) {
  return d.mul(d.grad(), d.unary("cos", d.self()));
}
static Value cos(Derivation &d) {
  return d.neg(d.mul(d.grad(), d.unary("sin", d.self())));
}
static Value tan(Derivation &d) {
  return d.mul(d.grad(), d.plus(d.square(d.out()), 1));
}
static Value sinh(Derivation &d) {
  return d.mul(d.grad(), d.unary("cosh", d.self()));
}
static Value cosh(Derivation &d) {
  return d.mul(d.grad(), d.unary("sinh", d.self()));
}

/// 1 - x^2
static Value oneMinusSquare(Derivation &d) {
  return d.plus(d.neg(d.square(d.self())), 1);
}
static Value asin(Derivation &d) {
  return d.mul(d.grad(), d.unary("rsqrt", oneMinusSquare(d)));
}
static Value acos(Derivation &d) { return d.neg(asin(d)); }
static Value atan(Derivation &d) {
  return d.div(d.grad(), d.plus(d.square(d.self()), 1));
}
static Value asinh(Derivation &d) {
  return d.mul(d.grad(), d.unary("rsqrt", d.plus(d.square(d.self()), 1)));
}
static Value acosh(Derivation &d) {
  return d.mul(d.grad(), d.unary("rsqrt", d.plus(d.square(d.self()), -1)));
}
static Value atanh(Derivation &d) { return d.div(d.grad(), oneMinusSquare(d)); }

static Value passed(Derivation &d) { return d.grad(); }

static Value maskedFill(Derivation &d) {
  return d.keepWhere(d.inverse(d.in("mask")), d.grad());
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

static Value clamp(Derivation &d) {
  Value gradient = d.grad();
  if (Attribute low = d.attribute("min"))
    gradient = d.keepWhere(d.compare("ge", d.self(), low), gradient);
  if (Attribute high = d.attribute("max"))
    gradient = d.keepWhere(d.compare("le", d.self(), high), gradient);
  return gradient;
}

/// The upper limit wins where the limits are crossed.
static LogicalResult clampTensor(Derivation &d) {
  Value x = d.self(), low = d.in("min"), high = d.in("max");
  d.give("self", [&] {
    Value gradient = d.grad();
    if (low)
      gradient = d.keepWhere(d.compare("ge", x, low), gradient);
    if (high)
      gradient = d.keepWhere(d.compare("le", x, high), gradient);
    return gradient;
  });
  d.give("min", [&] {
    Value chosen = d.compare("lt", x, low);
    if (high)
      chosen = d.both(chosen, d.compare("lt", low, high));
    return d.keepWhere(chosen, d.grad());
  });
  d.give("max", [&] {
    Value chosen = d.compare("gt", x, high);
    if (low)
      chosen = d.binary("logical_or", chosen, d.compare("lt", high, low));
    return d.keepWhere(chosen, d.grad());
  });
  return success();
}

/// The gradient of `in` where it beats `against`; equal ones share it.
static Value ofWinner(Derivation &d, StringRef loses, Value in, Value against) {
  Value shared =
      d.where(d.compare("eq", in, against), d.times(d.grad(), 0.5), d.grad());
  return d.keepWhere(d.inverse(d.compare(loses, in, against)), shared);
}

static LogicalResult extremum(Derivation &d, StringRef loses) {
  Value a = d.self(), b = d.in("other");
  d.give("self", [&] { return ofWinner(d, loses, a, b); });
  d.give("other", [&] { return ofWinner(d, loses, b, a); });
  return success();
}
static LogicalResult maximum(Derivation &d) { return extremum(d, "lt"); }
static LogicalResult minimum(Derivation &d) { return extremum(d, "gt"); }

static LogicalResult where(Derivation &d) {
  Value condition = d.in("condition");
  d.give("self", [&] { return d.keepWhere(condition, d.grad()); });
  d.give("other", [&] { return d.keepWhere(d.inverse(condition), d.grad()); });
  return success();
}

//===----------------------------------------------------------------------===//
// Sums, products, quotients
//===----------------------------------------------------------------------===//

static LogicalResult addOrSub(Derivation &d, double sign) {
  d.give("self", [&] { return d.grad(); });
  d.give("other", [&] { return d.times(d.grad(), sign * d.real("alpha")); });
  return success();
}
static LogicalResult add(Derivation &d) { return addOrSub(d, 1); }
static LogicalResult sub(Derivation &d) { return addOrSub(d, -1); }

static Value rsubScalar(Derivation &d) {
  return d.times(d.grad(), -d.real("alpha"));
}

static LogicalResult mul(Derivation &d) {
  d.give("self", [&] { return d.mul(d.grad(), d.in("other")); });
  d.give("other", [&] { return d.mul(d.grad(), d.self()); });
  return success();
}

static Value mulScalar(Derivation &d) {
  return d.withScalar("mul.Scalar", d.grad(), d.attribute("other"));
}

static LogicalResult div(Derivation &d) {
  Value b = d.in("other");
  d.give("self", [&] { return d.div(d.grad(), b); });
  d.give("other",
         [&] { return d.neg(d.mul(d.grad(), d.div(d.div(d.self(), b), b))); });
  return success();
}

static Value divScalar(Derivation &d) {
  return d.withScalar("div.Scalar", d.grad(), d.attribute("other"));
}

/// A rounded quotient is constant between its steps.
static LogicalResult divMode(Derivation &d) {
  return d.attribute("rounding_mode") ? success() : div(d);
}
static LogicalResult divScalarMode(Derivation &d) {
  return d.attribute("rounding_mode") ? success() : ofSelf<divScalar>(d);
}

/// a - b * (a / b rounded)
static LogicalResult remainderOf(Derivation &d, StringRef rounding) {
  Value b = d.in("other");
  d.give("self", [&] { return d.grad(); });
  d.give("other", [&] {
    Value quotient = d.binary("div.Tensor_mode", d.self(), b,
                              {d.arg("rounding_mode", rounding)});
    return d.neg(d.mul(d.grad(), quotient));
  });
  return success();
}
static LogicalResult fmod(Derivation &d) { return remainderOf(d, "trunc"); }
static LogicalResult remainder(Derivation &d) {
  return remainderOf(d, "floor");
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

static Value powScalar(Derivation &d) {
  double exponent = d.real("exponent");
  if (exponent == 0)
    return nullptr;
  Value power = exponent == 1
                    ? Value()
                    : d.withReal("pow.Tensor_Scalar", d.self(), exponent - 1);
  Value gradient = d.times(d.grad(), exponent);
  return power ? d.mul(gradient, power) : gradient;
}

/// x^e log x; 0 for base 0 and an exponent that is not negative.
static Value ofExponent(Derivation &d, Value logarithm, Value isZero) {
  Value gradient = d.mul(d.grad(), d.mul(d.out(), logarithm));
  Value flat = d.compare("ge", d.in("exponent"), 0);
  if (isZero)
    flat = d.both(isZero, flat);
  return d.keepWhere(d.inverse(flat), gradient);
}

static LogicalResult pow(Derivation &d) {
  Value x = d.self(), exponent = d.in("exponent");
  d.give("self", [&] {
    Value lower =
        d.withScalar("sub.Scalar", exponent, d.number(1, d.element(exponent)));
    Value power = d.binary("pow.Tensor_Tensor", x, lower);
    Value gradient = d.mul(d.grad(), d.mul(power, exponent));
    return d.keepWhere(d.inverse(d.compare("eq", exponent, 0)), gradient);
  });
  d.give("exponent", [&] {
    return ofExponent(d, d.unary("log", x), d.compare("eq", x, 0));
  });
  return success();
}

static LogicalResult powOfNumber(Derivation &d) {
  d.give("exponent", [&] {
    double base = d.real("self");
    if (base == 0)
      return ofExponent(d, d.fullReal({}, std::log(base), d.element(d.out())),
                        nullptr);
    return d.mul(d.grad(), d.times(d.out(), std::log(base)));
  });
  return success();
}

void addElementwiseRules(RuleTable &table) {
  table["aten::abs"] = ofSelf<abs>;
  table["aten::acos"] = ofSelf<acos>;
  table["aten::acosh"] = ofSelf<acosh>;
  table["aten::asin"] = ofSelf<asin>;
  table["aten::asinh"] = ofSelf<asinh>;
  table["aten::atan"] = ofSelf<atan>;
  table["aten::atanh"] = ofSelf<atanh>;
  table["aten::cos"] = ofSelf<cos>;
  table["aten::cosh"] = ofSelf<cosh>;
  table["aten::erf"] = ofSelf<erf>;
  table["aten::exp"] = ofSelf<exp>;
  table["aten::log"] = ofSelf<log>;
  table["aten::neg"] = ofSelf<negated>;
  table["aten::reciprocal"] = ofSelf<reciprocal>;
  table["aten::rsqrt"] = ofSelf<rsqrt>;
  table["aten::sin"] = ofSelf<sin>;
  table["aten::sinh"] = ofSelf<sinh>;
  table["aten::sqrt"] = ofSelf<sqrt>;
  table["aten::tan"] = ofSelf<tan>;
  table["aten::to.dtype"] = ofSelf<passed>; // give() casts back

  table["aten::clamp"] = ofSelf<clamp>;
  table["aten::clamp.Tensor"] = clampTensor;
  table["aten::masked_fill.Scalar"] = ofSelf<maskedFill>;
  table["aten::maximum"] = maximum;
  table["aten::minimum"] = minimum;
  table["aten::where.self"] = where;

  table["aten::add.Scalar"] = ofSelf<passed>;
  table["aten::add.Tensor"] = add;
  table["aten::sub.Scalar"] = ofSelf<passed>;
  table["aten::sub.Tensor"] = sub;
  table["aten::rsub.Scalar"] = ofSelf<rsubScalar>;
  table["aten::mul.Scalar"] = ofSelf<mulScalar>;
  table["aten::mul.Tensor"] = mul;
  table["aten::div.Scalar"] = ofSelf<divScalar>;
  table["aten::div.Scalar_mode"] = divScalarMode;
  table["aten::div.Tensor"] = div;
  table["aten::div.Tensor_mode"] = divMode;
  table["aten::fmod.Scalar"] = ofSelf<passed>;
  table["aten::fmod.Tensor"] = fmod;
  table["aten::remainder.Scalar"] = ofSelf<passed>;
  table["aten::remainder.Tensor"] = remainder;
  table["aten::pow.Scalar"] = powOfNumber;
  table["aten::pow.Tensor_Scalar"] = ofSelf<powScalar>;
  table["aten::pow.Tensor_Tensor"] = pow;

  // Steps, signs, comparisons, logic and bits: constant wherever they are
  // differentiable.
  addNullRules(table, {"bitwise_and.Tensor",
                       "bitwise_left_shift.Tensor",
                       "bitwise_not",
                       "bitwise_or.Tensor",
                       "bitwise_right_shift.Tensor",
                       "bitwise_xor.Tensor",
                       "ceil",
                       "eq.Scalar",
                       "eq.Tensor",
                       "floor",
                       "ge.Scalar",
                       "ge.Tensor",
                       "gt.Scalar",
                       "gt.Tensor",
                       "isinf",
                       "isnan",
                       "le.Scalar",
                       "le.Tensor",
                       "logical_and",
                       "logical_not",
                       "logical_or",
                       "logical_xor",
                       "lt.Scalar",
                       "lt.Tensor",
                       "ne.Scalar",
                       "round",
                       "sign",
                       "view.dtype"});
  table["hethub::unsigned_binary"] = nullptr;
  table["hethub::wrap_index"] = nullptr;
}

} // namespace hethub::differentiate

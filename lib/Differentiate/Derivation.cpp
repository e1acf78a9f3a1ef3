//===- Derivation.cpp - what rules use to differentiate one call ----------===//

#include "Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

Derivation::Derivation(Operation *call, Gradients &gradients,
                       OpBuilder &backward)
    : CallBuilder(call->getLoc(), backward), view(call),
      results(call->getResults()), gradients(gradients), forwardOps(call),
      forwardBuilder(call->getLoc(), forwardOps) {}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

Value Derivation::in(StringRef argument) const {
  auto values = view.argument(argument).values;
  return values.empty() ? Value() : values.front();
}

Values Derivation::list(StringRef argument) const {
  return Values(view.argument(argument).values);
}

Attribute Derivation::attribute(StringRef argument) const {
  return view.argument(argument).attribute;
}

int64_t Derivation::integer(StringRef argument) const {
  return llvm::cast<IntegerAttr>(attribute(argument)).getInt();
}

double Derivation::real(StringRef argument) const {
  Attribute value = attribute(argument);
  if (auto boolean = dyn_cast<BoolAttr>(value))
    return boolean.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return static_cast<double>(integer.getInt());
  return llvm::cast<FloatAttr>(value).getValueAsDouble();
}

bool Derivation::flag(StringRef argument) const {
  return llvm::cast<BoolAttr>(attribute(argument)).getValue();
}

Dims Derivation::ints(StringRef argument) const {
  auto list = dyn_cast_or_null<DenseI64ArrayAttr>(attribute(argument));
  return list ? Dims(list.asArrayRef()) : Dims();
}

int64_t Derivation::axis(StringRef argument, int64_t rank) const {
  int64_t axis = integer(argument);
  return axis < 0 ? axis + rank : axis;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

Value Derivation::grad(unsigned result) const {
  return gradients.of.lookup(results[result]);
}

Value Derivation::gradOrZeros(unsigned result) {
  if (Value known = grad(result))
    return known;
  return fullReal(dims(out(result)), 0, element(out(result)));
}

Value Derivation::sumTo(Value x, ArrayRef<int64_t> wanted) {
  if (dims(x) == wanted)
    return x;
  Dims axes;
  int64_t added = rank(x) - static_cast<int64_t>(wanted.size());
  for (auto [axis, size] : llvm::enumerate(dims(x)))
    if (static_cast<int64_t>(axis) < added ||
        (wanted[axis - added] == 1 && size != 1))
      axes.push_back(axis);
  if (!axes.empty())
    x = reduce("sum.dim_IntList", x, axes, /*keep=*/true);
  return reshape(x, wanted);
}

void Derivation::give(Value input, Value gradient) {
  if (!wants(input) || !gradient)
    return;
  gradient = cast(sumTo(gradient, dims(input)), element(input));
  Value &sum = gradients.of[input];
  sum = sum ? binary("add.Tensor", sum, gradient) : gradient;
}

//===----------------------------------------------------------------------===//
// The forward pass
//===----------------------------------------------------------------------===//

void Derivation::replaceCall(ArrayRef<Value> replacements) {
  for (auto [result, replacement] : llvm::zip_equal(results, replacements)) {
    if (Value gradient = gradients.of.lookup(result))
      gradients.of[replacement] = gradient;
    if (gradients.wanted.contains(result))
      gradients.wanted.insert(replacement);
    result.replaceAllUsesWith(replacement);
    result = replacement;
  }
}

LogicalResult Derivation::refuse(const Twine &reason) {
  refusal = reason.str();
  return failure();
}

} // namespace hethub::differentiate

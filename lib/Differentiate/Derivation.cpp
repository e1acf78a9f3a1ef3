//===- Derivation.cpp - what rules use to differentiate one call ----------===//

#include "Derivation.h"

#include "ReachedValues.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"

using namespace mlir;

namespace hethub::differentiate {

Derivation::Derivation(Operation *call, Gradients &gradients,
                       OpBuilder &backward)
    : CallBuilder(call->getLoc(), backward), view(call), op(call),
      previous(call->getPrevNode()), results(call->getResults()),
      gradients(gradients), forwardOps(call),
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

SmallVector<NamedArg> Derivation::arguments(ArrayRef<StringRef> names) const {
  SmallVector<NamedArg> args;
  for (StringRef name : names)
    args.push_back(same(name));
  return args;
}

int64_t Derivation::axis(StringRef argument, int64_t rank) const {
  int64_t axis = integer(argument);
  return axis < 0 ? axis + rank : axis;
}

StringRef Derivation::deviceKind() const {
  auto program = op->getParentOfType<hh::ProgramOp>();
  auto type = program ? SymbolTable::lookupNearestSymbolFrom<hh::DeviceTypeOp>(
                            program, program.getDeviceAttr())
                      : hh::DeviceTypeOp();
  return type ? type.getKind() : StringRef();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

Value Derivation::grad(unsigned result) const {
  return gradients.of.lookup(results[result]);
}

bool Derivation::hasOtherGradients() const {
  return llvm::any_of(llvm::drop_begin(results), [&](Value result) {
    return gradients.of.lookup(result) != nullptr;
  });
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

Value Derivation::compare(StringRef relation, Value a, Value b) {
  return binary((relation + ".Tensor").str(), a, b, {}, boolean());
}

Value Derivation::compare(StringRef relation, Value a, Attribute number) {
  return withScalar((relation + ".Scalar").str(), a, number, boolean());
}

//===----------------------------------------------------------------------===//
// The forward pass
//===----------------------------------------------------------------------===//

void Derivation::replaceCall(ArrayRef<Value> replacements) {
  replaced = true;
  for (auto [result, replacement] : llvm::zip_equal(results, replacements)) {
    if (gradients.wanted.erase(result))
      gradients.wanted.insert(replacement);
    Value gradient = gradients.of.lookup(result);
    // The call dies: another value may get its results' addresses.
    gradients.of.erase(result);
    result.replaceAllUsesWith(replacement);
    result = replacement;
    // The replacement may be a value that had a gradient of its own.
    give(replacement, gradient);
  }
}

LogicalResult Derivation::decompose(ArrayRef<Value> replacements) {
  SmallVector<Operation *> parts;
  Block::iterator first =
      previous ? std::next(previous->getIterator()) : op->getBlock()->begin();
  for (Operation &part : llvm::make_range(first, op->getIterator())) {
    parts.push_back(&part);
    addReached(&part, gradients.wanted);
  }
  replaceCall(replacements);
  for (Operation *part : llvm::reverse(parts)) {
    auto rule = aten::CallView(part)
                    ? rules().find(aten::CallView(part).schema())
                    : rules().end();
    bool hasGradient = llvm::any_of(
        part->getResults(), [&](Value v) { return gradients.of.count(v); });
    if (!hasGradient)
      continue;
    if (rule == rules().end())
      return refuse("no rule for " + part->getName().getStringRef());
    if (!rule->second)
      continue;
    Derivation nested(part, gradients, builder);
    if (failed(rule->second(nested)))
      return refuse(nested.reason());
    if (nested.isReplaced())
      part->erase();
  }
  return success();
}

LogicalResult Derivation::refuse(const Twine &reason) {
  refusal = reason.str();
  return failure();
}

} // namespace hethub::differentiate

//===- Derivation.h - what rules use to differentiate one call -*- C++ -*-===//
//
// A rule makes the gradients of the tensor arguments of one call from those of
// its results. Which backward operator computes them and which values it needs
// is what LibTorch's own table says (derivatives.yaml of the torch package).
//
//   LogicalResult mul(Derivation &d) {             // aten.mul.Tensor
//     d.give("self", [&] { return d.binary("mul.Tensor", d.grad(),
//     d.in("other")); }); d.give("other", [&] { return d.binary("mul.Tensor",
//     d.grad(), d.in("self")); }); return success();
//   }
//
// A rule whose backward operator needs values that the call does not give (mean
// and rstd of a layer norm) first replaces the call by the form that does, with
// the builder `forward` and replaceCall(). One whose call is but a short word
// for other calls writes these with `forward` and leaves them to their own
// rules: decompose().
//===----------------------------------------------------------------------===//

#ifndef HETHUB_LIB_DIFFERENTIATE_DERIVATION_H
#define HETHUB_LIB_DIFFERENTIATE_DERIVATION_H

#include "hethub/Dialect/ATen/Utils/CallBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace hethub::differentiate {

/// Gradients of one program while they are made.
struct Gradients {
  llvm::DenseSet<Value> wanted;    ///< values that need one
  llvm::DenseMap<Value, Value> of; ///< what has been summed so far
};

/// The inherited helpers make calls of the backward pass.
class Derivation : public CallBuilder {
public:
  Derivation(mlir::Operation *call, Gradients &gradients,
             mlir::OpBuilder &backward);

  //===--- The call
  //---------------------------------------------------------===//

  /// A tensor argument by its name in the schema; null where it is absent.
  Value in(llvm::StringRef argument) const;
  /// The tensors of a list argument; absent ones are null.
  Values list(llvm::StringRef argument) const;
  Value out(unsigned result = 0) const { return results[result]; }
  /// Other arguments; the schema's default where the call leaves them out. null
  /// for None.
  Attribute attribute(llvm::StringRef argument) const;
  int64_t integer(llvm::StringRef argument) const;
  double real(llvm::StringRef argument) const; ///< float, or a Scalar
  bool flag(llvm::StringRef argument) const;
  Dims ints(llvm::StringRef argument) const;
  /// An axis argument counted from the front, for tensors of that rank.
  int64_t axis(llvm::StringRef argument, int64_t rank) const;
  /// An argument handed on to another call under the same name.
  NamedArg same(llvm::StringRef argument) const {
    return {argument, attribute(argument)};
  }
  llvm::SmallVector<NamedArg>
  arguments(llvm::ArrayRef<llvm::StringRef> names) const;
  /// Kind of the device that runs the program ("cpu", "cuda"); empty where the
  /// module has no cluster.
  llvm::StringRef deviceKind() const;
  using CallBuilder::ints;
  using CallBuilder::real;

  //===--- Gradients
  //--------------------------------------------------------===//

  /// The gradient of a result; null where nothing of the loss depends on it.
  Value grad(unsigned result = 0) const;
  /// Whether something depends on results other than the first: operators give
  /// them for their own backward pass, and have no gradient for them.
  bool hasOtherGradients() const;

  bool wants(Value input) const {
    return input && gradients.wanted.contains(input);
  }
  bool wants(llvm::StringRef argument) const { return wants(in(argument)); }
  /// Adds to the gradient of an input. It may have the shape to which the input
  /// was broadcast, and another float type.
  void give(Value input, Value gradient);
  /// The same of a named argument, made only where it is wanted.
  void give(llvm::StringRef argument, llvm::function_ref<Value()> gradient) {
    if (wants(argument))
      give(in(argument), gradient());
  }
  /// Sums over the axes in which a tensor of shape `dims` was broadcast.
  Value sumTo(Value x, llvm::ArrayRef<int64_t> dims);

  //===--- Formulas
  //---------------------------------------------------------===//

  Value self() const { return in("self"); }
  Value add(Value a, Value b) { return binary("add.Tensor", a, b); }
  Value sub(Value a, Value b) { return binary("sub.Tensor", a, b); }
  Value mul(Value a, Value b) { return binary("mul.Tensor", a, b); }
  Value div(Value a, Value b) { return binary("div.Tensor", a, b); }
  Value neg(Value x) { return unary("neg", x); }
  Value square(Value x) { return mul(x, x); }
  Value plus(Value x, double number) {
    return withReal("add.Scalar", x, number);
  }
  Value times(Value x, double number) {
    return number == 1 ? x : withReal("mul.Scalar", x, number);
  }
  Value zeros(llvm::ArrayRef<int64_t> dims, Type element) {
    return fullReal(dims, 0, element);
  }
  /// gt, ge, lt, le, eq: which elements stand in that relation to another
  /// tensor or a number.
  Value compare(llvm::StringRef relation, Value a, Value b);
  Value compare(llvm::StringRef relation, Value a, Attribute number);
  Value compare(llvm::StringRef relation, Value a, double value) {
    return compare(relation, a, number(value, element(a)));
  }
  Value both(Value a, Value b) { return binary("logical_and", a, b); }
  Value inverse(Value condition) { return unary("logical_not", condition); }
  /// x where the condition holds, elsewhere 0.
  Value keepWhere(Value condition, Value x) {
    return where(condition, x, zeros({}, element(x)));
  }
  Value contiguous(Value x) { return unary("contiguous", x); }

  /// The argument `output_mask` of backward operators, which says what they
  /// compute. Gradients of data and of parameters are computed by calls of
  /// their own, so that they can stand in different programs.
  NamedArg mask(llvm::ArrayRef<bool> wanted) {
    return {"output_mask", builder.getDenseBoolArrayAttr(wanted)};
  }
  /// The type of a result that a mask leaves out: an undefined tensor.
  RankedTensorType absent(Type element) { return tensor({0}, element); }

  //===--- The forward pass
  //-------------------------------------------------===//

  /// Makes calls in front of the call.
  CallBuilder &forward() { return forwardBuilder; }
  /// The call's results become `replacements`, made by forward(); out() and
  /// grad() speak of these from now on. The call is erased behind the rule.
  void replaceCall(llvm::ArrayRef<Value> replacements);
  /// replaceCall() by values that forward() made of other calls; those are
  /// differentiated in its place.
  llvm::LogicalResult decompose(llvm::ArrayRef<Value> replacements);
  bool isReplaced() const { return replaced; }

  /// Ends the rule: why this form has no gradient.
  llvm::LogicalResult refuse(const llvm::Twine &reason);
  llvm::StringRef reason() const { return refusal; }

private:
  aten::CallView view;
  mlir::Operation *const op;       ///< until it is erased
  mlir::Operation *const previous; ///< what stood in front of the call
  Values results;
  bool replaced = false;
  Gradients &gradients;
  mlir::OpBuilder forwardOps;
  CallBuilder forwardBuilder;
  std::string refusal;
};

using Rule = llvm::LogicalResult (*)(Derivation &);

/// The rule of a call with one gradient, that of its argument `self`.
template <Value (*gradient)(Derivation &)>
llvm::LogicalResult ofSelf(Derivation &d) {
  if (d.wants("self"))
    d.give(d.self(), gradient(d));
  return llvm::success();
}
/// Rules by schema name: "aten::add.Tensor", "hethub::resize". A null rule
/// stands for an operator whose results never have a gradient (comparisons,
/// argmax).
using RuleTable = llvm::StringMap<Rule>;

/// All rules.
const RuleTable &rules();

/// Null rules of operators of aten.
void addNullRules(RuleTable &table, llvm::ArrayRef<llvm::StringRef> names);

// One a category; each file registers its own.
void addElementwiseRules(RuleTable &table);
void addActivationRules(RuleTable &table);
void addReductionRules(RuleTable &table);
void addViewRules(RuleTable &table);
void addIndexingRules(RuleTable &table);
void addLinearRules(RuleTable &table);
void addConvolutionRules(RuleTable &table);
void addPoolingRules(RuleTable &table);
void addNormalizationRules(RuleTable &table);
void addAttentionRules(RuleTable &table);
void addLossRules(RuleTable &table);
void addRecurrentRules(RuleTable &table);
void addSignalRules(RuleTable &table);

} // namespace hethub::differentiate

#endif // HETHUB_LIB_DIFFERENTIATE_DERIVATION_H

//===- CallBuilder.h - makes calls of LibTorch operators -------*- C++ -*-===//
//
// What lowering and differentiation use to make aten operations: helpers infer
// result types from static shapes.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ATEN_UTILS_CALLBUILDER_H
#define HETHUB_DIALECT_ATEN_UTILS_CALLBUILDER_H

#include "hethub/Dialect/ATen/IR/Call.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace hethub {

using mlir::Attribute;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;
using Values = llvm::SmallVector<Value>;

/// A tensor argument of a call: a tensor, none, or a list.
struct TensorArg {
  TensorArg(Value value) : values({value}), isList(false) {}
  TensorArg(const Values &list) : values(list), isList(true) {}
  Values values;
  bool isList;
};

/// A named argument of a call that is not a tensor. A null attribute leaves the
/// argument out.
struct NamedArg {
  NamedArg(llvm::StringRef name, Attribute value) : name(name), value(value) {}
  llvm::StringRef name;
  Attribute value;
};

class CallBuilder {
public:
  CallBuilder(mlir::Location loc, mlir::OpBuilder &builder)
      : loc(loc), builder(builder) {}

  const mlir::Location loc;
  mlir::OpBuilder &builder;

  //===--- Constants
  //--------------------------------------------------------===//

  /// The elements of a constant integer or boolean tensor; nothing where the
  /// value is not a constant.
  std::optional<Dims> ints(Value value) const;
  std::optional<llvm::SmallVector<double>> reals(Value value) const;
  /// A constant of one element as a Scalar argument (i64, f64 or boolean), or
  /// null.
  Attribute scalar(Value value) const;

  //===--- Arguments
  //--------------------------------------------------------===//

  NamedArg arg(llvm::StringRef name, int64_t value);
  NamedArg arg(llvm::StringRef name, int value) {
    return arg(name, static_cast<int64_t>(value));
  }
  NamedArg arg(llvm::StringRef name, double value);
  NamedArg arg(llvm::StringRef name, bool value);
  NamedArg arg(llvm::StringRef name, const char *value);
  NamedArg arg(llvm::StringRef name, llvm::StringRef value);
  NamedArg arg(llvm::StringRef name, llvm::ArrayRef<int64_t> value);
  NamedArg arg(llvm::StringRef name, const Dims &value) {
    return arg(name, llvm::ArrayRef<int64_t>(value));
  }
  NamedArg arg(llvm::StringRef name, llvm::ArrayRef<double> value);
  NamedArg arg(llvm::StringRef name, Type value);
  NamedArg arg(llvm::StringRef name, Attribute value) { return {name, value}; }

  //===--- Calls
  //------------------------------------------------------------===//

  /// Calls an operator ("add.Tensor", "hethub.resize") with its tensor
  /// arguments in order and others by name; those equal to the schema's default
  /// are dropped.
  Value call(llvm::StringRef name, llvm::ArrayRef<TensorArg> tensors,
             llvm::ArrayRef<NamedArg> args, Type result);
  Values calls(llvm::StringRef name, llvm::ArrayRef<TensorArg> tensors,
               llvm::ArrayRef<NamedArg> args, llvm::ArrayRef<Type> results);

  /// A constant tensor.
  Value constant(mlir::DenseElementsAttr value);
  Value constantInts(llvm::ArrayRef<int64_t> values,
                     llvm::ArrayRef<int64_t> dims);
  Value constantInts(llvm::ArrayRef<int64_t> values) {
    return constantInts(values, {static_cast<int64_t>(values.size())});
  }
  /// A tensor of float values rounded to `element`.
  Value constantReals(llvm::ArrayRef<double> values,
                      llvm::ArrayRef<int64_t> dims, Type element);
  /// A tensor filled with one number.
  Value full(llvm::ArrayRef<int64_t> dims, Attribute scalar, Type element);
  Value fullReal(llvm::ArrayRef<int64_t> dims, double value, Type element);

  /// An operator whose result has the operand's shape; `element` null keeps the
  /// element type.
  Value unary(llvm::StringRef name, Value x, llvm::ArrayRef<NamedArg> args = {},
              Type element = nullptr);
  /// An operator on broadcast tensors.
  Value binary(llvm::StringRef name, Value a, Value b,
               llvm::ArrayRef<NamedArg> args = {}, Type element = nullptr);
  /// An operator on a tensor and a number, given as schema argument `other`.
  Value withScalar(llvm::StringRef name, Value x, Attribute scalar,
                   Type element = nullptr);
  Value withReal(llvm::StringRef name, Value x, double scalar,
                 Type element = nullptr);
  Value withInt(llvm::StringRef name, Value x, int64_t scalar,
                Type element = nullptr);
  Value where(Value condition, Value a, Value b);

  Value cast(Value x, Type element);
  /// The same bits under another element type of the same width.
  Value bitcast(Value x, Type element);
  Value reshape(Value x, llvm::ArrayRef<int64_t> dims);
  Value permute(Value x, llvm::ArrayRef<int64_t> order);
  Value transpose(Value x, int64_t a, int64_t b);
  Value expand(Value x, llvm::ArrayRef<int64_t> dims);
  Value unsqueeze(Value x, int64_t axis);
  Value squeeze(Value x, llvm::ArrayRef<int64_t> axes);
  /// Elements start, start + step, ... below end of an axis; 0 <= start <= end
  /// <= size, step > 0.
  Value slice(Value x, int64_t axis, int64_t start, int64_t end,
              int64_t step = 1);
  Value select(Value x, int64_t axis, int64_t index);
  Value flip(Value x, llvm::ArrayRef<int64_t> axes);
  Value cat(const Values &values, int64_t axis);
  Value indexSelect(Value x, int64_t axis, Value index);
  /// Adds `before[i]`, `after[i]` elements of `value` on axis i; negative ones
  /// crop.
  Value pad(Value x, llvm::ArrayRef<int64_t> before,
            llvm::ArrayRef<int64_t> after, Attribute value);
  Value pad(Value x, llvm::ArrayRef<int64_t> before,
            llvm::ArrayRef<int64_t> after, double value);
  /// sum.dim_IntList, mean.dim, amax, amin: reduces axes and keeps them as 1
  /// where `keep`.
  Value reduce(llvm::StringRef name, Value x, llvm::ArrayRef<int64_t> axes,
               bool keep, llvm::ArrayRef<NamedArg> args = {});
  /// Indices in [-size, size) with negative ones counted from the end;
  /// constants are wrapped here.
  Value wrapIndex(Value index, int64_t size);
  Value matmul(Value a, Value b);

  //===--- Types
  //------------------------------------------------------------===//

  static RankedTensorType typeOf(Value x) {
    return llvm::cast<RankedTensorType>(x.getType());
  }
  /// No dims and rank -1: a tensor of unknown rank, or no tensor.
  static llvm::ArrayRef<int64_t> dims(Value x) {
    auto type = llvm::dyn_cast<RankedTensorType>(x.getType());
    return type ? type.getShape() : llvm::ArrayRef<int64_t>();
  }
  static int64_t rank(Value x) {
    auto type = llvm::dyn_cast<RankedTensorType>(x.getType());
    return type ? type.getRank() : -1;
  }
  static Type element(Value x) {
    return llvm::cast<mlir::TensorType>(x.getType()).getElementType();
  }
  static RankedTensorType tensor(llvm::ArrayRef<int64_t> dims, Type element) {
    return RankedTensorType::get(dims, element);
  }
  Attribute real(double value) { return builder.getF64FloatAttr(value); }
  Attribute integer(int64_t value) { return builder.getI64IntegerAttr(value); }
  /// `value` as a Scalar of the element type's kind.
  Attribute number(double value, Type element);
  Type i64() { return builder.getI64Type(); }
  Type f32() { return builder.getF32Type(); }
  Type boolean() { return builder.getI1Type(); }

private:
  mlir::Operation *create(llvm::StringRef name,
                          llvm::ArrayRef<TensorArg> tensors,
                          llvm::ArrayRef<NamedArg> args,
                          llvm::ArrayRef<Type> results);
};

/// Shape of two broadcast shapes, which must be compatible.
Dims broadcastDims(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
int64_t product(llvm::ArrayRef<int64_t> dims);
/// 0, 1, ..., n - 1.
Dims iota(int64_t n);
/// LibTorch has no arithmetic for unsigned integers of 16 bits and more.
bool isWideUnsigned(Type element);
bool isFloat(Type element);
bool isUnsigned(Type element, unsigned bits);
/// Floats of 4 and 6 bits, which LibTorch lacks: values hold their codes, one a
/// byte (hethub.encode_float). So do integers of less than a byte, as numbers.
bool isCoded(Type element);
/// An element type by its number in onnx.TensorProto.DataType; null for those
/// that MLIR or LibTorch lacks.
Type elementTypeOf(int64_t dataType, mlir::MLIRContext *context);

} // namespace hethub

#endif // HETHUB_DIALECT_ATEN_UTILS_CALLBUILDER_H

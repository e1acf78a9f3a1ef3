//===- CallBuilder.cpp - makes calls of LibTorch operators ----------------===//

#include "hethub/Dialect/ATen/Utils/CallBuilder.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace hethub {

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static DenseElementsAttr denseConstant(Value value) {
  auto constant = value ? value.getDefiningOp<hh::ConstantOp>() : nullptr;
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                  : DenseElementsAttr();
}

static int64_t extend(const APInt &value, Type element) {
  return element.isUnsignedInteger() || element.isInteger(1)
             ? static_cast<int64_t>(value.getZExtValue())
             : value.getSExtValue();
}

std::optional<Dims> CallBuilder::ints(Value value) const {
  DenseElementsAttr dense = denseConstant(value);
  if (!dense || !dense.getElementType().isIntOrIndex())
    return std::nullopt;
  Dims result;
  for (const APInt &element : dense.getValues<APInt>())
    result.push_back(extend(element, dense.getElementType()));
  return result;
}

std::optional<SmallVector<double>> CallBuilder::reals(Value value) const {
  DenseElementsAttr dense = denseConstant(value);
  SmallVector<double> result;
  if (auto integers = ints(value)) {
    result.assign(integers->begin(), integers->end());
    return result;
  }
  if (!dense || !isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  for (APFloat element : dense.getValues<APFloat>()) {
    bool lossy;
    element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &lossy);
    result.push_back(element.convertToDouble());
  }
  return result;
}

Attribute CallBuilder::scalar(Value value) const {
  DenseElementsAttr dense = denseConstant(value);
  if (!dense || dense.getNumElements() != 1)
    return nullptr;
  Type element = dense.getElementType();
  if (element.isInteger(1))
    return builder.getBoolAttr(dense.getSplatValue<bool>());
  // Values of 2^63 and more do not fit a Scalar.
  if (isUnsigned(element, 64) && dense.getSplatValue<APInt>().isNegative())
    return nullptr;
  if (auto integers = ints(value))
    return builder.getI64IntegerAttr(integers->front());
  if (auto numbers = reals(value))
    return builder.getF64FloatAttr(numbers->front());
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

NamedArg CallBuilder::arg(StringRef name, int64_t value) {
  return {name, builder.getI64IntegerAttr(value)};
}
NamedArg CallBuilder::arg(StringRef name, double value) {
  return {name, builder.getF64FloatAttr(value)};
}
NamedArg CallBuilder::arg(StringRef name, bool value) {
  return {name, builder.getBoolAttr(value)};
}
NamedArg CallBuilder::arg(StringRef name, const char *value) {
  return {name, builder.getStringAttr(value)};
}
NamedArg CallBuilder::arg(StringRef name, StringRef value) {
  return {name, builder.getStringAttr(value)};
}
NamedArg CallBuilder::arg(StringRef name, ArrayRef<int64_t> value) {
  return {name, builder.getDenseI64ArrayAttr(value)};
}
NamedArg CallBuilder::arg(StringRef name, ArrayRef<double> value) {
  return {name, builder.getDenseF64ArrayAttr(value)};
}
NamedArg CallBuilder::arg(StringRef name, Type value) {
  return {name, TypeAttr::get(value)};
}

Attribute CallBuilder::number(double value, Type element) {
  if (element.isInteger(1))
    return builder.getBoolAttr(value != 0);
  if (element.isIntOrIndex())
    return integer(static_cast<int64_t>(value));
  return real(value);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Operation *CallBuilder::create(StringRef name, ArrayRef<TensorArg> tensors,
                               ArrayRef<NamedArg> args,
                               ArrayRef<Type> results) {
  MLIRContext *context = builder.getContext();
  OperationState state(loc, ("aten." + name).str());
  const aten::CallLayout *layout =
      aten::lookupLayout(state.name.getStringRef(), context);
  if (!layout)
    llvm::report_fatal_error("operators.txt lacks " + name);
  SmallVector<int32_t> present;
  for (const aten::ArgumentLayout &argument : layout->args()) {
    bool list = argument.kind == aten::Kind::TensorList;
    if (!list && argument.kind != aten::Kind::Tensor)
      continue;
    TensorArg given = tensors.empty() ? TensorArg(Value()) : tensors.front();
    tensors = tensors.drop_front(tensors.empty() ? 0 : 1);
    if (list)
      present.push_back(given.values.size());
    for (Value value : given.values) {
      if (list ? argument.elementOptional : argument.optional)
        present.push_back(bool(value));
      if (value)
        state.operands.push_back(value);
    }
  }
  if (!present.empty())
    state.addAttribute(aten::presentAttrName,
                       builder.getDenseI32ArrayAttr(present));
  for (const NamedArg &arg : args) {
    const auto *argument = llvm::find_if(
        layout->args(), [&](const auto &a) { return arg.name == a.name; });
    if (argument == layout->args().end())
      llvm::report_fatal_error(name + " has no argument " + arg.name);
    if (arg.value && arg.value != aten::defaultValue(*argument, context))
      state.addAttribute(arg.name, arg.value);
  }
  state.addTypes(results);
  return builder.create(state);
}

Value CallBuilder::call(StringRef name, ArrayRef<TensorArg> tensors,
                        ArrayRef<NamedArg> args, Type result) {
  return create(name, tensors, args, result)->getResult(0);
}

Values CallBuilder::calls(StringRef name, ArrayRef<TensorArg> tensors,
                          ArrayRef<NamedArg> args, ArrayRef<Type> results) {
  return Values(create(name, tensors, args, results)->getResults());
}

Value CallBuilder::constant(DenseElementsAttr value) {
  return hh::ConstantOp::create(builder, loc, value.getType(), value);
}

Value CallBuilder::constantInts(ArrayRef<int64_t> values,
                                ArrayRef<int64_t> dims) {
  return constant(DenseElementsAttr::get(tensor(dims, i64()), values));
}

Value CallBuilder::constantReals(ArrayRef<double> values,
                                 ArrayRef<int64_t> dims, Type element) {
  SmallVector<Attribute> elements;
  for (double value : values)
    elements.push_back(builder.getFloatAttr(element, value));
  return constant(DenseElementsAttr::get(tensor(dims, element), elements));
}

Value CallBuilder::full(ArrayRef<int64_t> dims, Attribute scalar,
                        Type element) {
  return call(
      "full", {},
      {arg("size", dims), arg("fill_value", scalar), arg("dtype", element)},
      tensor(dims, element));
}

Value CallBuilder::fullReal(ArrayRef<int64_t> dims, double value,
                            Type element) {
  return full(dims, number(value, element), element);
}

Value CallBuilder::unary(StringRef name, Value x, ArrayRef<NamedArg> args,
                         Type element) {
  auto type = llvm::cast<TensorType>(x.getType());
  return call(name, {x}, args,
              type.clone(element ? element : type.getElementType()));
}

/// The type of broadcast tensors; of unknown rank where one of theirs is.
static Type broadcastType(ArrayRef<Value> values, Type element) {
  Dims result;
  for (Value value : values) {
    if (CallBuilder::rank(value) < 0)
      return UnrankedTensorType::get(element);
    result = broadcastDims(result, CallBuilder::dims(value));
  }
  return CallBuilder::tensor(result, element);
}

Value CallBuilder::binary(StringRef name, Value a, Value b,
                          ArrayRef<NamedArg> args, Type element) {
  return call(name, {a, b}, args,
              broadcastType({a, b}, element ? element : this->element(a)));
}

Value CallBuilder::withScalar(StringRef name, Value x, Attribute scalar,
                              Type element) {
  StringRef argument = name == "pow.Tensor_Scalar" ? "exponent"
                       : name == "pow.Scalar"      ? "self"
                                                   : "other";
  return unary(name, x, {arg(argument, scalar)}, element);
}

Value CallBuilder::withReal(StringRef name, Value x, double scalar,
                            Type element) {
  return withScalar(name, x, real(scalar), element);
}

Value CallBuilder::withInt(StringRef name, Value x, int64_t scalar,
                           Type element) {
  return withScalar(name, x, integer(scalar), element);
}

Value CallBuilder::where(Value condition, Value a, Value b) {
  return call("where.self", {condition, a, b}, {},
              broadcastType({condition, a, b}, element(a)));
}

Value CallBuilder::cast(Value x, Type element) {
  if (this->element(x) == element)
    return x;
  return unary("to.dtype", x, {arg("dtype", element)}, element);
}

Value CallBuilder::bitcast(Value x, Type element) {
  if (this->element(x) == element)
    return x;
  return unary("view.dtype", x, {arg("dtype", element)}, element);
}

Value CallBuilder::reshape(Value x, ArrayRef<int64_t> dims) {
  if (this->dims(x) == dims)
    return x;
  return call("reshape", {x}, {arg("shape", dims)}, tensor(dims, element(x)));
}

Value CallBuilder::permute(Value x, ArrayRef<int64_t> order) {
  if (llvm::equal(order, iota(order.size())))
    return x;
  Dims result;
  for (int64_t axis : order)
    result.push_back(dims(x)[axis]);
  return call("permute", {x}, {arg("dims", order)}, tensor(result, element(x)));
}

Value CallBuilder::transpose(Value x, int64_t a, int64_t b) {
  Dims result(dims(x));
  std::swap(result[a], result[b]);
  return call("transpose.int", {x}, {arg("dim0", a), arg("dim1", b)},
              tensor(result, element(x)));
}

Value CallBuilder::expand(Value x, ArrayRef<int64_t> dims) {
  if (this->dims(x) == dims)
    return x;
  return call("expand", {x}, {arg("size", dims)}, tensor(dims, element(x)));
}

Value CallBuilder::unsqueeze(Value x, int64_t axis) {
  Dims result(dims(x));
  result.insert(result.begin() + axis, 1);
  return call("unsqueeze", {x}, {arg("dim", axis)}, tensor(result, element(x)));
}

Value CallBuilder::squeeze(Value x, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return x;
  Dims result;
  for (auto [axis, size] : llvm::enumerate(dims(x)))
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      result.push_back(size);
  return call("squeeze.dims", {x}, {arg("dim", axes)},
              tensor(result, element(x)));
}

Value CallBuilder::slice(Value x, int64_t axis, int64_t start, int64_t end,
                         int64_t step) {
  if (start == 0 && end == dims(x)[axis] && step == 1)
    return x;
  Dims result(dims(x));
  result[axis] = (end - start + step - 1) / step;
  return call("slice.Tensor", {x},
              {arg("dim", axis), arg("start", start), arg("end", end),
               arg("step", step)},
              tensor(result, element(x)));
}

Value CallBuilder::select(Value x, int64_t axis, int64_t index) {
  Dims result(dims(x));
  result.erase(result.begin() + axis);
  return call("select.int", {x}, {arg("dim", axis), arg("index", index)},
              tensor(result, element(x)));
}

Value CallBuilder::flip(Value x, ArrayRef<int64_t> axes) {
  return axes.empty() ? x : unary("flip", x, {arg("dims", axes)});
}

static int64_t addSizes(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b)
             ? ShapedType::kDynamic
             : a + b;
}

Value CallBuilder::cat(const Values &values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  Dims result(dims(values.front()));
  for (Value value : llvm::drop_begin(values))
    result[axis] = addSizes(result[axis], dims(value)[axis]);
  return call("cat", {values}, {arg("dim", axis)},
              tensor(result, element(values.front())));
}

Value CallBuilder::indexSelect(Value x, int64_t axis, Value index) {
  Dims result(dims(x));
  result[axis] = dims(index).front();
  return call("index_select", {x, index}, {arg("dim", axis)},
              tensor(result, element(x)));
}

Value CallBuilder::pad(Value x, ArrayRef<int64_t> before,
                       ArrayRef<int64_t> after, Attribute value) {
  Dims pads, result(dims(x));
  // LibTorch lists pairs from the last axis on.
  for (int64_t axis = rank(x) - 1; axis >= 0; --axis) {
    pads.append({before[axis], after[axis]});
    result[axis] = addSizes(result[axis], before[axis] + after[axis]);
  }
  while (!pads.empty() && pads.back() == 0 && pads[pads.size() - 2] == 0)
    pads.pop_back_n(2);
  if (pads.empty())
    return x;
  return call("constant_pad_nd", {x}, {arg("pad", pads), arg("value", value)},
              tensor(result, element(x)));
}

Value CallBuilder::pad(Value x, ArrayRef<int64_t> before,
                       ArrayRef<int64_t> after, double value) {
  return pad(x, before, after, number(value, element(x)));
}

Value CallBuilder::reduce(StringRef name, Value x, ArrayRef<int64_t> axes,
                          bool keep, ArrayRef<NamedArg> args) {
  Dims result;
  for (auto [axis, size] : llvm::enumerate(dims(x))) {
    bool reduced = llvm::is_contained(axes, static_cast<int64_t>(axis));
    if (!reduced || keep)
      result.push_back(reduced ? 1 : size);
  }
  SmallVector<NamedArg> all{arg("dim", axes), arg("keepdim", keep)};
  all.append(args.begin(), args.end());
  return call(name, {x}, all, tensor(result, element(x)));
}

Value CallBuilder::wrapIndex(Value index, int64_t size) {
  if (auto constants = ints(index)) {
    if (llvm::all_of(*constants, [&](int64_t i) { return i >= 0 && i < size; }))
      return cast(index, i64());
    for (int64_t &i : *constants)
      if (i < 0)
        i += size;
    return constantInts(*constants, dims(index));
  }
  return call("hethub.wrap_index", {index}, {arg("size", size)},
              tensor(dims(index), i64()));
}

Value CallBuilder::matmul(Value a, Value b) {
  Dims result;
  if (rank(a) > 1 && rank(b) > 1)
    result = broadcastDims(dims(a).drop_back(2), dims(b).drop_back(2));
  else if (rank(a) > 1)
    result.assign(dims(a).drop_back(2).begin(), dims(a).drop_back(2).end());
  else if (rank(b) > 1)
    result.assign(dims(b).drop_back(2).begin(), dims(b).drop_back(2).end());
  if (rank(a) > 1)
    result.push_back(dims(a)[rank(a) - 2]);
  if (rank(b) > 1)
    result.push_back(dims(b).back());
  return call("matmul", {a, b}, {}, tensor(result, element(a)));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Dims broadcastDims(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Dims result(a);
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i)
    // A size that only a run knows may be 1.
    if (result[offset + i] == 1 ||
        (ShapedType::isDynamic(result[offset + i]) && b[i] != 1))
      result[offset + i] = b[i];
  return result;
}

int64_t product(ArrayRef<int64_t> dims) {
  int64_t result = 1;
  for (int64_t dim : dims)
    result *= dim;
  return result;
}

Dims iota(int64_t n) {
  Dims result(n);
  for (int64_t i = 0; i < n; ++i)
    result[i] = i;
  return result;
}

bool isUnsigned(Type element, unsigned bits) {
  return element.isUnsignedInteger(bits);
}

bool isWideUnsigned(Type element) {
  return element.isUnsignedInteger() && element.getIntOrFloatBitWidth() > 8;
}

bool isCoded(Type element) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(element);
}

bool isFloat(Type element) { return isa<FloatType>(element); }

Type elementTypeOf(int64_t dataType, MLIRContext *context) {
  Builder b(context);
  auto integer = [&](unsigned bits, bool isSigned) -> Type {
    return isSigned ? IntegerType::get(context, bits)
                    : IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (dataType) {
  case 1:
    return b.getF32Type();
  case 2:
    return integer(8, false);
  case 3:
    return integer(8, true);
  case 4:
    return integer(16, false);
  case 5:
    return integer(16, true);
  case 6:
    return integer(32, true);
  case 7:
    return integer(64, true);
  case 9:
    return b.getI1Type();
  case 10:
    return b.getF16Type();
  case 11:
    return b.getF64Type();
  case 12:
    return integer(32, false);
  case 13:
    return integer(64, false);
  case 14:
    return ComplexType::get(b.getF32Type());
  case 15:
    return ComplexType::get(b.getF64Type());
  case 16:
    return b.getBF16Type();
  case 17:
    return Float8E4M3FNType::get(context);
  case 18:
    return Float8E4M3FNUZType::get(context);
  case 19:
    return Float8E5M2Type::get(context);
  case 20:
    return Float8E5M2FNUZType::get(context);
  case 21:
    return integer(4, false);
  case 22:
    return integer(4, true);
  case 23:
    return Float4E2M1FNType::get(context);
  case 24:
    return Float8E8M0FNUType::get(context);
  case 25:
    return integer(2, false);
  case 26:
    return integer(2, true);
  case 27:
    return Float6E2M3FNType::get(context);
  case 28:
    return Float6E3M2FNType::get(context);
  default:
    return nullptr;
  }
}

} // namespace hethub

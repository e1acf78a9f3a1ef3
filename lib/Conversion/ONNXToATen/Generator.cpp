//===- Generator.cpp - constants and tensors made from numbers ------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// The value of any attribute form of Constant as a tensor.
DenseElementsAttr constantOf(Lowering &l) {
  RankedTensorType type = l.outType();
  if (auto value =
          dyn_cast_or_null<DenseElementsAttr>(l.node.attribute("value")))
    return value;
  if (l.node.attribute("value_int"))
    return DenseElementsAttr::get(type, l.node.integer("value_int", 0));
  if (l.node.attribute("value_ints"))
    return DenseElementsAttr::get(type,
                                  ArrayRef(l.node.integers("value_ints")));
  SmallVector<float> reals;
  if (l.node.attribute("value_float"))
    reals.push_back(l.node.real("value_float", 0));
  else if (l.node.attribute("value_floats"))
    for (double real : l.node.reals("value_floats"))
      reals.push_back(real);
  else
    return nullptr;
  return DenseElementsAttr::get(type, ArrayRef(reals));
}

LogicalResult lowerConstant(Lowering &l) {
  DenseElementsAttr value = constantOf(l);
  if (!value)
    return l.refuse("only dense tensors of numbers can be constants");
  return l.done(l.constant(value));
}

LogicalResult lowerConstantOfShape(Lowering &l) {
  RankedTensorType type = l.outType();
  auto value = dyn_cast_or_null<DenseElementsAttr>(l.node.attribute("value"));
  if (!value)
    return l.done(l.fullReal(type.getShape(), 0, type.getElementType()));
  Value one = l.constant(value);
  if (Attribute scalar = l.scalar(one);
      scalar && !isWideUnsigned(type.getElementType()))
    return l.done(l.full(type.getShape(), scalar, type.getElementType()));
  return l.done(l.expand(l.reshape(one, {}), type.getShape()));
}

/// start + i * delta; the count is the size of the output.
LogicalResult lowerRange(Lowering &l) {
  RankedTensorType type = l.outType();
  int64_t count = type.getShape().front();
  Attribute start = l.scalar(l.in(0)), delta = l.scalar(l.in(2));
  Type element = type.getElementType();
  if (start && delta && isa<IntegerAttr>(start)) {
    int64_t from = cast<IntegerAttr>(start).getInt();
    int64_t step = cast<IntegerAttr>(delta).getInt();
    return l.done(
        l.call("arange.start_step", {},
               {l.arg("start", from), l.arg("end", from + count * step),
                l.arg("step", step), l.arg("dtype", element)},
               type));
  }
  // Small floats are computed in 32 bits, as stash_type asks.
  Type computed = isFloat(element) && element.getIntOrFloatBitWidth() < 32
                      ? l.f32()
                      : element;
  Value positions =
      l.cast(l.call("arange.start_step", {},
                    {l.arg("start", l.integer(0)),
                     l.arg("end", l.integer(count)), l.arg("dtype", l.i64())},
                    Lowering::tensor({count}, l.i64())),
             computed);
  auto scalar = [&](unsigned i) {
    return l.cast(l.reshape(l.in(i), {}), computed);
  };
  Value steps = l.binary("mul.Tensor", positions, scalar(2));
  return l.done(l.cast(l.binary("add.Tensor", steps, scalar(0)), element));
}

/// values[1] where the new axis hits the index, values[0] elsewhere; indices
/// outside [-depth, depth) never hit.
LogicalResult lowerOneHot(Lowering &l) {
  RankedTensorType type = l.outType();
  int64_t rank = type.getRank(), axis = l.axis("axis", -1, rank);
  int64_t depth = type.getShape()[axis];
  Value index = l.compute(0);
  if (isFloat(Lowering::element(index)))
    index = l.cast(index, l.i64());
  if (!Lowering::element(l.in(0)).isUnsignedInteger()) {
    Value negative = l.withInt("lt.Scalar", index, 0, l.boolean());
    index = l.where(negative, l.withInt("add.Scalar", index, depth), index);
  }
  Dims shape(rank, 1);
  shape[axis] = depth;
  Value positions = l.constantInts(iota(depth), shape);
  Value hit = l.binary("eq.Tensor", l.unsqueeze(l.cast(index, l.i64()), axis),
                       positions, {}, l.boolean());
  Value values = l.data(2);
  return l.done(l.where(hit, l.select(values, 0, 1), l.select(values, 0, 0)));
}

/// Ones on diagonal k: a slice of a larger identity.
LogicalResult lowerEyeLike(Lowering &l) {
  RankedTensorType type = l.outType();
  int64_t k = l.node.integer("k", 0), rows = type.getShape()[0],
          columns = type.getShape()[1];
  int64_t up = std::max<int64_t>(0, -k), left = std::max<int64_t>(0, k);
  // A diagonal outside of the matrix leaves zeros.
  if (up >= rows || left >= columns)
    return l.done(l.fullReal(type.getShape(), 0, type.getElementType()));
  Type element =
      isWideUnsigned(type.getElementType()) ? l.i64() : type.getElementType();
  Value square = l.call("eye.m", {},
                        {l.arg("n", rows + left), l.arg("m", columns + up),
                         l.arg("dtype", element)},
                        Lowering::tensor({rows + left, columns + up}, element));
  // Rows from `left` on have their one in column i + left, columns from `up` on
  // in row i + up.
  Value part = l.slice(square, 0, left, left + rows);
  return l.done(l.slice(part, 1, up, up + columns));
}

LogicalResult lowerWindow(Lowering &l) {
  RankedTensorType type = l.outType();
  int64_t size = type.getShape().front();
  bool periodic = l.node.integer("periodic", 1);
  Type element = type.getElementType();
  Type computed = isFloat(element) ? element : l.f32();
  SmallVector<NamedArg> args{l.arg("window_length", size),
                             l.arg("periodic", periodic),
                             l.arg("dtype", computed)};
  StringRef name =
      llvm::StringSwitch<StringRef>(l.node.opType())
          .Case("BlackmanWindow", "blackman_window.periodic")
          .Case("HannWindow", "hann_window.periodic")
          .Case("HammingWindow", "hamming_window.periodic_alpha_beta");
  if (l.node.opType() == "HammingWindow") {
    args.push_back(l.arg("alpha", 25.0 / 46.0));
    args.push_back(l.arg("beta", 21.0 / 46.0));
  }
  Value window = l.call(name, {}, args, Lowering::tensor({size}, computed));
  return l.done(l.cast(window, element));
}

} // namespace

void addGeneratorHandlers(HandlerTable &table) {
  table["Constant"] = lowerConstant;
  table["ConstantOfShape"] = lowerConstantOfShape;
  table["Range"] = lowerRange;
  table["OneHot"] = lowerOneHot;
  table["EyeLike"] = lowerEyeLike;
  for (const char *name : {"BlackmanWindow", "HannWindow", "HammingWindow"})
    table[name] = lowerWindow;
}

} // namespace hethub

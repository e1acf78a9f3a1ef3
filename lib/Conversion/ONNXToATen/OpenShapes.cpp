//===- OpenShapes.cpp - shapes that come as tensors or from the data ------===//

#include "OpenHandlers.h"

using namespace mlir;

namespace hethub {

namespace {

/// The type of an output with the elements that the runtime gives.
Type resultType(Lowering &l, Type element, unsigned output = 0) {
  return cast<TensorType>(l.node.output(output).getType()).clone(element);
}

/// A call whose result has the elements of `x`.
LogicalResult done(Lowering &l, StringRef name, Value x,
                   ArrayRef<TensorArg> tensors, ArrayRef<NamedArg> args = {}) {
  return l.done(
      l.call(name, tensors, args, resultType(l, Lowering::element(x))));
}

LogicalResult lowerReshape(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.reshape_to", x, {x, l.in(1)},
              {l.arg("allow_zero", bool(l.node.integer("allowzero", 0)))});
}

LogicalResult lowerFlatten(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.flatten_at", x, {x},
              {l.arg("axis", l.node.integer("axis", 1))});
}

LogicalResult lowerExpand(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.expand_to", x, {x, l.in(1)});
}

LogicalResult lowerTile(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.tile_by", x, {x, l.in(1)});
}

LogicalResult lowerSqueeze(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.squeeze_by", x, {x, l.in(1)});
}

LogicalResult lowerUnsqueeze(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.unsqueeze_by", x, {x, l.in(1)});
}

LogicalResult lowerShape(Lowering &l) {
  return l.done(l.call(
      "hethub.shape_of", {l.in(0)},
      {l.arg("start", l.node.integer("start", 0)),
       l.arg("end",
             l.node.integer("end", std::numeric_limits<int64_t>::max()))},
      resultType(l, l.i64())));
}

LogicalResult lowerSize(Lowering &l) {
  return l.done(
      l.call("hethub.size_of", {l.in(0)}, {}, Lowering::tensor({}, l.i64())));
}

LogicalResult lowerConstantOfShape(Lowering &l) {
  auto value = dyn_cast_or_null<DenseElementsAttr>(l.node.attribute("value"));
  Value element =
      value ? l.constant(value) : l.constantReals({0}, {1}, l.f32());
  return done(l, "hethub.constant_of_shape", element, {l.in(0), element});
}

LogicalResult lowerSlice(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.slice_by", x, {x, l.in(1), l.in(2), l.in(3), l.in(4)});
}

LogicalResult lowerSplit(Lowering &l) {
  Value x = l.data(0);
  int64_t axis = l.node.integer("axis", 0);
  for (unsigned i = 0; i < l.node.outputCount(); ++i)
    if (l.node.output(i))
      l.replace(i, l.call("hethub.split_part", {x, l.in(1)},
                          {l.arg("axis", axis),
                           l.arg("parts", int64_t(l.node.outputCount())),
                           l.arg("index", int64_t(i))},
                          resultType(l, Lowering::element(x), i)));
  return success();
}

LogicalResult lowerGather(Lowering &l) {
  Value x = l.data(0);
  bool elements = l.node.opType() == "GatherElements";
  return done(l, elements ? "hethub.gather_elements" : "hethub.gather_at", x,
              {x, l.in(1)}, {l.arg("axis", l.node.integer("axis", 0))});
}

LogicalResult lowerGatherND(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.gather_nd", x, {x, l.in(1)},
              {l.arg("batch_axes", l.node.integer("batch_dims", 0))});
}

/// Updates written or combined where index rows, or elements of an axis, say.
LogicalResult lowerScatter(Lowering &l) {
  Value x = l.data(0);
  NamedArg reduction = l.arg("reduction", l.node.string("reduction", "none"));
  if (l.node.opType() == "ScatterND")
    return done(l, "hethub.scatter_nd", x, {x, l.in(1), l.data(2)},
                {reduction});
  return done(l, "hethub.scatter_elements", x, {x, l.in(1), l.data(2)},
              {l.arg("axis", l.node.integer("axis", 0)), reduction});
}

LogicalResult lowerConcat(Lowering &l) {
  Values parts;
  for (unsigned i = 0; i < l.node.inputCount(); ++i)
    parts.push_back(l.data(i));
  return done(l, "cat", parts.front(), {parts},
              {l.arg("dim", l.node.integer("axis", 0))});
}

LogicalResult lowerTranspose(Lowering &l) {
  Value x = l.in(0);
  Dims order = l.node.integers("perm");
  if (!l.node.attribute("perm"))
    for (int64_t axis = Lowering::rank(x) - 1; axis >= 0; --axis)
      order.push_back(axis);
  if (order.empty() && Lowering::rank(x) != 0)
    return l.refuse("rank of an input is not known when compiling");
  return done(l, "permute", x, {x}, {l.arg("dims", order)});
}

LogicalResult lowerMatMul(Lowering &l) {
  Value a = l.compute(0);
  return done(l, "matmul", a, {a, l.compute(1)});
}

LogicalResult lowerTopK(Lowering &l) {
  Value x = l.compute(0);
  // Unsigned 64-bit order as signed order, and back.
  bool offset = isUnsigned(Lowering::element(l.in(0)), 64);
  auto shift = [&](Value value) {
    return offset ? l.withInt("add.Scalar", value,
                              std::numeric_limits<int64_t>::min())
                  : value;
  };
  x = shift(x);
  Values results =
      l.calls("hethub.top_k_of", {x, l.in(1)},
              {l.arg("axis", l.node.integer("axis", -1)),
               l.arg("largest", bool(l.node.integer("largest", 1)))},
              {resultType(l, Lowering::element(x), 0),
               resultType(l, l.i64(), l.node.output(1) ? 1 : 0)});
  l.replace(0, shift(results[0]));
  l.replace(1, results[1]);
  return success();
}

LogicalResult lowerTrilu(Lowering &l) {
  Value x = l.data(0), k = l.has(1) ? l.in(1) : l.constantInts({0}, {});
  return done(l, "hethub.triangle_of", x, {x, k},
              {l.arg("upper", bool(l.node.integer("upper", 1)))});
}

LogicalResult lowerPad(Lowering &l) {
  Value x = l.data(0), value = l.has(2) ? l.data(2) : Value();
  return done(l, "hethub.pad_by", x, {x, l.in(1), value, l.in(3)},
              {l.arg("mode", l.node.string("mode", "constant"))});
}

Dims axesOf(Lowering &l, int64_t rank) {
  Dims axes = l.node.integers("axes");
  if (!l.node.attribute("axes"))
    axes = iota(rank);
  for (int64_t &axis : axes)
    axis += axis < 0 ? rank : 0;
  return axes;
}

LogicalResult lowerCenterCropPad(Lowering &l) {
  Value x = l.data(0);
  return done(l, "hethub.center_crop_pad_by", x, {x, l.in(1)},
              {l.arg("axes", axesOf(l, Lowering::rank(x)))});
}

/// Pads and strides are attributes; only their number follows from the shapes.
LogicalResult lowerCol2Im(Lowering &l) {
  int64_t axes = Lowering::dims(l.in(1)).front();
  if (ShapedType::isDynamic(axes))
    return l.refuse("the number of image axes must be known");
  auto or1 = [&](StringRef name, int64_t count, int64_t fallback) {
    Dims values = l.node.integers(name);
    return values.empty() ? Dims(count, fallback) : values;
  };
  Value x = l.in(0);
  return done(l, "hethub.col2im_by", x, {x, l.in(1), l.in(2)},
              {l.arg("dilations", or1("dilations", axes, 1)),
               l.arg("pads", or1("pads", 2 * axes, 0)),
               l.arg("strides", or1("strides", axes, 1))});
}

LogicalResult lowerRange(Lowering &l) {
  Value start = l.in(0);
  return done(l, "hethub.range_of", start, {start, l.in(1), l.in(2)});
}

LogicalResult lowerOneHot(Lowering &l) {
  Value index = l.compute(0), values = l.data(2);
  return done(l, "hethub.one_hot_of", values,
              {l.cast(index, l.i64()), l.in(1), values},
              {l.arg("axis", l.node.integer("axis", -1))});
}

LogicalResult lowerAffineGrid(Lowering &l) {
  return done(
      l, "hethub.affine_grid_of", l.in(0), {l.in(0), l.in(1)},
      {l.arg("align_corners", bool(l.node.integer("align_corners", 0)))});
}

LogicalResult lowerReduce(Lowering &l) {
  Type element = Lowering::element(l.in(0));
  StringRef kind = l.node.opType().drop_front(StringRef("Reduce").size());
  if (isUnsigned(element, 64) && (kind == "Max" || kind == "Min"))
    return l.refuse("LibTorch does not order unsigned 64-bit integers");
  Value x = l.compute(0);
  return done(l, "hethub.reduce_by", x, {x, l.in(1)},
              {l.arg("kind", kind),
               l.arg("keep", bool(l.node.integer("keepdims", 1))),
               l.arg("nothing_if_empty",
                     bool(l.node.integer("noop_with_empty_axes", 0)))});
}

LogicalResult lowerCumulative(Lowering &l) {
  Value x = l.compute(0);
  return done(l, "hethub.cumulative", x, {x, l.in(1)},
              {l.arg("products", l.node.opType() == "CumProd"),
               l.arg("exclusive", bool(l.node.integer("exclusive", 0))),
               l.arg("reverse", bool(l.node.integer("reverse", 0)))});
}

LogicalResult lowerResize(Lowering &l) {
  Value x = l.in(0);
  auto text = [&](const char *argument, const char *name,
                  const char *fallback) {
    return l.arg(argument, l.node.string(name, fallback));
  };
  return done(
      l, "hethub.resize_by", x, {x, l.in(1), l.in(2), l.in(3)},
      {l.arg("axes", axesOf(l, Lowering::rank(x))),
       text("policy", "keep_aspect_ratio_policy", "stretch"),
       text("mode", "mode", "nearest"),
       text("coordinates", "coordinate_transformation_mode", "half_pixel"),
       text("nearest", "nearest_mode", "round_prefer_floor"),
       l.arg("cubic_a", l.node.real("cubic_coeff_a", -0.75)),
       l.arg("exclude_outside", bool(l.node.integer("exclude_outside", 0))),
       l.arg("antialias", bool(l.node.integer("antialias", 0))),
       l.arg("extrapolation", l.node.real("extrapolation_value", 0))});
}

//===----------------------------------------------------------------------===//
// Ordinary handlers that serve as they are
//===----------------------------------------------------------------------===//

/// Elementwise: of any rank.
constexpr const char *ofAnyRank[] = {
    "Abs",        "Acos",        "Acosh",
    "Add",        "And",         "Asin",
    "Asinh",      "Atan",        "Atanh",
    "BitwiseAnd", "BitwiseNot",  "BitwiseOr",
    "BitwiseXor", "Ceil",        "Cast",
    "CastLike",   "Celu",        "Cos",
    "Cosh",       "Div",         "Elu",
    "Equal",      "Erf",         "Exp",
    "Floor",      "Greater",     "GreaterOrEqual",
    "Gelu",       "HardSigmoid", "HardSwish",
    "Identity",   "IsNaN",       "LeakyRelu",
    "Less",       "LessOrEqual", "Log",
    "Max",        "Mean",        "Min",
    "Mish",       "Mod",         "Mul",
    "Neg",        "Not",         "Or",
    "Pow",        "Reciprocal",  "Relu",
    "Round",      "Selu",        "Sigmoid",
    "Sign",       "Sin",         "Sinh",
    "Softplus",   "Softsign",    "Sqrt",
    "Sub",        "Sum",         "Swish",
    "Tan",        "Tanh",        "Where",
    "Xor"};

/// These look at ranks and element types.
constexpr const char *ofKnownRank[] = {"BatchNormalization",
                                       "Bernoulli",
                                       "BitShift",
                                       "Clip",
                                       "Constant",
                                       "DequantizeLinear",
                                       "Det",
                                       "DynamicQuantizeLinear",
                                       "Einsum",
                                       "GRU",
                                       "Gemm",
                                       "GlobalAveragePool",
                                       "GlobalLpPool",
                                       "GlobalMaxPool",
                                       "GroupNormalization",
                                       "InstanceNormalization",
                                       "LSTM",
                                       "LogSoftmax",
                                       "MatMulInteger",
                                       "MaxRoiPool",
                                       "MelWeightMatrix",
                                       "NonMaxSuppression",
                                       "NonZero",
                                       "QuantizeLinear",
                                       "RNN",
                                       "RoiAlign",
                                       "Softmax",
                                       "Unique",
                                       "com.microsoft.BiasGelu",
                                       "com.microsoft.FastGelu",
                                       "com.microsoft.Gelu",
                                       "com.microsoft.QuickGelu",
                                       "com.microsoft.Unique"};

constexpr const char *ofKnownTail[] = {"LayerNormalization",
                                       "RMSNormalization"};

bool isKnown(Value value, int64_t from) {
  ArrayRef<int64_t> dims = Lowering::dims(value);
  from = std::clamp<int64_t>(from < 0 ? from + int64_t(dims.size()) : from, 0,
                             dims.size());
  return !llvm::is_contained(dims.drop_front(from), ShapedType::kDynamic);
}

} // namespace

std::string refusedBy(Known needs, Operation *op) {
  if (needs == Known::Nothing)
    return "";
  auto describe = [](StringRef what, Value value) {
    std::string text;
    llvm::raw_string_ostream(text)
        << what << " is not known when compiling: " << value.getType();
    return text;
  };
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()))
      return describe("rank of an input", operand);
  for (Value result : op->getResults())
    if (!isa<RankedTensorType>(result.getType()))
      return describe("rank of an output", result);
  ox::Node node(op);
  Value x = node.input(0);
  if (needs == Known::Tail && !isKnown(x, node.integer("axis", -1)))
    return describe("shape of an input", x);
  return "";
}

void addOpenShapeHandlers(OpenHandlerTable &table,
                          const HandlerTable &ordinary) {
  auto take = [&](ArrayRef<const char *> names, Known needs) {
    for (const char *name : names)
      if (auto found = ordinary.find(name); found != ordinary.end())
        table[name] = {found->second, needs};
  };
  take(ofAnyRank, Known::Nothing);
  take(ofKnownRank, Known::Ranks);
  take(ofKnownTail, Known::Tail);

  for (auto [name, handler] :
       std::initializer_list<std::pair<const char *, Handler>>{
           {"Reshape", lowerReshape},
           {"Flatten", lowerFlatten},
           {"Expand", lowerExpand},
           {"Tile", lowerTile},
           {"Squeeze", lowerSqueeze},
           {"Unsqueeze", lowerUnsqueeze},
           {"Shape", lowerShape},
           {"Size", lowerSize},
           {"ConstantOfShape", lowerConstantOfShape},
           {"Slice", lowerSlice},
           {"Pad", lowerPad},
           {"Split", lowerSplit},
           {"Gather", lowerGather},
           {"GatherElements", lowerGather},
           {"GatherND", lowerGatherND},
           {"ScatterElements", lowerScatter},
           {"ScatterND", lowerScatter},
           {"TopK", lowerTopK},
           {"Concat", lowerConcat},
           {"Transpose", lowerTranspose},
           {"MatMul", lowerMatMul},
           {"Range", lowerRange},
           {"OneHot", lowerOneHot},
           {"Trilu", lowerTrilu},
           {"AffineGrid", lowerAffineGrid},
           {"CumSum", lowerCumulative},
           {"CumProd", lowerCumulative}})
    table[name] = {handler, Known::Nothing};
  for (auto [name, handler] :
       std::initializer_list<std::pair<const char *, Handler>>{
           {"CenterCropPad", lowerCenterCropPad},
           {"Col2Im", lowerCol2Im},
           {"Resize", lowerResize}})
    table[name] = {handler, Known::Ranks};
  for (const char *name :
       {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean",
        "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
        "ReduceLogSumExp"})
    table[name] = {lowerReduce, Known::Nothing};
}

} // namespace hethub

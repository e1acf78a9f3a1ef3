//===- Features.cpp - feature operators of ai.onnx.ml ---------------------===//

#include "Scores.h"

using namespace mlir;

namespace hethub {

namespace {

/// Columns by their numbers.
LogicalResult lowerArrayFeatureExtractor(Lowering &l) {
  Value x = l.data(0);
  int64_t last = Lowering::rank(x) - 1;
  Value index = l.wrapIndex(l.in(1), Lowering::dims(x)[last]);
  index = l.reshape(index, {product(Lowering::dims(index))});
  return l.done(
      l.reshape(l.indexSelect(x, last, index), l.outType().getShape()));
}

LogicalResult lowerBinarizer(Lowering &l) {
  Value above = l.withReal("gt.Scalar", l.in(0), l.node.real("threshold", 0),
                           l.boolean());
  return l.done(l.cast(above, l.outType().getElementType()));
}

/// Features side by side, each cut or filled up to its number of columns.
LogicalResult lowerFeatureVectorizer(Lowering &l) {
  Dims widths = l.node.integers("inputdimensions");
  Values parts;
  for (unsigned i = 0; i < l.node.inputCount(); ++i) {
    Value x = l.cast(l.in(i), l.f32());
    ArrayRef<int64_t> dims = Lowering::dims(x);
    int64_t rows = dims.empty() ? 1 : dims[0];
    x = l.reshape(x, {rows, rows ? product(dims) / rows : 0});
    if (i < widths.size())
      x = l.pad(x, {0, 0}, {0, widths[i] - Lowering::dims(x)[1]}, 0.0);
    parts.push_back(x);
  }
  return l.done(l.cat(parts, 1));
}

/// Values of one kind (NaN as a rule) replaced, by one value or one a column.
LogicalResult lowerImputer(Lowering &l) {
  Value x = l.in(0);
  Type element = Lowering::element(x);
  SmallVector<double> values = l.node.reals("imputed_value_floats");
  Value missing, imputed;
  if (isFloat(element)) {
    double replaced = l.node.real("replaced_value_float", 0);
    missing = std::isnan(replaced)
                  ? l.unary("isnan", x, {}, l.boolean())
                  : l.withReal("eq.Scalar", x, replaced, l.boolean());
    imputed = realVector(l, values, element);
  } else {
    missing = l.withInt("eq.Scalar", x,
                        l.node.integer("replaced_value_int64", 0), l.boolean());
    Dims whole = l.node.integers("imputed_value_int64s");
    values.assign(whole.begin(), whole.end());
    imputed = l.cast(l.constantInts(whole), element);
  }
  int64_t columns = Lowering::dims(x).empty() ? 1 : Lowering::dims(x).back();
  if (values.empty() ||
      (values.size() != 1 && static_cast<int64_t>(values.size()) != columns))
    return l.refuse("values to put in must be one, or one a column");
  return l.done(l.where(missing, imputed, x));
}

LogicalResult lowerNormalizer(Lowering &l) {
  Value x = asReal(l, l.in(0));
  int64_t last = Lowering::rank(x) - 1;
  StringRef name = l.node.string("norm", "MAX");
  Value norm;
  if (name == "MAX")
    norm = l.reduce("amax", l.unary("abs", x), {last}, true);
  else if (name == "L1" || name == "L2")
    norm = l.reduce("linalg_vector_norm", x, {last}, true,
                    {l.arg("ord", l.integer(name == "L1" ? 1 : 2))});
  else
    return l.refuse("norm must be MAX, L1 or L2, got: " + name);
  Value zero = l.withReal("eq.Scalar", norm, 0, l.boolean());
  norm = l.call("masked_fill.Scalar", {norm, zero}, {l.arg("value", l.real(1))},
                Lowering::typeOf(norm));
  return l.done(
      l.cast(l.binary("div.Tensor", x, norm), l.outType().getElementType()));
}

/// A new last axis with a one where a category is met; a number that is none
/// leaves zeros, whatever `zeros` says.
LogicalResult lowerOneHotEncoder(Lowering &l) {
  Dims categories = l.node.integers("cats_int64s");
  Value x = l.in(0), known;
  if (categories.empty()) {
    known = textConstant(l, "cats_strings");
  } else {
    if (!isFloat(Lowering::element(x)))
      x = l.cast(x, l.i64());
    known = l.cast(l.constantInts(categories), Lowering::element(x));
  }
  Value met = l.binary("eq.Tensor", l.unsqueeze(x, Lowering::rank(x)), known,
                       {}, l.boolean());
  return l.done(l.cast(met, l.outType().getElementType()));
}

LogicalResult lowerScaler(Lowering &l) {
  Value x = asReal(l, l.in(0));
  Type element = Lowering::element(x);
  int64_t columns = Lowering::dims(x).empty() ? 1 : Lowering::dims(x).back();
  auto vector = [&](StringRef name) {
    return realVector(l, l.node.reals(name), element);
  };
  for (const char *name : {"offset", "scale"}) {
    size_t given = l.node.reals(name).size();
    if (given > 1 && static_cast<int64_t>(given) != columns)
      return l.refuse("offset and scale must be one number, or one a column");
  }
  if (!l.node.reals("offset").empty())
    x = l.binary("sub.Tensor", x, vector("offset"));
  if (!l.node.reals("scale").empty())
    x = l.binary("mul.Tensor", x, vector("scale"));
  return l.done(l.cast(x, l.outType().getElementType()));
}

//===----------------------------------------------------------------------===//
// LabelEncoder
//===----------------------------------------------------------------------===//

/// Keys or values, whichever attribute holds them.
Value labelTable(Lowering &l, StringRef role) {
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(
          l.node.attribute((role + "_tensor").str())))
    return l.constant(dense);
  if (Dims whole = l.node.integers((role + "_int64s").str()); !whole.empty())
    return l.constantInts(whole);
  if (auto reals = l.node.reals((role + "_floats").str()); !reals.empty())
    return realVector(l, reals, l.f32());
  return textConstant(l, (role + "_strings").str());
}

LogicalResult lowerLabelEncoder(Lowering &l) {
  Value keys = labelTable(l, "keys"), values = labelTable(l, "values");
  Type element = Lowering::element(values);
  Value fallback;
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(
          l.node.attribute("default_tensor")))
    fallback = l.constant(dense);
  else if (isa<ox::StringType>(element))
    fallback = l.constant(DenseStringElementsAttr::get(
        Lowering::tensor({1}, element),
        {l.node.string("default_string", "_Unused")}));
  else if (isFloat(element))
    fallback = realVector(l, {l.node.real("default_float", -0.0)}, element);
  else
    fallback =
        l.cast(l.constantInts({l.node.integer("default_int64", -1)}), element);
  return l.done(l.call("hethub.lookup_table", {l.in(0), keys, values, fallback},
                       {}, l.outType().clone(element)));
}

/// Strings to the numbers beside them, or back.
LogicalResult lowerCategoryMapper(Lowering &l) {
  Value texts = textConstant(l, "cats_strings");
  Value numbers = l.constantInts(l.node.integers("cats_int64s"));
  bool toNumbers = !isa<ox::StringType>(l.outType().getElementType());
  Value fallback = toNumbers
                       ? l.constantInts({l.node.integer("default_int64", -1)})
                       : l.constant(DenseStringElementsAttr::get(
                             Lowering::tensor({1}, Lowering::element(texts)),
                             {l.node.string("default_string", "_Unused")}));
  return l.done(l.call("hethub.lookup_table",
                       {l.in(0), toNumbers ? texts : numbers,
                        toNumbers ? numbers : texts, fallback},
                       {}, l.outType()));
}

} // namespace

void addFeatureHandlers(HandlerTable &table) {
  table["ai.onnx.ml.ArrayFeatureExtractor"] = lowerArrayFeatureExtractor;
  table["ai.onnx.ml.Binarizer"] = lowerBinarizer;
  table["ai.onnx.ml.CategoryMapper"] = lowerCategoryMapper;
  table["ai.onnx.ml.FeatureVectorizer"] = lowerFeatureVectorizer;
  table["ai.onnx.ml.Imputer"] = lowerImputer;
  table["ai.onnx.ml.LabelEncoder"] = lowerLabelEncoder;
  table["ai.onnx.ml.Normalizer"] = lowerNormalizer;
  table["ai.onnx.ml.OneHotEncoder"] = lowerOneHotEncoder;
  table["ai.onnx.ml.Scaler"] = lowerScaler;
}

} // namespace hethub

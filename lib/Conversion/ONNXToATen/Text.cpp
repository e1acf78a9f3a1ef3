//===- Text.cpp - operators on strings ------------------------------------===//

#include "OpenHandlers.h"

using namespace mlir;

namespace hethub {

Value textConstant(Lowering &l, StringRef name) {
  SmallVector<StringRef> values;
  if (auto list = dyn_cast_or_null<ArrayAttr>(l.node.attribute(name)))
    for (auto text : list.getAsRange<StringAttr>())
      values.push_back(text.getValue());
  Type element = ox::StringType::get(l.builder.getContext());
  return l.constant(DenseStringElementsAttr::get(
      Lowering::tensor({static_cast<int64_t>(values.size())}, element),
      values));
}

namespace {

Type typeOfOutput(Lowering &l, unsigned output) {
  return l.node.output(output).getType();
}

LogicalResult lowerConcat(Lowering &l) {
  return l.done(l.call("hethub.string_concat", {l.in(0), l.in(1)}, {},
                       typeOfOutput(l, 0)));
}

LogicalResult lowerSplit(Lowering &l) {
  // Counts may be left out; they have the shape of the input.
  Type counts = cast<TensorType>(l.in(0).getType()).clone(l.i64());
  Values results = l.calls(
      "hethub.string_split", {l.in(0)},
      {l.arg("delimiter", l.node.string("delimiter", "")),
       l.arg("max_split", l.node.integer("maxsplit", -1))},
      {typeOfOutput(l, 0), l.node.output(1) ? typeOfOutput(l, 1) : counts});
  l.replace(0, results[0]);
  l.replace(1, results[1]);
  return success();
}

LogicalResult lowerNormalizer(Lowering &l) {
  return l.done(l.call(
      "hethub.string_normalizer", {l.in(0), textConstant(l, "stopwords")},
      {l.arg("case_action", l.node.string("case_change_action", "NONE")),
       l.arg("case_sensitive", bool(l.node.integer("is_case_sensitive", 0)))},
      typeOfOutput(l, 0)));
}

LogicalResult lowerRegex(Lowering &l) {
  return l.done(l.call("hethub.regex_full_match", {l.in(0)},
                       {l.arg("pattern", l.node.string("pattern", ""))},
                       typeOfOutput(l, 0)));
}

LogicalResult lowerTfIdf(Lowering &l) {
  Value pool;
  if (l.node.attribute("pool_int64s"))
    pool = l.constantInts(l.node.integers("pool_int64s"));
  else
    pool = textConstant(l, "pool_strings");
  Value weights;
  if (l.node.attribute("weights")) {
    SmallVector<double> values = l.node.reals("weights");
    weights =
        l.constantReals(values, {static_cast<int64_t>(values.size())}, l.f32());
  }
  return l.done(l.call(
      "hethub.tf_idf", {l.in(0), pool, weights},
      {l.arg("starts", ArrayRef<int64_t>(l.node.integers("ngram_counts"))),
       l.arg("indexes", ArrayRef<int64_t>(l.node.integers("ngram_indexes"))),
       l.arg("min_length", l.node.integer("min_gram_length", 1)),
       l.arg("max_length", l.node.integer("max_gram_length", 1)),
       l.arg("max_skip", l.node.integer("max_skip_count", 0)),
       l.arg("mode", l.node.string("mode", "TF"))},
      typeOfOutput(l, 0)));
}

} // namespace

void addTextHandlers(OpenHandlerTable &table) {
  table["StringConcat"] = {lowerConcat, Known::Nothing};
  table["StringSplit"] = {lowerSplit, Known::Nothing};
  table["StringNormalizer"] = {lowerNormalizer, Known::Nothing};
  table["RegexFullMatch"] = {lowerRegex, Known::Nothing};
  table["TfIdfVectorizer"] = {lowerTfIdf, Known::Nothing};
}

} // namespace hethub

//===- SupplementaryInference.cpp - types the library does not infer ------===//

#include "SupplementaryInference.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using onnx::InferenceContext;
using onnx::TensorProto;
using onnx::TensorShapeProto;
using onnx::TypeProto;

namespace {

using hethub::ox::Node;
using Rule = void (*)(const Node &, InferenceContext &);

const TypeProto::Tensor *tensorInput(InferenceContext &context, size_t index) {
  const TypeProto *type = context.getInputType(index);
  return type && type->has_tensor_type() ? &type->tensor_type() : nullptr;
}

/// Output `index` of an element type, with the first `kept` dims of input 0
/// followed by `dims` (-1: unknown).
void setOutput(InferenceContext &context, size_t index, int elementType,
               int kept, std::initializer_list<int64_t> dims) {
  if (!context.hasOutput(index))
    return;
  auto *result = context.getOutputType(index)->mutable_tensor_type();
  result->set_elem_type(elementType);
  const TypeProto::Tensor *input = tensorInput(context, 0);
  if (kept &&
      (!input || !input->has_shape() || input->shape().dim_size() < kept))
    return;
  auto *shape = result->mutable_shape();
  for (int i = 0; i < kept; ++i)
    *shape->add_dim() = input->shape().dim(i);
  for (int64_t dim : dims) {
    auto *added = shape->add_dim();
    if (dim >= 0)
      added->set_dim_value(dim);
  }
}

void likeInput0(const Node &, InferenceContext &context) {
  if (const TypeProto *type = context.getInputType(0))
    *context.getOutputType(0) = *type;
}

void floatLikeInput0(const Node &, InferenceContext &context) {
  const TypeProto::Tensor *input = tensorInput(context, 0);
  if (!input)
    return;
  auto *result = context.getOutputType(0)->mutable_tensor_type();
  *result = *input;
  result->set_elem_type(TensorProto::FLOAT);
}

/// The library takes a missing `onesided` for 0, where the schema says 1.
void onesidedStft(const Node &node, InferenceContext &context) {
  auto *type = context.getOutputType(0);
  if (node.attribute("onesided") || !type->has_tensor_type() ||
      type->tensor_type().shape().dim_size() != 4)
    return;
  auto *bins = type->mutable_tensor_type()->mutable_shape()->mutable_dim(2);
  if (bins->has_dim_value())
    bins->set_dim_value(bins->dim_value() / 2 + 1);
}

/// [N, sum of the inputs' widths].
void featureVectorizer(const Node &node, InferenceContext &context) {
  int64_t width = 0;
  for (int64_t part : node.integers("inputdimensions"))
    width += part;
  setOutput(context, 0, TensorProto::FLOAT, 1, {width ? width : -1});
}

/// [N, targets].
void linearRegressor(const Node &node, InferenceContext &context) {
  setOutput(context, 0, TensorProto::FLOAT, 1, {node.integer("targets", 1)});
}

void svmRegressor(const Node &, InferenceContext &context) {
  setOutput(context, 0, TensorProto::FLOAT, 1, {1});
}

void treeRegressor(const Node &node, InferenceContext &context) {
  setOutput(context, 0, TensorProto::FLOAT, 1, {node.integer("n_targets", 1)});
}

/// Labels [N] of the type of the class labels, and scores [N, `scores`].
void labelsAndScores(const Node &node, InferenceContext &context,
                     StringRef numbers, function_ref<int64_t(int64_t)> scores) {
  auto texts =
      dyn_cast_or_null<ArrayAttr>(node.attribute("classlabels_strings"));
  bool text = texts && !texts.empty();
  int64_t classes = text ? static_cast<int64_t>(texts.size())
                         : static_cast<int64_t>(node.integers(numbers).size());
  setOutput(context, 0, text ? TensorProto::STRING : TensorProto::INT64, 1, {});
  setOutput(context, 1, TensorProto::FLOAT, 1,
            {classes ? scores(classes) : -1});
}

/// One score a class, or one a pair of classes where they are no
/// probabilities.
void svmClassifier(const Node &node, InferenceContext &context) {
  bool probable = !node.reals("prob_a").empty();
  labelsAndScores(node, context, "classlabels_ints", [&](int64_t classes) {
    return probable || classes == 2 ? classes : classes * (classes - 1) / 2;
  });
}

void treeClassifier(const Node &node, InferenceContext &context) {
  labelsAndScores(node, context, "classlabels_int64s",
                  [](int64_t classes) { return classes; });
}

struct Entry {
  const char *domain, *name;
  Rule rule;
};

constexpr Entry rules[] = {
    {"", "GroupNormalization", likeInput0},
    {"", "MeanVarianceNormalization", likeInput0},
    {"", "STFT", onesidedStft},
    {"ai.onnx.ml", "Scaler", floatLikeInput0},
    {"ai.onnx.ml", "Imputer", likeInput0},
    {"ai.onnx.ml", "Normalizer", floatLikeInput0},
    {"ai.onnx.ml", "FeatureVectorizer", featureVectorizer},
    {"ai.onnx.ml", "LinearRegressor", linearRegressor},
    {"ai.onnx.ml", "SVMClassifier", svmClassifier},
    {"ai.onnx.ml", "SVMRegressor", svmRegressor},
    {"ai.onnx.ml", "TreeEnsembleClassifier", treeClassifier},
    {"ai.onnx.ml", "TreeEnsembleRegressor", treeRegressor},
};

} // namespace

void hethub::ox::supplement(const Node &node, InferenceContext &context) {
  for (const Entry &entry : rules)
    if (node.opType() == entry.name && node.domain() == entry.domain)
      return entry.rule(node, context);
}

//===- Inference.cpp - result types of com.microsoft's operators ----------===//
//
// By the rules that onnxruntime documents. A dimension or shape that is not
// known stays unknown.
//===----------------------------------------------------------------------===//

#include "Schemas.h"

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"
#include "onnx/defs/tensor_proto_util.h"

#include <cstring>
#include <optional>
#include <vector>

using onnx::InferenceContext;
using onnx::TensorProto;
using onnx::TensorShapeProto;
using Dim = onnx::TensorShapeProto::Dimension;
using Shape = std::vector<Dim>;

namespace hethub::ms {

namespace {

//===----------------------------------------------------------------------===//
// What a context holds
//===----------------------------------------------------------------------===//

bool has(InferenceContext &c, size_t input) {
  return c.hasInput(input) && c.getInputType(input) &&
         c.getInputType(input)->has_tensor_type();
}

int elementOf(InferenceContext &c, size_t input) {
  return has(c, input) ? c.getInputType(input)->tensor_type().elem_type()
                       : TensorProto::UNDEFINED;
}

std::optional<Shape> shapeOf(InferenceContext &c, size_t input) {
  if (!has(c, input) || !c.getInputType(input)->tensor_type().has_shape())
    return std::nullopt;
  const auto &dims = c.getInputType(input)->tensor_type().shape().dim();
  return Shape(dims.begin(), dims.end());
}

Dim dim(int64_t value) {
  Dim result;
  if (value >= 0)
    result.set_dim_value(value);
  return result;
}

int64_t valueOf(const Dim &d) { return d.has_dim_value() ? d.dim_value() : -1; }

/// A product or quotient of dims; unknown where one of them is.
Dim times(const Dim &a, const Dim &b) {
  return valueOf(a) < 0 || valueOf(b) < 0 ? Dim()
                                          : dim(valueOf(a) * valueOf(b));
}
Dim over(const Dim &a, int64_t divisor) {
  return valueOf(a) < 0 || divisor <= 0 ? Dim() : dim(valueOf(a) / divisor);
}
Dim plus(const Dim &a, const Dim &b) {
  return valueOf(a) < 0 || valueOf(b) < 0 ? Dim()
                                          : dim(valueOf(a) + valueOf(b));
}

int64_t integer(InferenceContext &c, const char *name, int64_t fallback) {
  const auto *attribute = c.getAttribute(name);
  return attribute && attribute->has_i() ? attribute->i() : fallback;
}

std::vector<int64_t> integers(InferenceContext &c, const char *name) {
  const auto *attribute = c.getAttribute(name);
  if (!attribute)
    return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

void set(InferenceContext &c, size_t output, int element,
         const std::optional<Shape> &shape) {
  if (!c.hasOutput(output) || element == TensorProto::UNDEFINED)
    return;
  auto *type = c.getOutputType(output)->mutable_tensor_type();
  type->set_elem_type(element);
  if (!shape)
    return;
  auto *dims = type->mutable_shape();
  dims->clear_dim();
  for (const Dim &d : *shape)
    *dims->add_dim() = d;
}

/// The rules of an operator of the default domain on the same context.
void asStandard(InferenceContext &c, const char *name) {
  const auto *schema = onnx::OpSchemaRegistry::Schema(name, "");
  schema->GetTypeAndShapeInferenceFunction()(c);
}

std::optional<Shape> broadcast(InferenceContext &c,
                               const std::vector<size_t> &inputs) {
  std::vector<const TensorShapeProto *> shapes;
  for (size_t input : inputs) {
    if (!shapeOf(c, input))
      return std::nullopt;
    shapes.push_back(&c.getInputType(input)->tensor_type().shape());
  }
  TensorShapeProto result;
  onnx::multidirectionalBroadcastShapeInference(shapes, result);
  return Shape(result.dim().begin(), result.dim().end());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

void likeInput0(InferenceContext &c) {
  set(c, 0, elementOf(c, 0), shapeOf(c, 0));
}

/// Normalizations of a sum, which may be a result as well.
void skipNorm(InferenceContext &c) {
  likeInput0(c);
  std::optional<Shape> shape = shapeOf(c, 0), reduced = shape;
  if (reduced && !reduced->empty())
    reduced->back() = dim(1);
  set(c, 1, TensorProto::FLOAT, reduced);
  set(c, 2, TensorProto::FLOAT, reduced);
  set(c, 3, elementOf(c, 0), shape);
}

void simplifiedNorm(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 0), reduced = shape;
  set(c, 0, elementOf(c, 1), shape);
  int64_t rank = shape ? static_cast<int64_t>(shape->size()) : 0;
  int64_t axis = integer(c, "axis", -1);
  for (int64_t i = std::max<int64_t>(axis < 0 ? axis + rank : axis, 0);
       i < rank; ++i)
    (*reduced)[i] = dim(1);
  set(c, 1, TensorProto::FLOAT, reduced);
}

void skipGroupNorm(InferenceContext &c) {
  likeInput0(c);
  set(c, 1, elementOf(c, 0), shapeOf(c, 0));
}

void biasSplitGelu(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 0);
  if (shape && !shape->empty())
    shape->back() = over(shape->back(), 2);
  set(c, 0, elementOf(c, 0), shape);
}

void quantize(InferenceContext &c) {
  set(c, 0, has(c, 2) ? elementOf(c, 2) : int(TensorProto::UINT8),
      shapeOf(c, 0));
}

void dequantize(InferenceContext &c) {
  set(c, 0, elementOf(c, 1), shapeOf(c, 0));
}

void qLinearBinary(InferenceContext &c) {
  set(c, 0, elementOf(c, 0), broadcast(c, {0, 3}));
}

void qLinearWhere(InferenceContext &c) {
  set(c, 0, elementOf(c, 1), broadcast(c, {0, 1, 4}));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

void expandDims(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 0);
  const TensorProto *axis = c.getInputData(1);
  if (!shape || !axis)
    return set(c, 0, elementOf(c, 0), std::nullopt);
  std::vector<int32_t> values = onnx::ParseData<int32_t>(axis);
  int64_t rank = static_cast<int64_t>(shape->size());
  int64_t at = values.empty() ? 0 : values[0] + (values[0] < 0 ? rank + 1 : 0);
  if (at < 0 || at > rank)
    fail_shape_inference("axis must be within the rank of the input, ", rank,
                         ", got: ", values[0]);
  shape->insert(shape->begin() + at, dim(1));
  set(c, 0, elementOf(c, 0), shape);
}

/// Values, inverse indices and counts, in an order of its own.
void unique(InferenceContext &c) {
  set(c, 0, elementOf(c, 0), Shape{Dim()});
  set(c, 1, TensorProto::INT64, shapeOf(c, 0));
  set(c, 2, TensorProto::INT64, Shape{Dim()});
}

/// Inputs: scale and zero point of the result, then value, scale, zero point of
/// each part.
void qLinearConcat(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 2);
  int64_t axis = integer(c, "axis", 0);
  if (shape && axis < 0)
    axis += static_cast<int64_t>(shape->size());
  for (size_t i = 5; shape && i < c.getNumInputs(); i += 3) {
    std::optional<Shape> part = shapeOf(c, i);
    if (!part || part->size() != shape->size() || axis < 0 ||
        axis >= static_cast<int64_t>(shape->size())) {
      shape.reset();
      break;
    }
    (*shape)[axis] = plus((*shape)[axis], (*part)[axis]);
  }
  set(c, 0, elementOf(c, 1), shape);
}

/// Spatial axes become 1.
void globalPool(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 0);
  bool last = integer(c, "channels_last", 0);
  for (size_t i = last ? 1 : 2; shape && i + (last ? 1 : 0) < shape->size();
       ++i)
    (*shape)[i] = dim(1);
  set(c, 0, elementOf(c, 0), shape);
}

void qLinearReduceMean(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 0);
  if (!shape)
    return set(c, 0, elementOf(c, 0), std::nullopt);
  std::vector<bool> reduced(shape->size());
  for (int64_t axis : integers(c, "axes")) {
    axis += axis < 0 ? static_cast<int64_t>(shape->size()) : 0;
    if (axis < 0 || axis >= static_cast<int64_t>(shape->size()))
      fail_shape_inference("axes must be within the rank of the input, ",
                           shape->size(), ", got: ", axis);
    reduced[axis] = true;
  }
  Shape result;
  for (size_t i = 0; i < shape->size(); ++i)
    if (!reduced[i])
      result.push_back((*shape)[i]);
    else if (integer(c, "keepdims", 1))
      result.push_back(dim(1));
  set(c, 0, elementOf(c, 0), result);
}

/// Indices take the place of an axis; the quantized data may be packed.
void gatherBlockQuantized(InferenceContext &c) {
  std::optional<Shape> data = shapeOf(c, 0), indices = shapeOf(c, 1);
  int element = elementOf(c, 2);
  if (!data || !indices || data->empty())
    return set(c, 0, element, std::nullopt);
  int64_t rank = static_cast<int64_t>(data->size());
  int64_t axis = integer(c, "gather_axis", 0);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    fail_shape_inference("gather_axis must be within the rank of the data, ",
                         rank, ", got: ", axis);
  int64_t bits = integer(c, "bits", 4);
  if (elementOf(c, 0) == TensorProto::UINT8 && bits > 0 && bits < 8)
    data->back() = times(data->back(), dim(8 / bits));
  Shape result(data->begin(), data->begin() + axis);
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), data->begin() + axis + 1, data->end());
  set(c, 0, element, result);
}

//===----------------------------------------------------------------------===//
// Products, convolutions, pools
//===----------------------------------------------------------------------===//

std::optional<Shape> product(std::optional<Shape> a, std::optional<Shape> b) {
  if (!a || !b || a->empty() || b->empty())
    return std::nullopt;
  bool row = a->size() == 1, column = b->size() == 1;
  if (row)
    a->insert(a->begin(), dim(1));
  if (column)
    b->push_back(dim(1));
  TensorShapeProto left, right, both;
  for (size_t i = 0; i + 2 < a->size(); ++i)
    *left.add_dim() = (*a)[i];
  for (size_t i = 0; i + 2 < b->size(); ++i)
    *right.add_dim() = (*b)[i];
  onnx::bidirectionalBroadcastShapeInference(left, right, both);
  Shape result(both.dim().begin(), both.dim().end());
  if (!row)
    result.push_back((*a)[a->size() - 2]);
  if (!column)
    result.push_back(b->back());
  return result;
}

/// Batch axes that stand behind the rows come to the front, then rows and
/// columns may change places.
std::optional<Shape> operand(InferenceContext &c, size_t input,
                             const char *transposed, const char *batch) {
  std::optional<Shape> shape = shapeOf(c, input);
  if (!shape || shape->size() < 2)
    return shape;
  if (integer(c, batch, 0)) { // [M, ..., K] -> [..., M, K]
    Dim rows = shape->front();
    shape->erase(shape->begin());
    shape->insert(shape->end() - 1, rows);
  }
  if (integer(c, transposed, 0))
    std::swap((*shape)[shape->size() - 2], shape->back());
  return shape;
}

void fusedMatMul(InferenceContext &c) {
  set(c, 0, elementOf(c, 0),
      product(operand(c, 0, "transA", "transBatchA"),
              operand(c, 1, "transB", "transBatchB")));
}

void dynamicQuantizeMatMul(InferenceContext &c) {
  set(c, 0, TensorProto::FLOAT, product(shapeOf(c, 0), shapeOf(c, 1)));
}

void matMulIntegerToFloat(InferenceContext &c) {
  set(c, 0, elementOf(c, 2), product(shapeOf(c, 0), shapeOf(c, 1)));
}

void matMulNBits(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 0);
  if (shape && !shape->empty())
    shape->back() = dim(integer(c, "N", -1));
  set(c, 0, elementOf(c, 0), shape);
}

void fusedGemm(InferenceContext &c) { asStandard(c, "Gemm"); }

void qGemm(InferenceContext &c) {
  std::optional<Shape> a = operand(c, 0, "transA", "");
  std::optional<Shape> b = operand(c, 3, "transB", "");
  std::optional<Shape> y;
  if (a && b && a->size() == 2 && b->size() == 2)
    y = Shape{(*a)[0], (*b)[1]};
  set(c, 0, has(c, 8) ? elementOf(c, 8) : int(TensorProto::FLOAT), y);
}

void fusedConv(InferenceContext &c) { asStandard(c, "Conv"); }

/// Windows over an image whose channels stand behind it.
void channelsLast(InferenceContext &c, int element, std::vector<int64_t> kernel,
                  const Dim &channels) {
  std::optional<Shape> shape = shapeOf(c, 0);
  size_t axes = shape && shape->size() > 2 ? shape->size() - 2 : 0;
  if (!axes || kernel.size() != axes)
    return set(c, 0, element, std::nullopt);
  auto list = [&](const char *name, size_t size, int64_t fallback) {
    std::vector<int64_t> values = integers(c, name);
    return values.size() == size ? values
                                 : std::vector<int64_t>(size, fallback);
  };
  std::vector<int64_t> strides = list("strides", axes, 1),
                       dilations = list("dilations", axes, 1),
                       pads = list("pads", 2 * axes, 0);
  const auto *automatic = c.getAttribute("auto_pad");
  bool same = automatic && automatic->s().rfind("SAME", 0) == 0;
  bool up = integer(c, "ceil_mode", 0);
  for (size_t i = 0; i < axes; ++i) {
    int64_t size = valueOf((*shape)[i + 1]), stride = strides[i];
    if (stride < 1)
      fail_shape_inference("strides must be at least 1, got: ", stride);
    int64_t room =
        size + pads[i] + pads[i + axes] - ((kernel[i] - 1) * dilations[i] + 1);
    int64_t count = same ? (size + stride - 1) / stride
                         : (room + (up ? stride - 1 : 0)) / stride + 1;
    (*shape)[i + 1] =
        size < 0 || kernel[i] < 1 || (!same && room < 0) ? Dim() : dim(count);
  }
  shape->back() = channels;
  set(c, 0, element, shape);
}

void qLinearConv(InferenceContext &c) {
  if (!integer(c, "channels_last", 0))
    return asStandard(c, "QLinearConv");
  std::optional<Shape> weight = shapeOf(c, 3);
  std::vector<int64_t> kernel;
  for (size_t i = 2; weight && i < weight->size(); ++i)
    kernel.push_back(valueOf((*weight)[i]));
  channelsLast(c, elementOf(c, 7), kernel,
               weight && !weight->empty() ? weight->front() : Dim());
}

void pooledLast(InferenceContext &c) {
  std::optional<Shape> shape = shapeOf(c, 0);
  channelsLast(c, elementOf(c, 0), integers(c, "kernel_shape"),
               shape && !shape->empty() ? shape->back() : Dim());
}

void qLinearAveragePool(InferenceContext &c) {
  if (!integer(c, "channels_last", 0))
    return asStandard(c, "AveragePool");
  pooledLast(c);
}

//===----------------------------------------------------------------------===//
// Attention, recurrent networks, embeddings
//===----------------------------------------------------------------------===//

/// input [B, S, I], weights [I, Q + K + V].
void packedAttention(InferenceContext &c, int element, size_t past) {
  std::optional<Shape> x = shapeOf(c, 0), w = shapeOf(c, 1);
  if (!x || !w || x->size() != 3 || w->size() != 2)
    return set(c, 0, element, std::nullopt);
  std::vector<int64_t> sizes = integers(c, "qkv_hidden_sizes");
  Dim values = sizes.size() == 3 ? dim(sizes[2]) : over((*w)[1], 3);
  set(c, 0, element, Shape{(*x)[0], (*x)[1], values});
  int64_t heads = integer(c, "num_heads", 0);
  std::optional<Shape> before = shapeOf(c, past);
  Dim keys = !has(c, past)                   ? (*x)[1]
             : before && before->size() == 5 ? plus((*before)[3], (*x)[1])
                                             : Dim();
  set(c, 1, element,
      Shape{dim(2), (*x)[0], dim(heads), keys, over(values, heads)});
}

void attention(InferenceContext &c) { packedAttention(c, elementOf(c, 0), 4); }
void qAttention(InferenceContext &c) { packedAttention(c, elementOf(c, 3), 8); }

/// query [B, S, H * E], key and value [B, L, H * E] or [B, H, L, E]; or all in
/// one: query [B, S, H, 3, E], or key [B, L, H, 2, E].
void multiHeadAttention(InferenceContext &c) {
  std::optional<Shape> q = shapeOf(c, 0), k = shapeOf(c, 1), v = shapeOf(c, 2);
  int element = elementOf(c, 0);
  int64_t heads = integer(c, "num_heads", 0);
  if (!q || (q->size() != 3 && q->size() != 5))
    return set(c, 0, element, std::nullopt);
  Dim hidden = q->size() == 5 ? times((*q)[2], (*q)[4]) : q->back();
  Dim keys = (*q)[1];
  if (v && v->size() == 4)
    hidden = times((*v)[1], (*v)[3]);
  else if (v && v->size() == 3)
    hidden = v->back();
  if (k && (k->size() == 3 || k->size() == 5))
    keys = (*k)[1];
  else if (k && k->size() == 4)
    keys = (*k)[2];
  set(c, 0, element, Shape{(*q)[0], (*q)[1], hidden});
  std::optional<Shape> past = shapeOf(c, 6);
  if (has(c, 6))
    keys = past && past->size() == 4 ? plus((*past)[2], keys) : Dim();
  Dim keySize = q->size() == 5 ? (*q)[4] : over(q->back(), heads);
  set(c, 1, element, Shape{(*q)[0], dim(heads), keys, keySize});
  set(c, 2, element, Shape{(*q)[0], dim(heads), keys, over(hidden, heads)});
  set(c, 3, element, Shape{(*q)[0], dim(heads), (*q)[1], keys});
}

/// query [B, S, H * E], or with keys and values behind them.
void groupQueryAttention(InferenceContext &c) {
  std::optional<Shape> q = shapeOf(c, 0), past = shapeOf(c, 3);
  int element = elementOf(c, 0);
  int cache = has(c, 3) ? elementOf(c, 3) : element;
  if (!q || q->size() != 3)
    return set(c, 0, element, std::nullopt);
  int64_t heads = integer(c, "num_heads", 0);
  int64_t kvHeads = integer(c, "kv_num_heads", 0);
  Dim size = over(q->back(), has(c, 1) ? heads : heads + 2 * kvHeads);
  set(c, 0, element, Shape{(*q)[0], (*q)[1], times(size, dim(heads))});
  // A cache holds what it held, or as many keys as there are after this run.
  Dim keys = has(c, 3) ? Dim() : (*q)[1];
  if (past && past->size() == 4 && valueOf((*past)[2]) >= 0) {
    if (const TensorProto *total = c.getInputData(6))
      for (int32_t count : onnx::ParseData<int32_t>(total))
        keys = dim(std::max<int64_t>(count, valueOf((*past)[2])));
    else if (valueOf((*past)[2]) == 0)
      keys = (*q)[1];
  }
  for (size_t output : {1, 2})
    set(c, output, cache, Shape{(*q)[0], dim(kvHeads), keys, size});
}

void embedLayerNorm(InferenceContext &c) {
  std::optional<Shape> ids = shapeOf(c, 0), table = shapeOf(c, 2);
  std::optional<Shape> y;
  if (ids && table && ids->size() == 2 && table->size() == 2)
    y = Shape{(*ids)[0], (*ids)[1], (*table)[1]};
  set(c, 0, elementOf(c, 2), y);
  set(c, 1, TensorProto::INT32,
      ids ? std::optional(Shape{(*ids)[0]}) : std::nullopt);
  set(c, 2, elementOf(c, 2), y);
}

/// X [T, N, I], R [D, H, 4 * H].
void dynamicQuantizeLstm(InferenceContext &c) {
  std::optional<Shape> x = shapeOf(c, 0), r = shapeOf(c, 2);
  if (!x || !r || x->size() != 3 || r->size() != 3) {
    for (size_t output : {0, 1, 2})
      set(c, output, TensorProto::FLOAT, std::nullopt);
    return;
  }
  Dim directions = (*r)[0], hidden = (*r)[1], batch = (*x)[1];
  set(c, 0, TensorProto::FLOAT, Shape{(*x)[0], directions, batch, hidden});
  set(c, 1, TensorProto::FLOAT, Shape{directions, batch, hidden});
  set(c, 2, TensorProto::FLOAT, Shape{directions, batch, hidden});
}

struct Entry {
  const char *name;
  InferenceFunction function;
};

constexpr Entry table[] = {
    {"Attention", attention},
    {"BiasAdd", likeInput0},
    {"BiasGelu", likeInput0},
    {"BiasSoftmax", likeInput0},
    {"BiasSplitGelu", biasSplitGelu},
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLSTM", dynamicQuantizeLstm},
    {"DynamicQuantizeMatMul", dynamicQuantizeMatMul},
    {"EmbedLayerNormalization", embedLayerNorm},
    {"ExpandDims", expandDims},
    {"FastGelu", likeInput0},
    {"FusedConv", fusedConv},
    {"FusedGemm", fusedGemm},
    {"FusedMatMul", fusedMatMul},
    {"GatherBlockQuantized", gatherBlockQuantized},
    {"Gelu", likeInput0},
    {"GroupNorm", likeInput0},
    {"GroupQueryAttention", groupQueryAttention},
    {"Inverse", likeInput0},
    {"MatMulIntegerToFloat", matMulIntegerToFloat},
    {"MatMulNBits", matMulNBits},
    {"MultiHeadAttention", multiHeadAttention},
    {"NhwcMaxPool", pooledLast},
    {"QAttention", qAttention},
    {"QGemm", qGemm},
    {"QLinearAdd", qLinearBinary},
    {"QLinearAveragePool", qLinearAveragePool},
    {"QLinearConcat", qLinearConcat},
    {"QLinearConv", qLinearConv},
    {"QLinearGlobalAveragePool", globalPool},
    {"QLinearLeakyRelu", likeInput0},
    {"QLinearMul", qLinearBinary},
    {"QLinearReduceMean", qLinearReduceMean},
    {"QLinearSigmoid", likeInput0},
    {"QLinearSoftmax", likeInput0},
    {"QLinearWhere", qLinearWhere},
    {"QuantizeLinear", quantize},
    {"QuickGelu", likeInput0},
    {"RotaryEmbedding", likeInput0},
    {"SimplifiedLayerNormalization", simplifiedNorm},
    {"SkipGroupNorm", skipGroupNorm},
    {"SkipLayerNormalization", skipNorm},
    {"SkipSimplifiedLayerNormalization", skipNorm},
    {"TransposeMatMul", fusedMatMul},
    {"Trilu", likeInput0},
    {"Unique", unique},
};

} // namespace

InferenceFunction inferenceOf(const char *name) {
  for (const Entry &entry : table)
    if (std::strcmp(entry.name, name) == 0)
      return entry.function;
  return nullptr;
}

} // namespace hethub::ms

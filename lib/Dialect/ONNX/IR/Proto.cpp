//===- Proto.cpp - ONNX messages to MLIR types and attributes -------------===//

#include "hethub/Dialect/ONNX/IR/Proto.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using onnx::AttributeProto;
using onnx::TensorProto;
using onnx::TypeProto;

namespace hethub::ox {

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {
struct Element {
  int number;
  const char *name;
  int bits;
  Type (*get)(MLIRContext *);
};

template <unsigned width, bool isUnsigned = false>
Type integer(MLIRContext *context) {
  return IntegerType::get(context, width,
                          isUnsigned ? IntegerType::Unsigned
                                     : IntegerType::Signless);
}
template <typename T>
Type simple(MLIRContext *context) {
  return T::get(context);
}
template <typename T>
Type complexOf(MLIRContext *context) {
  return ComplexType::get(T::get(context));
}
} // namespace

static constexpr Element elements[] = {
    {TensorProto::FLOAT, "float", 32, simple<Float32Type>},
    {TensorProto::UINT8, "uint8", 8, integer<8, true>},
    {TensorProto::INT8, "int8", 8, integer<8>},
    {TensorProto::UINT16, "uint16", 16, integer<16, true>},
    {TensorProto::INT16, "int16", 16, integer<16>},
    {TensorProto::INT32, "int32", 32, integer<32>},
    {TensorProto::INT64, "int64", 64, integer<64>},
    {TensorProto::STRING, "string", 0, simple<StringType>},
    {TensorProto::BOOL, "bool", 8, integer<1>},
    {TensorProto::FLOAT16, "float16", 16, simple<Float16Type>},
    {TensorProto::DOUBLE, "double", 64, simple<Float64Type>},
    {TensorProto::UINT32, "uint32", 32, integer<32, true>},
    {TensorProto::UINT64, "uint64", 64, integer<64, true>},
    {TensorProto::COMPLEX64, "complex64", 64, complexOf<Float32Type>},
    {TensorProto::COMPLEX128, "complex128", 128, complexOf<Float64Type>},
    {TensorProto::BFLOAT16, "bfloat16", 16, simple<BFloat16Type>},
    {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", 8, simple<Float8E4M3FNType>},
    {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8,
     simple<Float8E4M3FNUZType>},
    {TensorProto::FLOAT8E5M2, "float8e5m2", 8, simple<Float8E5M2Type>},
    {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8,
     simple<Float8E5M2FNUZType>},
    {TensorProto::UINT4, "uint4", 4, integer<4, true>},
    {TensorProto::INT4, "int4", 4, integer<4>},
    {TensorProto::FLOAT4E2M1, "float4e2m1", 4, simple<Float4E2M1FNType>},
    {TensorProto::FLOAT8E8M0, "float8e8m0", 8, simple<Float8E8M0FNUType>},
    {TensorProto::UINT2, "uint2", 2, integer<2, true>},
    {TensorProto::INT2, "int2", 2, integer<2>},
    {TensorProto::FLOAT6E2M3, "float6e2m3", 6, simple<Float6E2M3FNType>},
    {TensorProto::FLOAT6E3M2, "float6e3m2", 6, simple<Float6E3M2FNType>},
};

static const Element *findElement(int number) {
  for (const Element &element : elements)
    if (element.number == number)
      return &element;
  return nullptr;
}

Type elementFromProto(int elementType, MLIRContext *context) {
  const Element *element = findElement(elementType);
  return element ? element->get(context) : Type();
}

int elementToProto(Type elementType) {
  if (auto integerType = dyn_cast_or_null<IntegerType>(elementType))
    if (integerType.isSigned())
      return 0;
  for (const Element &element : elements)
    if (element.get(elementType.getContext()) == elementType)
      return element.number;
  return 0;
}

std::string elementName(int elementType) {
  const Element *element = findElement(elementType);
  return element ? element->name : std::to_string(elementType);
}

int elementBits(int elementType) {
  const Element *element = findElement(elementType);
  return element ? element->bits : 0;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type typeFromProto(const TypeProto &type, MLIRContext *context) {
  switch (type.value_case()) {
  case TypeProto::VALUE_NOT_SET:
    return UnknownType::get(context);
  case TypeProto::kTensorType: {
    if (!type.tensor_type().elem_type())
      return UnknownType::get(context);
    Type element = elementFromProto(type.tensor_type().elem_type(), context);
    if (!element)
      return nullptr;
    if (!type.tensor_type().has_shape())
      return UnrankedTensorType::get(element);
    SmallVector<int64_t> dims;
    for (const auto &dim : type.tensor_type().shape().dim())
      dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0
                         ? dim.dim_value()
                         : ShapedType::kDynamic);
    return RankedTensorType::get(dims, element);
  }
  case TypeProto::kSequenceType: {
    Type inner = typeFromProto(type.sequence_type().elem_type(), context);
    return inner ? SeqType::get(context, inner) : Type();
  }
  case TypeProto::kOptionalType: {
    Type inner = typeFromProto(type.optional_type().elem_type(), context);
    return inner ? OptType::get(context, inner) : Type();
  }
  case TypeProto::kMapType: {
    Type key = elementFromProto(type.map_type().key_type(), context);
    Type value = typeFromProto(type.map_type().value_type(), context);
    return key && value ? MapType::get(context, key, value) : Type();
  }
  default:
    return nullptr;
  }
}

TypeProto typeToProto(Type type) {
  TypeProto result;
  if (auto tensor = dyn_cast_or_null<TensorType>(type)) {
    auto *proto = result.mutable_tensor_type();
    proto->set_elem_type(elementToProto(tensor.getElementType()));
    if (tensor.hasRank()) {
      auto *shape = proto->mutable_shape();
      for (int64_t dim : tensor.getShape()) {
        auto *added = shape->add_dim();
        if (!ShapedType::isDynamic(dim))
          added->set_dim_value(dim);
      }
    }
  } else if (auto sequence = dyn_cast_or_null<SeqType>(type)) {
    *result.mutable_sequence_type()->mutable_elem_type() =
        typeToProto(sequence.getElementType());
  } else if (auto optional = dyn_cast_or_null<OptType>(type)) {
    *result.mutable_optional_type()->mutable_elem_type() =
        typeToProto(optional.getElementType());
  } else if (auto map = dyn_cast_or_null<MapType>(type)) {
    result.mutable_map_type()->set_key_type(elementToProto(map.getKeyType()));
    *result.mutable_map_type()->mutable_value_type() =
        typeToProto(map.getValueType());
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::optional<int64_t> elementCount(const TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims()) {
    if (dim < 0)
      return std::nullopt;
    if (llvm::MulOverflow(count, dim, count))
      return std::nullopt;
  }
  return count;
}

std::optional<int64_t> rawByteCount(const TensorProto &tensor) {
  std::optional<int64_t> count = elementCount(tensor);
  int64_t bits = elementBits(tensor.data_type());
  int64_t total;
  if (!count || !bits || llvm::MulOverflow(*count, bits, total))
    return std::nullopt;
  return total / 8 + (total % 8 != 0);
}

/// Appends `bits` low bits of each value, least significant first.
static std::string packBits(ArrayRef<uint8_t> values, int bits) {
  std::string result((values.size() * bits + 7) / 8, '\0');
  for (auto [index, value] : llvm::enumerate(values))
    for (int bit = 0; bit < bits; ++bit) {
      size_t position = index * bits + bit;
      if (value >> bit & 1)
        result[position / 8] |= static_cast<char>(1 << (position % 8));
    }
  return result;
}

/// One byte per element, upper bits zero: what dense attributes store for
/// elements of less than a byte.
static std::vector<char> unpackBits(StringRef packed, int64_t count, int bits) {
  std::vector<char> result(count);
  for (int64_t index = 0; index < count; ++index)
    for (int bit = 0; bit < bits; ++bit) {
      size_t position = index * bits + bit;
      if (packed[position / 8] >> (position % 8) & 1)
        result[index] |= static_cast<char>(1 << bit);
    }
  return result;
}

template <typename Stored, typename Values>
static std::string bytesOf(const Values &values) {
  std::string result;
  result.reserve(values.size() * sizeof(Stored));
  for (auto value : values) {
    Stored stored = static_cast<Stored>(value);
    result.append(reinterpret_cast<const char *>(&stored), sizeof(Stored));
  }
  return result;
}

std::string rawBytes(const TensorProto &tensor) {
  if (tensor.has_raw_data())
    return tensor.raw_data();
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
  case TensorProto::COMPLEX64:
    return bytesOf<float>(tensor.float_data());
  case TensorProto::DOUBLE:
  case TensorProto::COMPLEX128:
    return bytesOf<double>(tensor.double_data());
  case TensorProto::INT64:
    return bytesOf<int64_t>(tensor.int64_data());
  case TensorProto::UINT64:
    return bytesOf<uint64_t>(tensor.uint64_data());
  case TensorProto::UINT32:
    return bytesOf<uint32_t>(tensor.uint64_data());
  case TensorProto::INT32:
    return bytesOf<int32_t>(tensor.int32_data());
  case TensorProto::FLOAT6E2M3:
  case TensorProto::FLOAT6E3M2: {
    SmallVector<uint8_t> values(tensor.int32_data().begin(),
                                tensor.int32_data().end());
    return packBits(values, 6);
  }
  default:
    break;
  }
  // The field holds 16-bit patterns, bytes, or bytes of packed elements.
  return elementBits(tensor.data_type()) == 16
             ? bytesOf<uint16_t>(tensor.int32_data())
             : bytesOf<uint8_t>(tensor.int32_data());
}

DenseElementsAttr denseFromRaw(RankedTensorType type, StringRef raw) {
  int64_t count = type.getNumElements();
  if (count == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  Type element = type.getElementType();
  if (element.isInteger(1)) {
    SmallVector<bool> values;
    for (char byte : raw)
      values.push_back(byte != 0);
    return DenseElementsAttr::get(type, values);
  }
  int bits = elementBits(elementToProto(element));
  if (bits >= 8)
    return DenseElementsAttr::getFromRawBuffer(
        type, ArrayRef<char>(raw.data(), raw.size()));
  return DenseElementsAttr::getFromRawBuffer(type,
                                             unpackBits(raw, count, bits));
}

DenseElementsAttr tensorFromProto(const TensorProto &tensor,
                                  MLIRContext *context) {
  Type element = elementFromProto(tensor.data_type(), context);
  auto type = RankedTensorType::get(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims().size()), element);
  if (tensor.data_type() == TensorProto::STRING) {
    SmallVector<StringRef> values(tensor.string_data().begin(),
                                  tensor.string_data().end());
    return DenseElementsAttr::get(type, values);
  }
  return denseFromRaw(type, rawBytes(tensor));
}

TensorProto tensorToProto(DenseElementsAttr value) {
  TensorProto result;
  ShapedType type = value.getType();
  Type element = type.getElementType();
  result.set_data_type(elementToProto(element));
  for (int64_t dim : type.getShape())
    result.add_dims(dim);
  int64_t count = type.getNumElements();
  if (isa<StringType>(element)) {
    for (StringRef text : value.getValues<StringRef>())
      result.add_string_data(text.str());
    return result;
  }
  std::string &raw = *result.mutable_raw_data();
  if (count == 0)
    return result;
  if (element.isInteger(1)) {
    for (bool bit : value.getValues<bool>())
      raw.push_back(bit);
    return result;
  }
  ArrayRef<char> stored = value.getRawData();
  raw.assign(stored.begin(), stored.end());
  if (value.isSplat()) {
    std::string one = raw;
    raw.reserve(one.size() * count);
    for (int64_t i = 1; i < count; ++i)
      raw += one;
  }
  int bits = elementBits(result.data_type());
  if (bits < 8)
    raw = packBits(
        ArrayRef(reinterpret_cast<const uint8_t *>(raw.data()), raw.size()),
        bits);
  return result;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute attributeFromProto(const AttributeProto &attribute,
                             MLIRContext *context) {
  Builder builder(context);
  switch (attribute.type()) {
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(attribute.i());
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attribute.f());
  case AttributeProto::STRING:
    return builder.getStringAttr(attribute.s());
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        ArrayRef<int64_t>(attribute.ints().data(), attribute.ints_size()));
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(
        ArrayRef<float>(attribute.floats().data(), attribute.floats_size()));
  case AttributeProto::STRINGS: {
    SmallVector<StringRef> values(attribute.strings().begin(),
                                  attribute.strings().end());
    return builder.getStrArrayAttr(values);
  }
  case AttributeProto::TENSOR:
    return tensorFromProto(attribute.t(), context);
  case AttributeProto::TYPE_PROTO: {
    Type type = typeFromProto(attribute.tp(), context);
    return type ? TypeAttr::get(type) : Attribute();
  }
  default:
    return nullptr;
  }
}

bool attributeToProto(StringRef name, Attribute value,
                      AttributeProto &attribute) {
  attribute.set_name(name.str());
  if (auto integerAttr = dyn_cast<IntegerAttr>(value)) {
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(integerAttr.getInt());
  } else if (auto real = dyn_cast<FloatAttr>(value)) {
    attribute.set_type(AttributeProto::FLOAT);
    attribute.set_f(static_cast<float>(real.getValueAsDouble()));
  } else if (auto text = dyn_cast<StringAttr>(value)) {
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(text.str());
  } else if (auto integers = dyn_cast<DenseI64ArrayAttr>(value)) {
    attribute.set_type(AttributeProto::INTS);
    for (int64_t item : integers.asArrayRef())
      attribute.add_ints(item);
  } else if (auto reals = dyn_cast<DenseF32ArrayAttr>(value)) {
    attribute.set_type(AttributeProto::FLOATS);
    for (float item : reals.asArrayRef())
      attribute.add_floats(item);
  } else if (auto texts = dyn_cast<ArrayAttr>(value)) {
    attribute.set_type(AttributeProto::STRINGS);
    for (Attribute item : texts) {
      auto itemText = dyn_cast<StringAttr>(item);
      if (!itemText)
        return false;
      attribute.add_strings(itemText.str());
    }
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    attribute.set_type(AttributeProto::TENSOR);
    *attribute.mutable_t() = tensorToProto(dense);
  } else if (auto type = dyn_cast<TypeAttr>(value)) {
    attribute.set_type(AttributeProto::TYPE_PROTO);
    *attribute.mutable_tp() = typeToProto(type.getValue());
  } else {
    return false;
  }
  return true;
}

} // namespace hethub::ox

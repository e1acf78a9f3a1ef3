//===- Types.cpp - MLIR types and constants as the stage program has them -===//

#include "hethub/Emit/Program/Types.h"
#include "hethub.pb.h"

using namespace mlir;

namespace hethub::emit {

namespace {
struct TypeNames {
  int number = DTYPE_UNSPECIFIED;
  StringRef safetensors;
};
} // namespace

static TypeNames namesOf(Type type) {
  if (type.isF32())
    return {FLOAT32, "F32"};
  if (type.isF64())
    return {FLOAT64, "F64"};
  if (type.isF16())
    return {FLOAT16, "F16"};
  if (type.isBF16())
    return {BFLOAT16, "BF16"};
  if (isa<Float8E4M3FNType>(type))
    return {FLOAT8E4M3FN, "F8_E4M3"};
  if (isa<Float8E5M2Type>(type))
    return {FLOAT8E5M2, "F8_E5M2"};
  if (isa<Float8E4M3FNUZType>(type))
    return {FLOAT8E4M3FNUZ, ""};
  if (isa<Float8E5M2FNUZType>(type))
    return {FLOAT8E5M2FNUZ, ""};
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return {COMPLEX64, "C64"};
    if (complex.getElementType().isF64())
      return {COMPLEX128, ""};
    return {};
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return {BOOL, "BOOL"};
  case 8:
    return isUnsigned ? TypeNames{UINT8, "U8"} : TypeNames{INT8, "I8"};
  case 16:
    return isUnsigned ? TypeNames{UINT16, "U16"} : TypeNames{INT16, "I16"};
  case 32:
    return isUnsigned ? TypeNames{UINT32, "U32"} : TypeNames{INT32, "I32"};
  case 64:
    return isUnsigned ? TypeNames{UINT64, "U64"} : TypeNames{INT64, "I64"};
  default:
    return {};
  }
}

std::optional<int> dtypeNumber(Type elementType) {
  int number = namesOf(elementType).number;
  return number == DTYPE_UNSPECIFIED ? std::nullopt
                                     : std::optional<int>(number);
}

StringRef safetensorsName(Type elementType) {
  return namesOf(elementType).safetensors;
}

bool setTensorType(RankedTensorType type, TensorType &out) {
  std::optional<int> number = dtypeNumber(type.getElementType());
  if (!number)
    return false;
  out.set_dtype(static_cast<DType>(*number));
  for (int64_t dim : type.getShape())
    out.add_dims(ShapedType::isDynamic(dim) ? -1 : dim);
  return true;
}

std::string constantBytes(DenseElementsAttr value) {
  std::string bytes;
  if (value.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes.push_back(element ? 1 : 0);
    return bytes;
  }
  ArrayRef<char> raw = value.getRawData();
  int64_t copies = value.isSplat() ? value.getNumElements() : 1;
  bytes.reserve(raw.size() * copies);
  for (int64_t i = 0; i < copies; ++i)
    bytes.append(raw.data(), raw.size());
  return bytes;
}

} // namespace hethub::emit

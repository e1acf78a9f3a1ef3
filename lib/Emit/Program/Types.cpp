//===- Types.cpp - MLIR types and constants as the stage program has them -===//

#include "hethub/Emit/Program/Types.h"
#include "hethub.pb.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hethub::emit {

namespace {
/// How values of a type are held at run time, and what files call the type.
struct TypeNames {
  int number = DTYPE_UNSPECIFIED;
  StringRef safetensors; ///< "I4" and the like are names of ours
};
} // namespace

static TypeNames namesOfFloat(FloatType type) {
  return TypeSwitch<FloatType, TypeNames>(type)
      .Case([](Float32Type) { return TypeNames{FLOAT32, "F32"}; })
      .Case([](Float64Type) { return TypeNames{FLOAT64, "F64"}; })
      .Case([](Float16Type) { return TypeNames{FLOAT16, "F16"}; })
      .Case([](BFloat16Type) { return TypeNames{BFLOAT16, "BF16"}; })
      .Case([](Float8E4M3FNType) { return TypeNames{FLOAT8E4M3FN, "F8_E4M3"}; })
      .Case([](Float8E5M2Type) { return TypeNames{FLOAT8E5M2, "F8_E5M2"}; })
      .Case([](Float8E4M3FNUZType) {
        return TypeNames{FLOAT8E4M3FNUZ, "F8_E4M3FNUZ"};
      })
      .Case([](Float8E5M2FNUZType) {
        return TypeNames{FLOAT8E5M2FNUZ, "F8_E5M2FNUZ"};
      })
      .Case([](Float8E8M0FNUType) { return TypeNames{FLOAT8E8M0, "F8_E8M0"}; })
      // Codes, one a byte.
      .Case([](Float4E2M1FNType) { return TypeNames{UINT8, "F4"}; })
      .Case([](Float6E2M3FNType) { return TypeNames{UINT8, "F6_E2M3"}; })
      .Case([](Float6E3M2FNType) { return TypeNames{UINT8, "F6_E3M2"}; })
      .Default(TypeNames{});
}

static TypeNames namesOf(Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return namesOfFloat(real);
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return {COMPLEX64, "C64"};
    if (complex.getElementType().isF64())
      return {COMPLEX128, "C128"};
    return {};
  }
  if (isa<ox::StringType>(type))
    return {STRING, ""}; // held as numbers of a table (DynamicOps.h)
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return {BOOL, "BOOL"};
  case 2:
    return isUnsigned ? TypeNames{UINT8, "U2"} : TypeNames{INT8, "I2"};
  case 4:
    return isUnsigned ? TypeNames{UINT8, "U4"} : TypeNames{INT8, "I4"};
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

int64_t fileBytes(RankedTensorType type) {
  Type element = type.getElementType();
  if (element.isInteger(1) || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() >= 8)
    return hh::byteSize(type);
  return llvm::divideCeil(
      type.getNumElements() * element.getIntOrFloatBitWidth(), 8);
}

std::string constantBytes(DenseElementsAttr value) {
  std::string bytes;
  if (auto integer = dyn_cast<IntegerType>(value.getElementType());
      integer && integer.getWidth() > 1 && integer.getWidth() < 8) {
    for (const APInt &element : value.getValues<APInt>())
      bytes.push_back(static_cast<char>(integer.isUnsigned()
                                            ? element.getZExtValue()
                                            : element.getSExtValue()));
    return bytes;
  }
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

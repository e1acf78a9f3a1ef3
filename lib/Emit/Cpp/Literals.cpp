//===- Literals.cpp - numbers, shapes and types as C++ text ---------------===//

#include "Literals.h"
#include "Identifiers.h"

#include "hethub.pb.h"
#include "hethub/Emit/Program/Types.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace hethub::emit {

std::string literal(int64_t value) {
  // The smallest number is no literal: minus is an operator.
  if (value == std::numeric_limits<int64_t>::min())
    return "std::numeric_limits<int64_t>::min()";
  return std::to_string(value);
}

/// The fewest significant digits that `reads` accepts as the same number.
template <typename Reads>
static std::string shortest(double value, int mostDigits, Reads reads) {
  std::string text;
  for (int digits = 1; digits <= mostDigits; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    if (reads(text.c_str()))
      break;
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::string literal(double value) {
  if (std::isnan(value))
    return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value))
    return value < 0 ? "-std::numeric_limits<double>::infinity()"
                     : "std::numeric_limits<double>::infinity()";
  std::string text = shortest(value, 17, [&](const char *digits) {
    return std::strtod(digits, nullptr) == value;
  });
  // Attributes of ONNX are floats: 1e-05f says exactly
  // what 9.999999747378752e-06 does.
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value)
    return text;
  std::string narrowText = shortest(value, 9, [&](const char *digits) {
    return std::strtof(digits, nullptr) == narrow;
  });
  return narrowText.size() + 1 < text.size() ? narrowText + "f" : text;
}

template <typename T>
static std::string list(ArrayRef<T> values) {
  std::string text = "{";
  for (auto [index, value] : llvm::enumerate(values)) {
    if (index)
      text += ", ";
    if constexpr (std::is_same_v<T, bool>)
      text += value ? "true" : "false";
    else
      text += literal(value);
  }
  return text + "}";
}

std::string literal(ArrayRef<int64_t> values) { return list(values); }
std::string literal(ArrayRef<double> values) { return list(values); }
std::string literal(ArrayRef<bool> values) { return list(values); }

StringRef scalarType(Type elementType) {
  return scalarType(dtypeNumber(elementType).value_or(DTYPE_UNSPECIFIED));
}

StringRef scalarType(int dtype) {
  switch (dtype) {
  case FLOAT32:
    return "at::kFloat";
  case FLOAT64:
    return "at::kDouble";
  case FLOAT16:
    return "at::kHalf";
  case BFLOAT16:
    return "at::kBFloat16";
  case INT8:
    return "at::kChar";
  case UINT8:
    return "at::kByte";
  case INT16:
    return "at::kShort";
  case UINT16:
    return "at::kUInt16";
  case INT32:
    return "at::kInt";
  case UINT32:
    return "at::kUInt32";
  case INT64:
    return "at::kLong";
  case UINT64:
    return "at::kUInt64";
  case BOOL:
    return "at::kBool";
  case COMPLEX64:
    return "at::kComplexFloat";
  case COMPLEX128:
    return "at::kComplexDouble";
  case FLOAT8E4M3FN:
    return "at::kFloat8_e4m3fn";
  case FLOAT8E5M2:
    return "at::kFloat8_e5m2";
  case FLOAT8E4M3FNUZ:
    return "at::kFloat8_e4m3fnuz";
  case FLOAT8E5M2FNUZ:
    return "at::kFloat8_e5m2fnuz";
  case FLOAT8E8M0:
    return "at::kFloat8_e8m0fnu";
  case STRING: // numbers of a table (DynamicOps.h)
    return "at::kLong";
  default:
    return "";
  }
}

std::string constant(DenseElementsAttr value) {
  ShapedType type = value.getType();
  Type element = type.getElementType();
  if (auto text = dyn_cast<DenseStringElementsAttr>(value)) {
    std::string values;
    for (StringRef string : text.getValues<StringRef>())
      values += (values.empty() ? "" : ", ") +
                ("std::string(" + stringLiteral(string) + ", " +
                 std::to_string(string.size()) + ")");
    return "hethub::ops::strings({" + values + "}, " +
           literal(type.getShape()) + ")";
  }
  std::string head =
      literal(type.getShape()) + ", " + scalarType(element).str() + ", ";
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && !integer.isUnsigned()) {
    SmallVector<int64_t> numbers;
    for (const APInt &number : value.getValues<APInt>())
      numbers.push_back(integer.getWidth() == 1 ? number.getZExtValue()
                                                : number.getSExtValue());
    return "rt::constantInts(" + head + literal(numbers) + ", file.device())";
  }
  bool finite = element.isF32() || element.isF64();
  SmallVector<double> numbers;
  if (finite)
    for (const APFloat &number : value.getValues<APFloat>()) {
      double real =
          element.isF32() ? number.convertToFloat() : number.convertToDouble();
      finite &= std::isfinite(real);
      numbers.push_back(real);
    }
  if (finite)
    return "rt::constantFloats(" + head + literal(numbers) + ", file.device())";
  std::string bytes = constantBytes(value);
  return "rt::constantBytes(" + head + "std::string_view(" +
         stringLiteral(bytes) + ", " + std::to_string(bytes.size()) +
         "), file.device())";
}

} // namespace hethub::emit

// Element types: names of safetensors and NumPy in one table, sizes, and types
// written out.
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"

#include <c10/core/ScalarType.h>

using namespace hethub::runtime;

namespace {
struct Row {
  at::ScalarType dtype;
  const char *safetensors;
  const char *numpy;
};
constexpr Row table[] = {
    {at::kDouble, "F64", "float64"},
    {at::kFloat, "F32", "float32"},
    {at::kHalf, "F16", "float16"},
    {at::kBFloat16, "BF16", "bfloat16"},
    {at::kLong, "I64", "int64"},
    {at::kInt, "I32", "int32"},
    {at::kShort, "I16", "int16"},
    {at::kChar, "I8", "int8"},
    {at::kByte, "U8", "uint8"},
    {at::kUInt16, "U16", "uint16"},
    {at::kUInt32, "U32", "uint32"},
    {at::kUInt64, "U64", "uint64"},
    {at::kBool, "BOOL", "bool"},
    {at::kFloat8_e4m3fn, "F8_E4M3", "float8_e4m3fn"},
    {at::kFloat8_e5m2, "F8_E5M2", "float8_e5m2"},
    {at::kFloat8_e4m3fnuz, "F8_E4M3FNUZ", "float8_e4m3fnuz"},
    {at::kFloat8_e5m2fnuz, "F8_E5M2FNUZ", "float8_e5m2fnuz"},
    {at::kFloat8_e8m0fnu, "F8_E8M0", "float8_e8m0fnu"},
    {at::kComplexFloat, "C64", "complex64"},
    {at::kComplexDouble, "C128", "complex128"},
};
} // namespace

std::optional<at::ScalarType>
hethub::runtime::dtypeOfSafetensors(std::string_view name) {
  for (const Row &row : table)
    if (name == row.safetensors)
      return row.dtype;
  return std::nullopt;
}

std::string hethub::runtime::safetensorsName(at::ScalarType dtype) {
  for (const Row &row : table)
    if (dtype == row.dtype)
      return row.safetensors;
  fail("safetensors has no element type ", c10::toString(dtype));
}

std::string hethub::runtime::dtypeName(at::ScalarType dtype) {
  for (const Row &row : table)
    if (dtype == row.dtype)
      return row.numpy;
  return c10::toString(dtype);
}

std::string hethub::runtime::typeName(at::ScalarType dtype,
                                      at::IntArrayRef shape) {
  std::string text;
  for (int64_t size : shape)
    text += (size < 0 ? std::string("?") : std::to_string(size)) + "x";
  return text + dtypeName(dtype);
}

int64_t hethub::runtime::byteCount(at::ScalarType dtype,
                                   at::IntArrayRef shape) {
  int64_t bytes = static_cast<int64_t>(c10::elementSize(dtype));
  for (int64_t size : shape) {
    if (size < 0)
      fail("sizes must not be negative, got: ", typeName(dtype, shape));
    if (__builtin_mul_overflow(bytes, size, &bytes))
      fail("type has more bytes than fit 63 bits: ", typeName(dtype, shape));
  }
  return bytes;
}

bool hethub::runtime::shapeFits(at::IntArrayRef actual,
                                at::IntArrayRef expected) {
  if (actual.size() != expected.size())
    return false;
  for (size_t i = 0; i < actual.size(); ++i)
    if (expected[i] >= 0 && actual[i] != expected[i])
      return false;
  return true;
}

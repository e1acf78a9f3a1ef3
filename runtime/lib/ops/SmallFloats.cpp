// Floats of 4 and 6 bits, one to a byte, which LibTorch does not have, and the
// exponents of 8 bits, which it rounds in its own way.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace hethub::ops {

namespace {

/// Sign, exponent and mantissa of a format without infinity and NaN.
struct Format {
  std::string_view name;
  int exponentBits, mantissaBits;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  /// The code of the largest number, sign left out.
  int largest() const { return (1 << (exponentBits + mantissaBits)) - 1; }
  int sign() const { return 1 << (exponentBits + mantissaBits); }
};

constexpr Format formats[] = {
    {"f4E2M1FN", 2, 1},
    {"f6E2M3FN", 2, 3},
    {"f6E3M2FN", 3, 2},
};

const Format *formatOf(std::string_view name) {
  for (const Format &format : formats)
    if (format.name == name)
      return &format;
  return nullptr;
}

float decode(const Format &format, uint8_t code) {
  int mantissa = code & ((1 << format.mantissaBits) - 1);
  int exponent =
      (code >> format.mantissaBits) & ((1 << format.exponentBits) - 1);
  if (exponent)
    mantissa += 1 << format.mantissaBits;
  double size = std::ldexp(mantissa, std::max(exponent, 1) - format.bias() -
                                         format.mantissaBits);
  return static_cast<float>(code & format.sign() ? -size : size);
}

/// Rounded to the nearest number, to the even one of two; what lies beyond the
/// largest becomes the largest.
uint8_t encode(const Format &format, float x) {
  uint8_t sign = std::signbit(x) ? format.sign() : 0;
  // No number has no code: ONNX leaves it open, its own tools give minus zero.
  if (std::isnan(x))
    return format.sign();
  double size = std::fabs(x);
  if (size >= decode(format, format.largest()))
    return sign | format.largest();
  int lowest = 1 - format.bias(), exponent = lowest;
  if (size > 0)
    exponent = std::max(lowest, std::ilogb(size));
  double steps =
      std::nearbyint(std::ldexp(size, format.mantissaBits - exponent));
  int64_t code =
      (static_cast<int64_t>(exponent - lowest) << format.mantissaBits) +
      static_cast<int64_t>(steps);
  return sign | static_cast<uint8_t>(std::min<int64_t>(code, format.largest()));
}

/// A power of two: the exponent of a float, its sign dropped. Infinity has no
/// code and becomes no number.
uint8_t encodeExponent(float x, bool saturate, std::string_view round) {
  auto bits = std::bit_cast<uint32_t>(x);
  uint32_t exponent = (bits >> 23) & 0xFF, fraction = bits & 0x7FFFFF;
  if (exponent == 0xFF)
    return 0xFF;
  bool up = false;
  if (round == "up")
    up = fraction > 0;
  else if (round == "nearest") // a tie goes up, but for the smallest
    up = fraction > 0x400000 || (fraction == 0x400000 && exponent > 0);
  else
    TORCH_CHECK(round == "down",
                "rounding must be up, down or nearest, got: ", round);
  if (up && !(saturate && exponent == 0xFE))
    ++exponent;
  return static_cast<uint8_t>(exponent);
}

} // namespace

at::Tensor encode_float(const at::Tensor &x, std::string_view format,
                        bool saturate, std::string_view round_mode) {
  at::Tensor source = x.to(at::kCPU, at::kFloat).contiguous();
  at::Tensor codes = at::empty(x.sizes(), source.options().dtype(at::kByte));
  const float *from = source.const_data_ptr<float>();
  uint8_t *to = codes.mutable_data_ptr<uint8_t>();
  int64_t count = source.numel();
  if (format == "f8E8M0FNU") {
    for (int64_t i = 0; i < count; ++i)
      to[i] = encodeExponent(from[i], saturate, round_mode);
    return codes.view(at::kFloat8_e8m0fnu).to(x.device());
  }
  const Format *known = formatOf(format);
  TORCH_CHECK(known, "encode_float has no format '", format, "'");
  for (int64_t i = 0; i < count; ++i)
    to[i] = encode(*known, from[i]);
  return codes.to(x.device());
}

at::Tensor decode_float(const at::Tensor &codes, std::string_view format) {
  const Format *known = formatOf(format);
  TORCH_CHECK(known, "decode_float has no format '", format, "'");
  TORCH_CHECK(codes.scalar_type() == at::kByte,
              "codes must be uint8, got: ", codes.scalar_type());
  std::vector<float> table(2 * (known->largest() + 1));
  for (size_t code = 0; code < table.size(); ++code)
    table[code] = decode(*known, code);
  at::Tensor source = codes.cpu().contiguous();
  at::Tensor result =
      at::empty(codes.sizes(), source.options().dtype(at::kFloat));
  const uint8_t *from = source.const_data_ptr<uint8_t>();
  float *to = result.mutable_data_ptr<float>();
  for (int64_t i = 0, count = source.numel(); i < count; ++i)
    to[i] = table[from[i] % table.size()];
  return result.to(codes.device());
}

} // namespace hethub::ops

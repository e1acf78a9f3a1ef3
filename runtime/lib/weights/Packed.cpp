// Packed elements lie in a file bit after bit, the lowest first.
#include "Packed.h"
#include "hethub/runtime/DTypes.h"

using namespace hethub::runtime;

namespace {
struct Row {
  const char *name;
  int bits;
  bool isSigned; ///< the highest bit is a sign, as it is in a wider integer
};
// Floats stay codes (hethub::decode_float), which have no sign in that sense.
constexpr Row table[] = {
    {"I4", 4, true},       {"U4", 4, false}, {"I2", 2, true},
    {"U2", 2, false},      {"F4", 4, false}, {"F6_E2M3", 6, false},
    {"F6_E3M2", 6, false},
};
} // namespace

bool hethub::runtime::setElementType(WeightEntry &entry,
                                     std::string_view name) {
  for (const Row &row : table)
    if (name == row.name) {
      entry.dtype = row.isSigned ? at::kChar : at::kByte;
      entry.packedBits = row.bits;
      return true;
    }
  auto known = dtypeOfSafetensors(name);
  if (known)
    entry.dtype = *known;
  return known.has_value();
}

int64_t hethub::runtime::bytesInFile(const WeightEntry &entry) {
  int64_t bytes = byteCount(entry.dtype, entry.shape);
  if (!entry.packedBits)
    return bytes;
  // Written so that no product can overflow.
  return bytes / 8 * entry.packedBits + (bytes % 8 * entry.packedBits + 7) / 8;
}

void hethub::runtime::unpack(const WeightEntry &entry, const char *packed,
                             char *out) {
  int bits = entry.packedBits;
  int64_t count = byteCount(entry.dtype, entry.shape);
  int sign = entry.dtype == at::kChar ? 1 << (bits - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = i * bits;
    // Six bits may reach into the next byte.
    int low = static_cast<unsigned char>(packed[position / 8]);
    int offset = static_cast<int>(position % 8);
    if (offset + bits > 8)
      low |= static_cast<unsigned char>(packed[position / 8 + 1]) << 8;
    int value = (low >> offset) & ((1 << bits) - 1);
    out[i] = static_cast<char>((value ^ sign) - sign);
  }
}

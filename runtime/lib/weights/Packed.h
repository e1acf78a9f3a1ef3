// Elements of less than a byte: files pack them, tensors hold each in a byte of
// its own.
#pragma once

#include "Entries.h"

#include <string_view>

namespace hethub::runtime {

/// Sets the element type of an entry by its name in a file ("F32", or "I4",
/// whose elements are packed). False for an unknown name.
bool setElementType(WeightEntry &entry, std::string_view name);

/// Bytes of the entry in its file; throws Error where its shape is impossible.
int64_t bytesInFile(const WeightEntry &entry);

/// One byte an element from `packed`, which holds bytesInFile(entry).
void unpack(const WeightEntry &entry, const char *packed, char *out);

} // namespace hethub::runtime

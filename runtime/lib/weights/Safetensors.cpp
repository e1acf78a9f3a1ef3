// The header of a safetensors file: 8 bytes of length, then JSON with dtype,
// shape and offsets of each tensor.
#include "Entries.h"
#include "Mapping.h"
#include "Packed.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>

using namespace hethub::runtime;
using nlohmann::json;

std::vector<WeightEntry>
hethub::runtime::readSafetensorsHeader(const std::string &path) {
  // The format's own limit: a longer header is a damaged file, not a request
  // for memory.
  constexpr uint64_t longestHeader = 100'000'000;
  int64_t size = fileSize(path);
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  if (size < 8 || !file.read(reinterpret_cast<char *>(&length), 8) ||
      length > longestHeader || length > static_cast<uint64_t>(size - 8))
    fail("not a safetensors file: ", path);
  std::string text(length, '\0');
  file.read(text.data(), static_cast<std::streamsize>(length));
  int64_t base = 8 + static_cast<int64_t>(length);

  std::vector<WeightEntry> entries;
  try {
    json header = json::parse(text);
    for (const auto &[name, value] : header.items()) {
      if (name == "__metadata__")
        continue;
      WeightEntry entry;
      entry.name = name;
      entry.file = path;
      std::string dtype = value.at("dtype");
      if (!setElementType(entry, dtype))
        fail("parameter '", name, "' in ", path,
             " has an unknown dtype: ", dtype);
      entry.shape = value.at("shape").get<std::vector<int64_t>>();
      int64_t begin = value.at("data_offsets").at(0),
              end = value.at("data_offsets").at(1);
      if (begin < 0 || end < begin || end > size - base)
        fail("parameter '", name, "' reaches past the end of ", path);
      entry.offset = base + begin;
      entry.length = end - begin;
      entries.push_back(std::move(entry));
    }
  } catch (const json::exception &error) {
    fail("not a safetensors file: ", path, ": ", messageOf(error));
  }
  return entries;
}

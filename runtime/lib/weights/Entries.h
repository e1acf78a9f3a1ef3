// Entries of a weights manifest or of the header of a safetensors file.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace hethub::runtime {

struct WeightEntry {
  std::string name;
  std::string file;
  int64_t offset = 0;
  int64_t length = 0;
  at::ScalarType dtype = at::kFloat;
  int packedBits = 0; ///< of an element, where the file packs them (Packed.h)
  std::vector<int64_t> shape;
};

std::vector<WeightEntry> readManifest(const std::string &path);
std::vector<WeightEntry> readSafetensorsHeader(const std::string &path);

} // namespace hethub::runtime

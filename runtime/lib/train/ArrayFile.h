// Files of named arrays that training reads samples from.
#pragma once

#include "hethub/runtime/Npz.h"

#include <memory>
#include <string>
#include <vector>

namespace hethub::runtime {

class ArrayFile {
public:
  virtual ~ArrayFile() = default;
  virtual std::vector<std::string> names() const = 0;
  virtual bool has(const std::string &name) const = 0;
  virtual ArrayView view(const std::string &name) const = 0;
};

/// Opens `path` by the end of its name, .npz or .safetensors; null for another
/// one. Nothing is read before it is used. Throws Error for a damaged file.
std::unique_ptr<ArrayFile> openArrayFile(const std::string &path);

} // namespace hethub::runtime

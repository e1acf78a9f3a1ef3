#include "ArrayFile.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "weights/Entries.h"
#include "weights/Mapping.h"

#include <algorithm>
#include <map>

using namespace hethub::runtime;

namespace {
class NpzArrays : public ArrayFile {
public:
  explicit NpzArrays(const std::string &path) : reader_(path) {}
  std::vector<std::string> names() const override { return reader_.names(); }
  bool has(const std::string &name) const override { return reader_.has(name); }
  ArrayView view(const std::string &name) const override {
    return reader_.view(name);
  }

private:
  NpzReader reader_;
};

class SafetensorsArrays : public ArrayFile {
public:
  explicit SafetensorsArrays(const std::string &path)
      : mapping_(std::make_shared<Mapping>(path, 0, fileSize(path))) {
    for (WeightEntry &entry : readSafetensorsHeader(path)) {
      if (entry.length != byteCount(entry.dtype, entry.shape))
        fail("array '", entry.name, "' in ", path, " of type ",
             typeName(entry.dtype, entry.shape), " needs ",
             byteCount(entry.dtype, entry.shape),
             " bytes, got: ", entry.length);
      std::string name = entry.name;
      entries_.emplace(name, std::move(entry));
    }
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto &[name, entry] : entries_)
      names.push_back(name);
    return names;
  }
  bool has(const std::string &name) const override {
    return entries_.count(name) != 0;
  }
  ArrayView view(const std::string &name) const override {
    const WeightEntry &entry = entries_.at(name);
    return {entry.dtype, entry.shape, mapping_->at(entry.offset), mapping_};
  }

private:
  std::shared_ptr<Mapping> mapping_;
  std::map<std::string, WeightEntry> entries_;
};
} // namespace

std::unique_ptr<ArrayFile>
hethub::runtime::openArrayFile(const std::string &path) {
  if (path.ends_with(".npz"))
    return std::make_unique<NpzArrays>(path);
  if (path.ends_with(".safetensors"))
    return std::make_unique<SafetensorsArrays>(path);
  return nullptr;
}

// WeightsFile: a manifest's entries, checked against their files and handed out
// as views of one mapping a file.
#include "Entries.h"
#include "Mapping.h"
#include "Packed.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>

using namespace hethub::runtime;
using nlohmann::json;

std::vector<WeightEntry>
hethub::runtime::readManifest(const std::string &path) {
  fileSize(path);
  std::ifstream file(path);
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::vector<WeightEntry> entries;
  try {
    json manifest = json::parse(file);
    for (const json &value : manifest.at("parameters")) {
      WeightEntry entry;
      entry.name = value.at("name");
      entry.file =
          (folder / std::filesystem::path(value.at("file").get<std::string>()))
              .string();
      entry.offset = value.at("offset");
      entry.length = value.at("length");
      std::string dtype = value.at("dtype");
      if (!setElementType(entry, dtype))
        fail("parameter '", entry.name, "' in ", path,
             " has an unknown dtype: ", dtype);
      entry.shape = value.at("shape").get<std::vector<int64_t>>();
      entries.push_back(std::move(entry));
    }
  } catch (const json::exception &error) {
    fail("not a weights manifest: ", path, ": ", messageOf(error));
  }
  return entries;
}

struct WeightsFile::Impl {
  std::string path; ///< of all manifests, for messages
  std::unordered_map<std::string, WeightEntry> entries;
  struct File {
    int64_t size = 0, begin = 0,
            end = 0; ///< the range that this stage's parameters lie in
    std::shared_ptr<Mapping> mapping;
  };
  std::map<std::string, File> files;
  std::unordered_map<std::string, at::Tensor> handedOut;
  int64_t totalBytes = 0;

  /// Entries of one manifest. What an earlier one has stays.
  void addManifest(const std::string &manifest) {
    path += (path.empty() ? "" : " and ") + manifest;
    std::set<std::string> own;
    for (WeightEntry &entry : manifest.ends_with(".safetensors")
                                  ? readSafetensorsHeader(manifest)
                                  : readManifest(manifest)) {
      if (!own.insert(entry.name).second)
        fail("parameter '", entry.name, "' occurs twice in ", manifest);
      if (!entries.count(entry.name))
        add(std::move(entry), manifest);
    }
  }

  void add(WeightEntry entry, const std::string &path) {
    int64_t expected = bytesInFile(entry);
    if (entry.length != expected)
      fail("parameter '", entry.name, "' in ", path, " of type ",
           typeName(entry.dtype, entry.shape), " needs ", expected,
           " bytes, got: ", entry.length);
    auto [file, isNew] = files.try_emplace(entry.file);
    File &range = file->second;
    if (isNew) {
      try {
        range.size = fileSize(entry.file);
      } catch (const Error &error) {
        fail("parameter '", entry.name, "' in ", path, ": ", error.what());
      }
      range.begin = range.size;
    }
    // Written so that no sum can overflow.
    if (entry.offset < 0 || entry.offset > range.size ||
        entry.length > range.size - entry.offset)
      fail("parameter '", entry.name, "' reaches past the end of ", entry.file,
           ": offset ", entry.offset, " and length ", entry.length, " in ",
           range.size, " bytes");
    range.begin = std::min(range.begin, entry.offset);
    range.end = std::max(range.end, entry.offset + entry.length);
    totalBytes += entry.length;
    std::string name = entry.name;
    entries.emplace(std::move(name), std::move(entry));
  }
};

WeightsFile::WeightsFile(const std::string &path, at::Device device)
    : WeightsFile(std::vector<std::string>{path}, device) {}

WeightsFile::WeightsFile(const std::vector<std::string> &paths,
                         at::Device device)
    : impl_(std::make_unique<Impl>()), device_(device) {
  std::set<std::string> known;
  for (const std::string &path : paths)
    if (!path.empty() && known.insert(path).second)
      impl_->addManifest(path);
}

WeightsFile::~WeightsFile() = default;

int64_t WeightsFile::totalBytes() const { return impl_->totalBytes; }

std::vector<std::string> WeightsFile::names() const {
  std::vector<std::string> names;
  for (const auto &[name, entry] : impl_->entries)
    names.push_back(name);
  return names;
}

at::Tensor WeightsFile::get(const std::string &name, at::ScalarType dtype,
                            at::IntArrayRef shape) {
  auto found = impl_->entries.find(name);
  if (found == impl_->entries.end())
    fail("parameter '", name, "' is missing in ",
         impl_->path.empty() ? "a stage without weights" : impl_->path);
  const WeightEntry &entry = found->second;
  if (entry.dtype != dtype || at::IntArrayRef(entry.shape) != shape)
    fail("parameter '", name, "' must be ", typeName(dtype, shape), ", got ",
         typeName(entry.dtype, entry.shape), " in ", impl_->path);
  // One tensor a name: training changes in place what the functions read.
  at::Tensor &tensor = impl_->handedOut[name];
  if (tensor.defined())
    return tensor;
  at::TensorOptions options = at::TensorOptions().dtype(dtype);
  if (entry.length == 0)
    return tensor = at::empty(shape, options.device(device_));

  Impl::File &file = impl_->files.at(entry.file);
  if (!file.mapping)
    file.mapping = std::make_shared<Mapping>(entry.file, file.begin, file.end);
  char *data = file.mapping->at(entry.offset);
  if (entry.packedBits) {
    tensor = at::empty(shape, options);
    unpack(entry, data, static_cast<char *>(tensor.mutable_data_ptr()));
  } else if (reinterpret_cast<uintptr_t>(data) % c10::elementSize(dtype) == 0) {
    tensor = at::from_blob(
        data, shape, [mapping = file.mapping](void *) {}, options);
  } else {
    tensor = at::empty(shape, options);
    file.mapping->copyAndRelease(tensor.mutable_data_ptr(), entry.offset,
                                 entry.length);
  }
  return tensor = tensor.to(device_);
}

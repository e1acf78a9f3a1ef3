// Joining and part files.
#include "Outputs.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/DynamicOps.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include <charconv>
#include <set>

using namespace hethub::runtime;

std::string hethub::runtime::partName(const std::string &path, int rank,
                                      int size) {
  return size == 1 ? path : path + ".rank" + std::to_string(rank);
}

void Outputs::add(const PortSpec &port, int microbatch, at::Tensor value) {
  // Made here, outside the lock: the copy from a device is the slow part.
  bool isTensor = !ops::isSequence(value) && !ops::isNone(value);
  at::Tensor host = isTensor ? value.cpu() : value;
  std::lock_guard lock(mutex_);
  Value &entry = values_[port.index];
  entry.name = port.name;
  entry.isText = port.isText;
  entry.microbatches[microbatch] = std::move(host);
}

std::vector<NamedArray> Outputs::joined(bool positional) const {
  std::vector<NamedArray> result;
  std::set<std::string> seen;
  for (const auto &[index, value] : values_) {
    std::string name = positional ? "out" + std::to_string(index) : value.name;
    // A model may list one value twice as an output; an .npz file has one place
    // for a name.
    if (!seen.insert(name).second)
      continue;
    std::vector<at::Tensor> parts;
    for (const auto &[microbatch, tensor] : value.microbatches)
      parts.push_back(tensor);
    if (parts.size() == 1) {
      appendValue(result, name, parts[0], value.isText);
      continue;
    }
    for (const at::Tensor &part : parts)
      if (ops::isSequence(part) || ops::isNone(part))
        fail("output '", value.name,
             "' is a sequence or an optional, which microbatches cannot be "
             "joined to");
    for (const at::Tensor &part : parts)
      if (part.dim() != parts[0].dim() ||
          (part.dim() > 0 &&
           part.sizes().slice(1) != parts[0].sizes().slice(1)))
        fail("output '", value.name,
             "' cannot be joined along axis 0, microbatches have types ",
             typeName(parts[0].scalar_type(), parts[0].sizes()), " and ",
             typeName(part.scalar_type(), part.sizes()));
    result.emplace_back(
        name, parts[0].dim() == 0 ? at::stack(parts) : at::cat(parts, 0),
        value.isText);
  }
  return result;
}

void Outputs::writePart(const std::string &path) const {
  std::vector<NamedArray> arrays;
  for (const auto &[index, value] : values_)
    for (const auto &[microbatch, tensor] : value.microbatches)
      appendValue(arrays,
                  std::to_string(index) + "/" + std::to_string(microbatch) +
                      "/" + value.name,
                  tensor, value.isText);
  writeNpz(path, arrays);
}

void Outputs::readPart(const std::string &path) {
  NpzReader reader(path);
  for (std::string key : reader.names()) {
    // A sequence is read from its length on.
    if (key.ends_with("[]"))
      key.resize(key.size() - 2);
    else if (size_t open = key.rfind('[');
             open != std::string::npos &&
             reader.has(key.substr(0, open) + "[]"))
      continue;
    int index = -1, microbatch = -1;
    const char *end = key.data() + key.size();
    auto first = std::from_chars(key.data(), end, index);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/')
      fail("not a part file of outputs: ", path);
    auto second = std::from_chars(first.ptr + 1, end, microbatch);
    if (second.ec != std::errc() || second.ptr == end || *second.ptr != '/')
      fail("not a part file of outputs: ", path);
    PortSpec port{std::string(second.ptr + 1, end), at::kFloat, {}, -1, index};
    const std::string &first_array = reader.has(key + "[]") ? key + "[0]" : key;
    port.isText = reader.has(first_array) && reader.isText(first_array);
    add(port, microbatch, readValue(reader, key));
  }
}

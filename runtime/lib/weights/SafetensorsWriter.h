// Writes safetensors files: what Safetensors.cpp and every other reader of the
// format can map.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hethub::runtime {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Streams `tensors` (any device, any strides) into `path`, one after the
/// other: no second copy of all of them is made. The file is on the disk when
/// this returns, or not there at all. `metadata` is the format's own map of
/// texts. Throws Error: a name twice, a full disk, a folder that cannot be
/// written.
void writeSafetensors(const std::string &path, const NamedTensors &tensors,
                      const std::map<std::string, std::string> &metadata = {});

} // namespace hethub::runtime

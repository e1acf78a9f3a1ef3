// 8 bytes of length, JSON padded with spaces to 8, then the tensors without
// gaps: those with the largest elements first, so that each one is aligned.
#include "SafetensorsWriter.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "io/FileWriter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

using namespace hethub::runtime;
using nlohmann::ordered_json;

void hethub::runtime::writeSafetensors(
    const std::string &path, const NamedTensors &tensors,
    const std::map<std::string, std::string> &metadata) {
  NamedTensors ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto &a, const auto &b) {
                     return a.second.element_size() > b.second.element_size();
                   });
  ordered_json header = ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  std::set<std::string> names = {"__metadata__"};
  int64_t end = 0;
  for (const auto &[name, tensor] : ordered) {
    if (!names.insert(name).second)
      fail("cannot write ", path, ": tensor '", name, "' occurs twice");
    int64_t begin = end;
    end += static_cast<int64_t>(tensor.nbytes());
    header[name] = {{"dtype", safetensorsName(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');

  FileWriter file(path);
  uint64_t length = text.size();
  file.write({reinterpret_cast<const char *>(&length), sizeof(length)});
  file.write(text);
  for (const auto &[name, tensor] : ordered) {
    at::Tensor bytes = tensor.detach().contiguous().cpu();
    file.write(
        {static_cast<const char *>(bytes.const_data_ptr()), bytes.nbytes()});
  }
  file.finish(/*durable=*/true);
}

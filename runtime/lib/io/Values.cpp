// Sequences and optionals in .npz files.
#include "hethub/runtime/DynamicOps.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"

#include <ATen/ops/full.h>

using namespace hethub;

void runtime::appendValue(std::vector<NamedArray> &arrays,
                          const std::string &name, const at::Tensor &value,
                          bool isText) {
  if (ops::isNone(value))
    return;
  if (!ops::isSequence(value)) {
    arrays.emplace_back(name, value, isText);
    return;
  }
  const std::vector<at::Tensor> &elements = ops::elementsOf(value);
  arrays.emplace_back(
      name + "[]",
      at::full({}, static_cast<int64_t>(elements.size()), at::kLong));
  for (size_t i = 0; i < elements.size(); ++i)
    appendValue(arrays, name + "[" + std::to_string(i) + "]", elements[i],
                isText);
}

at::Tensor runtime::readValue(const NpzReader &file, const std::string &name) {
  if (!file.has(name + "[]"))
    return file.has(name) ? file.read(name) : ops::optional_none();
  at::Tensor length = file.read(name + "[]");
  if (length.numel() != 1 || length.scalar_type() != at::kLong ||
      length.item<int64_t>() < 0)
    fail("'", name, "[]' must be the length of a sequence");
  std::vector<at::Tensor> elements;
  for (int64_t i = 0; i < length.item<int64_t>(); ++i) {
    std::string element = name + "[" + std::to_string(i) + "]";
    if (!file.has(element) && !file.has(element + "[]"))
      fail("element '", element, "' is missing");
    elements.push_back(readValue(file, element));
  }
  return ops::sequenceOf(std::move(elements));
}

// Distinct elements with ONNX's four results, and a table that maps elements to
// others.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace hethub::ops {

namespace {

/// The key of an element: integers as they are, floats by their bits with one
/// form of zero and of NaN.
template <typename T>
std::vector<int64_t> keysOf(const at::Tensor &x) {
  const T *values = x.const_data_ptr<T>();
  std::vector<int64_t> result(x.numel());
  for (size_t i = 0; i < result.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      double value = values[i] == 0 ? 0 : values[i];
      if (std::isnan(value))
        value = std::numeric_limits<double>::quiet_NaN();
      std::memcpy(&result[i], &value, sizeof(value));
    } else {
      result[i] = values[i];
    }
  }
  return result;
}

std::vector<int64_t> keys(const at::Tensor &x, bool floats) {
  at::Tensor plain =
      x.to(at::kCPU, floats ? at::kDouble : at::kLong).contiguous();
  return floats ? keysOf<double>(plain) : keysOf<int64_t>(plain);
}

} // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>
unique(const at::Tensor &x, bool flat, int64_t axis, bool sorted) {
  at::Tensor whole = flat ? x.flatten() : x;
  if (flat)
    axis = 0;
  auto [y, inverse, counts] = flat ? at::_unique2(whole, true, true, true)
                                   : at::unique_dim(x, axis, true, true, true);
  // Where each first occurs.
  int64_t size = whole.size(axis);
  at::Tensor first =
      at::full({counts.size(0)}, size, counts.options())
          .scatter_reduce(0, inverse, at::arange(size, inverse.options()),
                          "amin");
  if (sorted)
    return {y.contiguous(), first, inverse, counts};
  at::Tensor order = first.argsort();
  at::Tensor places = order.argsort(); // of the sorted ones among the first
  return {y.index_select(axis, order), first.index_select(0, order),
          places.index_select(0, inverse), counts.index_select(0, order)};
}

at::Tensor lookup_table(const at::Tensor &x, const at::Tensor &keys_,
                        const at::Tensor &values, const at::Tensor &fallback) {
  TORCH_CHECK(keys_.dim() == 1 && values.dim() == 1 &&
                  keys_.size(0) == values.size(0),
              "a table needs as many keys as values, got: ", keys_.sizes(),
              " and ", values.sizes());
  bool floats = keys_.is_floating_point() || x.is_floating_point();
  std::unordered_map<int64_t, int64_t> table;
  std::vector<int64_t> known = keys(keys_, floats);
  // The first of equal keys counts.
  for (size_t i = 0; i < known.size(); ++i)
    table.emplace(known[i], static_cast<int64_t>(i));
  std::vector<int64_t> rows = keys(x, floats);
  for (int64_t &row : rows) {
    auto found = table.find(row);
    row = found == table.end() ? values.size(0) : found->second;
  }
  at::Tensor all =
      at::cat({values, fallback.reshape({1}).to(values.options())});
  return all.index_select(0, at::tensor(rows, at::kLong).to(values.device()))
      .view(x.sizes());
}

} // namespace hethub::ops

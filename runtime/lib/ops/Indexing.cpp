// Indices as ONNX counts them.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

namespace hethub::ops {

at::Tensor wrap_index(const at::Tensor &index, int64_t size) {
  at::Tensor wide = index.to(at::kLong);
  // Reading the values of a device tensor would wait for the device.
  if (!wide.device().is_cpu())
    return at::where(wide.lt(0), wide.add(size), wide);
  wide = wide.contiguous();
  const int64_t *values = wide.const_data_ptr<int64_t>();
  bool negative = false;
  for (int64_t i = 0, n = wide.numel(); i < n; ++i) {
    TORCH_CHECK_INDEX(values[i] >= -size && values[i] < size, "index ",
                      values[i], " is outside an axis of size ", size);
    negative |= values[i] < 0;
  }
  return negative ? at::where(wide.lt(0), wide.add(size), wide) : wide;
}

at::Tensor reverse_sequence(const at::Tensor &x, const at::Tensor &lengths,
                            int64_t time_axis, int64_t batch_axis) {
  at::Tensor ordered = x.movedim({time_axis, batch_axis}, {0, 1});
  int64_t steps = ordered.size(0), batch = ordered.size(1);
  auto options = at::TensorOptions().dtype(at::kLong).device(x.device());
  at::Tensor step = at::arange(steps, options).unsqueeze(1);
  at::Tensor length = lengths.to(options).unsqueeze(0);
  at::Tensor source = at::where(step < length, length - 1 - step, step);
  at::Tensor entry = at::arange(batch, options).unsqueeze(0);
  return ordered.index({source, entry})
      .movedim({0, 1}, {time_axis, batch_axis});
}

at::Tensor compress_by(const at::Tensor &x, const at::Tensor &condition,
                       bool flat, int64_t axis) {
  at::Tensor whole = flat ? x.flatten() : x;
  axis = flat ? 0 : axis < 0 ? axis + x.dim() : axis;
  at::Tensor places = condition.flatten().nonzero().flatten();
  TORCH_CHECK_INDEX(places.numel() == 0 ||
                        places.max().item<int64_t>() < whole.size(axis),
                    "a condition of ", condition.numel(),
                    " values is longer than its axis of ", whole.size(axis));
  return whole.index_select(axis, places.to(whole.device()));
}

std::tuple<at::Tensor, at::Tensor> dropout_by(const at::Tensor &x,
                                              const OptionalTensor &ratio,
                                              const OptionalTensor &training) {
  double share = ratio ? ratio->to(at::kDouble).item<double>() : 0.5;
  bool drops = training && training->item<bool>() && share != 0;
  if (!drops)
    return {x.clone(), at::ones(x.sizes(), x.options().dtype(at::kBool))};
  return at::native_dropout(x, share, true);
}

at::Tensor grow_to(const at::Tensor &x, const at::Tensor &sizes) {
  at::Tensor wanted = sizes.to(at::kCPU, at::kLong).contiguous();
  TORCH_CHECK(wanted.numel() == x.dim(), "expected ", x.dim(),
              " sizes, got: ", wanted.numel());
  std::vector<int64_t> pads;
  for (int64_t axis = x.dim(); axis-- > 0;) {
    int64_t size = wanted.const_data_ptr<int64_t>()[axis];
    TORCH_CHECK(size >= x.size(axis), "size must be at least ", x.size(axis),
                ", got: ", size);
    pads.insert(pads.end(), {0, size - x.size(axis)});
  }
  return at::constant_pad_nd(x, pads, 0);
}

} // namespace hethub::ops

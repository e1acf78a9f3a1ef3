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

} // namespace hethub::ops

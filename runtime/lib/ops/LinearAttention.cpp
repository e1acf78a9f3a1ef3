// Attention whose keys and values are summed in a state of fixed size, token by
// token: the recurrence of linear, gated and delta-rule attention.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

namespace hethub::ops {

std::tuple<at::Tensor, at::Tensor>
linear_attention(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v,
                 const OptionalTensor &state, const OptionalTensor &decay,
                 const OptionalTensor &beta, double scale) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && k.size(1) > 0 &&
                  q.size(1) % k.size(1) == 0,
              "heads must be split, those of queries a multiple of those of "
              "keys, got: ",
              q.sizes(), ", ", k.sizes(), " and ", v.sizes());
  at::ScalarType wide =
      q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  int64_t group = q.size(1) / k.size(1);
  at::Tensor queries = q.to(wide), keys = k.to(wide), values = v.to(wide);
  at::Tensor memory =
      state ? state->to(wide)
            : at::zeros({k.size(0), k.size(1), k.size(3), v.size(3)},
                        keys.options());
  at::Tensor kept = decay ? decay->to(wide).exp() : at::Tensor();
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < q.size(2); ++t) {
    at::Tensor key = keys.select(2, t).unsqueeze(-1);     // [B, H, K, 1]
    at::Tensor value = values.select(2, t).unsqueeze(-2); // [B, H, 1, V]
    if (kept.defined())
      memory = memory * kept.select(2, t).unsqueeze(-1);
    if (beta)
      value = beta->to(wide).select(2, t).unsqueeze(-1) *
              (value - at::matmul(key.transpose(-1, -2), memory));
    memory = memory + key * value;
    at::Tensor read = group == 1 ? memory : memory.repeat_interleave(group, 1);
    outputs.push_back(
        at::matmul(queries.select(2, t).unsqueeze(-2), read).squeeze(-2) *
        scale);
  }
  at::Tensor y =
      outputs.empty()
          ? at::zeros({q.size(0), q.size(1), 0, v.size(3)}, keys.options())
          : at::stack(outputs, 2);
  return {y.to(q.scalar_type()),
          memory.to(state ? state->scalar_type() : q.scalar_type())};
}

} // namespace hethub::ops

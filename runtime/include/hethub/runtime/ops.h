//===- ops.h - operators that LibTorch lacks -------------------*- C++ -*-===//
//
// Plain LibTorch code, registered with the dispatcher as hethub::NAME (schemas:
// lib/Dialect/ATen/IR/operators.txt) and callable from emitted programs
// directly.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_RUNTIME_OPS_H
#define HETHUB_RUNTIME_OPS_H

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <tuple>

namespace hethub::ops {

using OptionalTensor = std::optional<at::Tensor>;

/// 64-bit indices in [0, size) from indices in [-size, size); throws on others
/// (checked on CPU tensors only).
at::Tensor wrap_index(const at::Tensor &index, int64_t size);

/// Unsigned arithmetic on broadcast tensors of uint16, uint32 or uint64:
/// divide, remainder, shift_right, maximum, minimum give that type, less and
/// less_equal give bool.
at::Tensor unsigned_binary(const at::Tensor &a, const at::Tensor &b,
                           std::string_view operation);

/// ONNX Resize: `sizes` and `scales` hold one entry an axis, `roi` all starts
/// and then all ends (used by tf_crop_and_resize). mode: nearest, linear,
/// cubic.
at::Tensor resize(const at::Tensor &x, at::IntArrayRef sizes,
                  at::ArrayRef<double> scales, at::ArrayRef<double> roi,
                  std::string_view mode, std::string_view coordinates,
                  std::string_view nearest, double cubic_a,
                  bool exclude_outside, bool antialias, double extrapolation);

/// The gradient of resize for its input, which has shape `input_sizes`.
at::Tensor resize_backward(const at::Tensor &grad, at::IntArrayRef input_sizes,
                           at::ArrayRef<double> scales,
                           at::ArrayRef<double> roi, std::string_view mode,
                           std::string_view coordinates,
                           std::string_view nearest, double cubic_a,
                           bool exclude_outside, bool antialias);

/// Recurrent networks as ONNX defines them. x [T, N, I], w [D, G*H, I], r [D,
/// G*H, H], b [D, 2*G*H], lengths [N], h and c [D, N, H], p [D, 3*H]. Give Y
/// [T, D, N, H], Y_h [D, N, H] and, for lstm, Y_c [D, N, H]. `activations` are
/// lower-case names joined by commas, `alpha` and `beta` are consumed by those
/// activations that take them; clip 0 means no clipping.
std::tuple<at::Tensor, at::Tensor, at::Tensor>
lstm(const at::Tensor &x, const at::Tensor &w, const at::Tensor &r,
     const OptionalTensor &b, const OptionalTensor &lengths,
     const OptionalTensor &h, const OptionalTensor &c, const OptionalTensor &p,
     std::string_view direction, std::string_view activations,
     at::ArrayRef<double> alpha, at::ArrayRef<double> beta, double clip,
     bool input_forget);
std::tuple<at::Tensor, at::Tensor>
gru(const at::Tensor &x, const at::Tensor &w, const at::Tensor &r,
    const OptionalTensor &b, const OptionalTensor &lengths,
    const OptionalTensor &h, std::string_view direction,
    std::string_view activations, at::ArrayRef<double> alpha,
    at::ArrayRef<double> beta, double clip, bool linear_before_reset);
std::tuple<at::Tensor, at::Tensor>
rnn(const at::Tensor &x, const at::Tensor &w, const at::Tensor &r,
    const OptionalTensor &b, const OptionalTensor &lengths,
    const OptionalTensor &h, std::string_view direction,
    std::string_view activations, at::ArrayRef<double> alpha,
    at::ArrayRef<double> beta, double clip);

/// The first lengths[i] steps of batch entry i in reverse order, the others as
/// they are.
at::Tensor reverse_sequence(const at::Tensor &x, const at::Tensor &lengths,
                            int64_t time_axis, int64_t batch_axis);

} // namespace hethub::ops

#endif // HETHUB_RUNTIME_OPS_H

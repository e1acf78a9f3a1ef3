//===- ops.h - operators that LibTorch lacks -------------------*- C++ -*-===//
//
// Plain LibTorch code, registered with the dispatcher as hethub::NAME (schemas:
// lib/Dialect/ATen/IR/operators.txt) and callable from emitted programs
// directly.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_RUNTIME_OPS_H
#define HETHUB_RUNTIME_OPS_H

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

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

/// Codes, one a byte, of floats that LibTorch lacks: f4E2M1FN, f6E2M3FN and
/// f6E3M2FN; and f8E8M0FNU, rounded `up`, `down` or to the `nearest`.
at::Tensor encode_float(const at::Tensor &x, std::string_view format,
                        bool saturate, std::string_view round_mode);
/// The float32 values of such codes (not of f8E8M0FNU).
at::Tensor decode_float(const at::Tensor &codes, std::string_view format);

/// The discrete Fourier transform of ONNX. x [..., 1] is real, [..., 2]
/// complex; `length` crops the axis or pads it with zeros. Results are complex,
/// but for the inverse of one half (inverse and onesided), which is real.
at::Tensor dft(const at::Tensor &x, int64_t length, int64_t axis, bool inverse,
               bool onesided);

/// dft() with length and axis as scalar tensors; -2 is the default axis.
at::Tensor dft_by(const at::Tensor &x, const OptionalTensor &length,
                  const OptionalTensor &axis, bool inverse, bool onesided);

/// ONNX STFT: signal [B, samples, 1 or 2], transforms of frames [B, frames,
/// bins, 2].
at::Tensor stft_by(const at::Tensor &signal, const at::Tensor &frame_step,
                   const OptionalTensor &window,
                   const OptionalTensor &frame_length, bool onesided);

/// A window of `size` elements: blackman, hamming or hann.
at::Tensor window_of(const at::Tensor &size, std::string_view kind,
                     bool periodic, at::ScalarType dtype);

/// ONNX MelWeightMatrix from scalars: [dft_length / 2 + 1, num_mel_bins].
at::Tensor mel_weight_matrix(const at::Tensor &num_mel_bins,
                             const at::Tensor &dft_length,
                             const at::Tensor &sample_rate,
                             const at::Tensor &lower_edge_hertz,
                             const at::Tensor &upper_edge_hertz,
                             at::ScalarType dtype);

/// ONNX NonMaxSuppression: boxes [B, n, 4], scores [B, C, n]; rows (batch,
/// class, box) of int64.
at::Tensor non_max_suppression(const at::Tensor &boxes,
                               const at::Tensor &scores,
                               const OptionalTensor &max_output,
                               const OptionalTensor &iou_threshold,
                               const OptionalTensor &score_threshold,
                               bool center_point_box);

/// ONNX RoiAlign: regions [R, 4] of x [N, C, H, W], pooled to [R, C, sizes];
/// mode: avg, max. Gives no gradient for the regions.
at::Tensor roi_align(const at::Tensor &x, const at::Tensor &rois,
                     const at::Tensor &batch_indices, at::IntArrayRef sizes,
                     std::string_view mode, int64_t sampling_ratio,
                     double spatial_scale, bool half_pixel);
at::Tensor roi_align_backward(const at::Tensor &grad, const at::Tensor &x,
                              const at::Tensor &rois,
                              const at::Tensor &batch_indices,
                              std::string_view mode, int64_t sampling_ratio,
                              double spatial_scale, bool half_pixel);

/// ONNX MaxRoiPool: regions [R, 5], the batch index first.
at::Tensor max_roi_pool(const at::Tensor &x, const at::Tensor &rois,
                        at::IntArrayRef sizes, double spatial_scale);
at::Tensor max_roi_pool_backward(const at::Tensor &grad, const at::Tensor &x,
                                 const at::Tensor &rois, double spatial_scale);

/// ONNX Unique: distinct elements of the flat tensor or slices of `axis`, where
/// each first occurs, which one each element is, how often each occurs. In
/// rising order, or in that of their first occurrence.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>
unique(const at::Tensor &x, bool flat, int64_t axis, bool sorted);

/// The elements of the flat tensor, or slices of `axis`, whose condition is
/// true; those that the condition does not reach are left out.
at::Tensor compress_by(const at::Tensor &x, const at::Tensor &condition,
                       bool flat, int64_t axis);

/// ONNX Dropout with its ratio (0.5) and mode (off) as scalars: data and mask.
std::tuple<at::Tensor, at::Tensor> dropout_by(const at::Tensor &x,
                                              const OptionalTensor &ratio,
                                              const OptionalTensor &training);

/// x with zeros behind the elements of each axis, up to `sizes`.
at::Tensor grow_to(const at::Tensor &x, const at::Tensor &sizes);

/// values[i] for elements equal to keys[i], else `fallback`. NaN equals NaN.
at::Tensor lookup_table(const at::Tensor &x, const at::Tensor &keys,
                        const at::Tensor &values, const at::Tensor &fallback);

/// Decision trees on the rows of x [N, F] give [N, targets]; the tables are
/// described in runtime/lib/ops/Trees.cpp. aggregate: SUM, AVERAGE, MIN, MAX.
at::Tensor
tree_ensemble(const at::Tensor &x, const at::Tensor &features,
              const at::Tensor &modes, const at::Tensor &splits,
              const at::Tensor &true_children, const at::Tensor &false_children,
              const at::Tensor &missing_true, const at::Tensor &roots,
              const at::Tensor &leaf_starts, const at::Tensor &leaf_targets,
              const at::Tensor &leaf_weights, const at::Tensor &member_starts,
              const at::Tensor &members, int64_t targets,
              std::string_view aggregate);

/// ONNX LinearAttention after its heads are split: q [B, Hq, T, K], k [B, H, T,
/// K], v [B, H, T, V], state [B, H, K, V], decay [B, H, T, 1 or K] (its
/// logarithm), beta [B, H or 1, T, 1]. Gives [B, Hq, T, V] and the last state,
/// computed in float32 at least.
std::tuple<at::Tensor, at::Tensor>
linear_attention(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v,
                 const OptionalTensor &state, const OptionalTensor &decay,
                 const OptionalTensor &beta, double scale);

/// lstm() with 8-bit weights w [D, I, 4*H] and r [D, H, 4*H]
/// (DynamicQuantizeLSTM of com.microsoft): the input, and the state of each
/// step, are quantized to uint8 by their own extent. Scales and zero points:
/// [D] or [D, 4*H].
std::tuple<at::Tensor, at::Tensor, at::Tensor>
dynamic_quantize_lstm(const at::Tensor &x, const at::Tensor &w,
                      const at::Tensor &r, const OptionalTensor &b,
                      const OptionalTensor &lengths, const OptionalTensor &h,
                      const OptionalTensor &c, const OptionalTensor &p,
                      const at::Tensor &w_scale, const at::Tensor &w_zero,
                      const at::Tensor &r_scale, const at::Tensor &r_zero,
                      std::string_view direction, std::string_view activations,
                      at::ArrayRef<double> alpha, at::ArrayRef<double> beta,
                      double clip, bool input_forget);

} // namespace hethub::ops

#endif // HETHUB_RUNTIME_OPS_H

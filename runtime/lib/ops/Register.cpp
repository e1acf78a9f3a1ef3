// Makes the operators known to LibTorch's dispatcher. The schemas are those of
// lib/Dialect/ATen/IR/operators.txt, which the compiler checks calls against.
#include "hethub/runtime/ops.h"

#include <torch/library.h>

TORCH_LIBRARY(hethub, library) {
  using namespace hethub::ops;
  library.def("wrap_index(Tensor index, int size) -> Tensor", &wrap_index);
  library.def("unsigned_binary(Tensor a, Tensor b, str operation) -> Tensor",
              &unsigned_binary);
  library.def("resize(Tensor x, int[] sizes, float[] scales, float[] roi, str "
              "mode, str coordinates, str nearest, float cubic_a, bool "
              "exclude_outside, bool antialias, float extrapolation) -> Tensor",
              &resize);
  library.def("resize_backward(Tensor grad, int[] input_sizes, float[] scales, "
              "float[] roi, str mode, str coordinates, str nearest, float "
              "cubic_a, bool exclude_outside, bool antialias) -> Tensor",
              &resize_backward);
  library.def(
      "lstm(Tensor x, Tensor w, Tensor r, Tensor? b, Tensor? lengths, Tensor? "
      "h, Tensor? c, Tensor? p, str direction, str activations, float[] alpha, "
      "float[] beta, float clip, bool input_forget) -> (Tensor, Tensor, "
      "Tensor)",
      &lstm);
  library.def("gru(Tensor x, Tensor w, Tensor r, Tensor? b, Tensor? lengths, "
              "Tensor? h, str direction, str activations, float[] alpha, "
              "float[] beta, float clip, bool linear_before_reset) -> (Tensor, "
              "Tensor)",
              &gru);
  library.def("rnn(Tensor x, Tensor w, Tensor r, Tensor? b, Tensor? lengths, "
              "Tensor? h, str direction, str activations, float[] alpha, "
              "float[] beta, float clip) -> (Tensor, Tensor)",
              &rnn);
  library.def("reverse_sequence(Tensor x, Tensor lengths, int time_axis, int "
              "batch_axis) -> Tensor",
              &reverse_sequence);
  library.def("encode_float(Tensor x, str format, bool saturate, str "
              "round_mode) -> Tensor",
              &encode_float);
  library.def("decode_float(Tensor codes, str format) -> Tensor",
              &decode_float);
  library.def("dft(Tensor x, int length, int axis, bool inverse, bool "
              "onesided) -> Tensor",
              &dft);
  library.def("mel_weight_matrix(Tensor num_mel_bins, Tensor dft_length, "
              "Tensor sample_rate, Tensor lower_edge_hertz, Tensor "
              "upper_edge_hertz, ScalarType dtype) -> Tensor",
              &mel_weight_matrix);
  library.def("non_max_suppression(Tensor boxes, Tensor scores, Tensor? "
              "max_output, Tensor? iou_threshold, Tensor? score_threshold, "
              "bool center_point_box) -> Tensor",
              &non_max_suppression);
  library.def("roi_align(Tensor x, Tensor rois, Tensor batch_indices, int[] "
              "sizes, str mode, int sampling_ratio, float spatial_scale, bool "
              "half_pixel) -> Tensor",
              &roi_align);
  library.def("roi_align_backward(Tensor grad, Tensor x, Tensor rois, Tensor "
              "batch_indices, str mode, int sampling_ratio, float "
              "spatial_scale, bool half_pixel) -> Tensor",
              &roi_align_backward);
  library.def("max_roi_pool(Tensor x, Tensor rois, int[] sizes, float "
              "spatial_scale) -> Tensor",
              &max_roi_pool);
  library.def("max_roi_pool_backward(Tensor grad, Tensor x, Tensor rois, float "
              "spatial_scale) -> Tensor",
              &max_roi_pool_backward);
  library.def("unique(Tensor x, bool flat, int axis, bool sorted) -> (Tensor, "
              "Tensor, Tensor, Tensor)",
              &unique);
  library.def("lookup_table(Tensor x, Tensor keys, Tensor values, Tensor "
              "fallback) -> Tensor",
              &lookup_table);
  library.def("tree_ensemble(Tensor x, Tensor features, Tensor modes, Tensor "
              "splits, Tensor true_children, Tensor false_children, Tensor "
              "missing_true, Tensor roots, Tensor leaf_starts, Tensor "
              "leaf_targets, Tensor leaf_weights, Tensor member_starts, Tensor "
              "members, int targets, str aggregate) -> Tensor",
              &tree_ensemble);
  library.def("linear_attention(Tensor q, Tensor k, Tensor v, Tensor? state, "
              "Tensor? decay, Tensor? beta, float scale) -> (Tensor, Tensor)",
              &linear_attention);
  library.def("dynamic_quantize_lstm(Tensor x, Tensor w, Tensor r, Tensor? b, "
              "Tensor? lengths, Tensor? h, Tensor? c, Tensor? p, Tensor "
              "w_scale, Tensor w_zero, Tensor r_scale, Tensor r_zero, str "
              "direction, str activations, float[] alpha, float[] beta, float "
              "clip, bool input_forget) -> (Tensor, Tensor, Tensor)",
              &dynamic_quantize_lstm);
  library.def("dft_by(Tensor x, Tensor? length, Tensor? axis, bool inverse, "
              "bool onesided) -> Tensor",
              &dft_by);
  library.def("stft_by(Tensor signal, Tensor frame_step, Tensor? window, "
              "Tensor? frame_length, bool onesided) -> Tensor",
              &stft_by);
  library.def("window_of(Tensor size, str kind, bool periodic, ScalarType "
              "dtype) -> Tensor",
              &window_of);
  library.def(
      "compress_by(Tensor x, Tensor condition, bool flat, int axis) -> Tensor",
      &compress_by);
  library.def("grow_to(Tensor x, Tensor sizes) -> Tensor", &grow_to);
  library.def("dropout_by(Tensor x, Tensor? ratio, Tensor? training) -> "
              "(Tensor, Tensor)",
              &dropout_by);
}

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
}

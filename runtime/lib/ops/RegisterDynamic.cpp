// The operators of DynamicOps.h for LibTorch's dispatcher; schemas as in
// lib/Dialect/ATen/IR/operators.txt.
#include "hethub/runtime/DynamicOps.h"

#include <torch/library.h>

TORCH_LIBRARY_FRAGMENT(hethub, library) {
  using namespace hethub::ops;
  library.def("reshape_to(Tensor x, Tensor shape, bool allow_zero) -> Tensor",
              &reshape_to);
  library.def("flatten_at(Tensor x, int axis) -> Tensor", &flatten_at);
  library.def("expand_to(Tensor x, Tensor shape) -> Tensor", &expand_to);
  library.def("tile_by(Tensor x, Tensor repeats) -> Tensor", &tile_by);
  library.def("squeeze_by(Tensor x, Tensor? axes) -> Tensor", &squeeze_by);
  library.def("unsqueeze_by(Tensor x, Tensor axes) -> Tensor", &unsqueeze_by);
  library.def("shape_of(Tensor x, int start, int end) -> Tensor", &shape_of);
  library.def("size_of(Tensor x) -> Tensor", &size_of);
  library.def("constant_of_shape(Tensor shape, Tensor value) -> Tensor",
              &constant_of_shape);
  library.def("slice_by(Tensor x, Tensor starts, Tensor ends, Tensor? axes, "
              "Tensor? steps) -> Tensor",
              &slice_by);
  library.def("split_part(Tensor x, Tensor? split, int axis, int parts, int "
              "index) -> Tensor",
              &split_part);
  library.def("gather_at(Tensor x, Tensor index, int axis) -> Tensor",
              &gather_at);
  library.def("gather_elements(Tensor x, Tensor index, int axis) -> Tensor",
              &gather_elements);
  library.def("top_k_of(Tensor x, Tensor k, int axis, bool largest) -> "
              "(Tensor, Tensor)",
              &top_k_of);
  library.def("gather_nd(Tensor x, Tensor index, int batch_axes) -> Tensor",
              &gather_nd);
  library.def("scatter_nd(Tensor x, Tensor index, Tensor updates, str "
              "reduction) -> Tensor",
              &scatter_nd);
  library.def("scatter_elements(Tensor x, Tensor index, Tensor updates, int "
              "axis, str reduction) -> Tensor",
              &scatter_elements);
  library.def("triangle_of(Tensor x, Tensor k, bool upper) -> Tensor",
              &triangle_of);
  library.def("pad_by(Tensor x, Tensor pads, Tensor? value, Tensor? axes, str "
              "mode) -> Tensor",
              &pad_by);
  library.def(
      "center_crop_pad_by(Tensor x, Tensor shape, int[] axes) -> Tensor",
      &center_crop_pad_by);
  library.def("col2im_by(Tensor x, Tensor image_shape, Tensor block_shape, "
              "int[] dilations, int[] pads, int[] strides) -> Tensor",
              &col2im_by);
  library.def(
      "element_of(Tensor x, Tensor index, int axis, bool reverse) -> Tensor",
      &element_of);
  library.def("range_of(Tensor start, Tensor limit, Tensor delta) -> Tensor",
              &range_of);
  library.def("one_hot_of(Tensor index, Tensor depth, Tensor values, int axis) "
              "-> Tensor",
              &one_hot_of);
  library.def(
      "affine_grid_of(Tensor theta, Tensor size, bool align_corners) -> Tensor",
      &affine_grid_of);
  library.def("reduce_by(Tensor x, Tensor? axes, str kind, bool keep, bool "
              "nothing_if_empty) -> Tensor",
              &reduce_by);
  library.def("cumulative(Tensor x, Tensor axis, bool products, bool "
              "exclusive, bool reverse) -> Tensor",
              &cumulative);
  library.def("resize_by(Tensor x, Tensor? roi, Tensor? scales, Tensor? sizes, "
              "int[] axes, str policy, str mode, str coordinates, str nearest, "
              "float cubic_a, bool exclude_outside, bool antialias, float "
              "extrapolation) -> Tensor",
              &resize_by);
  library.def("sequence_construct(Tensor[] elements) -> Tensor",
              &sequence_construct);
  library.def("sequence_at(Tensor sequence, Tensor position) -> Tensor",
              &sequence_at);
  library.def(
      "sequence_insert(Tensor sequence, Tensor x, Tensor? position) -> Tensor",
      &sequence_insert);
  library.def("sequence_erase(Tensor sequence, Tensor? position) -> Tensor",
              &sequence_erase);
  library.def("sequence_length(Tensor sequence) -> Tensor", &sequence_length);
  library.def("split_to_sequence(Tensor x, Tensor? split, int axis, bool keep) "
              "-> Tensor",
              &split_to_sequence);
  library.def("concat_from_sequence(Tensor sequence, int axis, bool new_axis) "
              "-> Tensor",
              &concat_from_sequence);
  library.def("optional_none() -> Tensor", &optional_none);
  library.def("optional_has_element(Tensor x) -> Tensor",
              &optional_has_element);
  library.def("optional_get_element(Tensor x) -> Tensor",
              &optional_get_element);
  library.def("string_concat(Tensor a, Tensor b) -> Tensor", &string_concat);
  library.def("string_split(Tensor x, str delimiter, int max_split) -> "
              "(Tensor, Tensor)",
              &string_split);
  library.def("string_normalizer(Tensor x, Tensor stopwords, str case_action, "
              "bool case_sensitive) -> Tensor",
              &string_normalizer);
  library.def("regex_full_match(Tensor x, str pattern) -> Tensor",
              &regex_full_match);
  library.def("tf_idf(Tensor x, Tensor pool, int[] starts, int[] indexes, "
              "Tensor? weights, int min_length, int max_length, int max_skip, "
              "str mode) -> Tensor",
              &tf_idf);
}

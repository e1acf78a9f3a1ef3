//===- DynamicOps.h - shapes, sequences, strings of a run -----*- C++ -*-===//
//
// Operators of ONNX that depend on what only a run knows: sizes and axes that
// come as tensors, sequences, optionals and strings. Registered and callable as
// those of ops.h are.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_RUNTIME_DYNAMICOPS_H
#define HETHUB_RUNTIME_DYNAMICOPS_H

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace hethub::ops {

using OptionalTensor = std::optional<at::Tensor>;

//===--- Shapes -----------------------------------------------------------===//

/// ONNX Reshape: one size may be -1; 0 copies the input's unless `allow_zero`.
at::Tensor reshape_to(const at::Tensor &x, const at::Tensor &shape,
                      bool allow_zero);
at::Tensor flatten_at(const at::Tensor &x, int64_t axis);
at::Tensor expand_to(const at::Tensor &x, const at::Tensor &shape);
at::Tensor tile_by(const at::Tensor &x, const at::Tensor &repeats);
at::Tensor squeeze_by(const at::Tensor &x, const OptionalTensor &axes);
at::Tensor unsqueeze_by(const at::Tensor &x, const at::Tensor &axes);
/// Sizes of the axes [start, end), which are clamped to the rank.
at::Tensor shape_of(const at::Tensor &x, int64_t start, int64_t end);
at::Tensor size_of(const at::Tensor &x);
at::Tensor constant_of_shape(const at::Tensor &shape, const at::Tensor &value);

//===--- Parts ------------------------------------------------------------===//

at::Tensor slice_by(const at::Tensor &x, const at::Tensor &starts,
                    const at::Tensor &ends, const OptionalTensor &axes,
                    const OptionalTensor &steps);
/// Part `index` of `parts` along an axis: of the given sizes, or of equal ones
/// of which the last may be smaller.
at::Tensor split_part(const at::Tensor &x, const OptionalTensor &split,
                      int64_t axis, int64_t parts, int64_t index);
at::Tensor gather_at(const at::Tensor &x, const at::Tensor &index,
                     int64_t axis);
at::Tensor gather_elements(const at::Tensor &x, const at::Tensor &index,
                           int64_t axis);
std::tuple<at::Tensor, at::Tensor>
top_k_of(const at::Tensor &x, const at::Tensor &k, int64_t axis, bool largest);
at::Tensor gather_nd(const at::Tensor &x, const at::Tensor &index,
                     int64_t batch_axes);
/// reduction: none, add, mul, max, min.
at::Tensor scatter_nd(const at::Tensor &x, const at::Tensor &index,
                      const at::Tensor &updates, std::string_view reduction);
at::Tensor scatter_elements(const at::Tensor &x, const at::Tensor &index,
                            const at::Tensor &updates, int64_t axis,
                            std::string_view reduction);
at::Tensor triangle_of(const at::Tensor &x, const at::Tensor &k, bool upper);
/// mode: constant, edge, reflect, wrap. Negative pads crop.
at::Tensor pad_by(const at::Tensor &x, const at::Tensor &pads,
                  const OptionalTensor &value, const OptionalTensor &axes,
                  std::string_view mode);
at::Tensor center_crop_pad_by(const at::Tensor &x, const at::Tensor &shape,
                              at::IntArrayRef axes);

/// Columns of [N, C * product(block), L] added up where they lie in the image,
/// of any number of axes; pads are all starts and then all ends.
at::Tensor col2im_by(const at::Tensor &x, const at::Tensor &image_shape,
                     const at::Tensor &block_shape, at::IntArrayRef dilations,
                     at::IntArrayRef pads, at::IntArrayRef strides);
/// Element `index` of an axis, counted from its end where `reverse`.
at::Tensor element_of(const at::Tensor &x, const at::Tensor &index,
                      int64_t axis, bool reverse);

//===--- Makers and reductions --------------------------------------------===//

at::Tensor range_of(const at::Tensor &start, const at::Tensor &limit,
                    const at::Tensor &delta);
at::Tensor one_hot_of(const at::Tensor &index, const at::Tensor &depth,
                      const at::Tensor &values, int64_t axis);
at::Tensor affine_grid_of(const at::Tensor &theta, const at::Tensor &size,
                          bool align_corners);
/// ONNX's reductions by the rest of their names ("Sum", "LogSumExp"). No axes:
/// all, or none of them with `nothing_if_empty`.
at::Tensor reduce_by(const at::Tensor &x, const OptionalTensor &axes,
                     std::string_view kind, bool keep, bool nothing_if_empty);
/// Sums or products of all elements up to each one.
at::Tensor cumulative(const at::Tensor &x, const at::Tensor &axis,
                      bool products, bool exclusive, bool reverse);
/// `resize` with what ONNX Resize takes: scales or sizes of `axes` and the
/// policy (stretch, not_larger, not_smaller) that keeps proportions.
at::Tensor resize_by(const at::Tensor &x, const OptionalTensor &roi,
                     const OptionalTensor &scales, const OptionalTensor &sizes,
                     at::IntArrayRef axes, std::string_view policy,
                     std::string_view mode, std::string_view coordinates,
                     std::string_view nearest, double cubic_a,
                     bool exclude_outside, bool antialias,
                     double extrapolation);

/// What the iterations of a loop gave along a new first axis; none at all: of
/// shape [0, ...empty].
at::Tensor stack_iterations(const std::vector<at::Tensor> &values,
                            at::IntArrayRef empty, at::ScalarType dtype);

//===--- Sequences and optionals ------------------------------------------===//
//
// A sequence is one value: a tensor that holds tensors. So is an optional that
// holds nothing; one that holds something is that something.

/// What a sequence holds; throws where `x` is none.
const std::vector<at::Tensor> &elementsOf(const at::Tensor &x);
at::Tensor sequenceOf(std::vector<at::Tensor> elements);
bool isSequence(const at::Tensor &x);
bool isNone(const at::Tensor &x);

at::Tensor sequence_construct(at::TensorList elements);
at::Tensor sequence_at(const at::Tensor &sequence, const at::Tensor &position);
/// Before `position`, or at the end.
at::Tensor sequence_insert(const at::Tensor &sequence, const at::Tensor &x,
                           const OptionalTensor &position);
at::Tensor sequence_erase(const at::Tensor &sequence,
                          const OptionalTensor &position);
at::Tensor sequence_length(const at::Tensor &sequence);
at::Tensor split_to_sequence(const at::Tensor &x, const OptionalTensor &split,
                             int64_t axis, bool keep);
at::Tensor concat_from_sequence(const at::Tensor &sequence, int64_t axis,
                                bool new_axis);
at::Tensor optional_none();
at::Tensor optional_has_element(const at::Tensor &x);
at::Tensor optional_get_element(const at::Tensor &x);

//===--- Strings ----------------------------------------------------------===//
//
// A tensor of strings holds 64-bit numbers of a table that grows with each
// string that the process meets; so whatever moves or compares elements works
// on strings as well. The numbers mean nothing in another process.

int64_t stringNumber(std::string_view text);
const std::string &stringOf(int64_t number);
/// The strings as a tensor of that shape.
at::Tensor strings(const std::vector<std::string> &values,
                   at::IntArrayRef shape);

at::Tensor string_concat(const at::Tensor &a, const at::Tensor &b);
/// The parts of each string, padded with "", and their numbers. An empty
/// delimiter: runs of white space. max_split -1: all.
std::tuple<at::Tensor, at::Tensor> string_split(const at::Tensor &x,
                                                std::string_view delimiter,
                                                int64_t max_split);
/// case_action: LOWER, UPPER, NONE. `stopwords` (a tensor of strings) go.
at::Tensor string_normalizer(const at::Tensor &x, const at::Tensor &stopwords,
                             std::string_view case_action, bool case_sensitive);
at::Tensor regex_full_match(const at::Tensor &x, std::string_view pattern);
/// `pool` holds the n-grams one after the other, those of n words from
/// starts[n - 1] on; weights may be left out.
at::Tensor tf_idf(const at::Tensor &x, const at::Tensor &pool,
                  at::IntArrayRef starts, at::IntArrayRef indexes,
                  const OptionalTensor &weights, int64_t min_length,
                  int64_t max_length, int64_t max_skip, std::string_view mode);

} // namespace hethub::ops

#endif // HETHUB_RUNTIME_DYNAMICOPS_H

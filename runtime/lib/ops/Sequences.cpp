// Sequences and optionals: a tensor whose only contents is a list of tensors,
// so that one kind of value goes through programs.
#include "hethub/runtime/DynamicOps.h"

#include <ATen/ATen.h>
#include <ATen/OpaqueTensorImpl.h>

#include <memory>
#include <numeric>

namespace hethub::ops {

namespace {

/// Shared: sequences never change, each operator makes a new one.
struct Held {
  std::shared_ptr<const std::vector<at::Tensor>> elements; ///< null: none
};
using HolderImpl = at::OpaqueTensorImpl<Held>;

at::Tensor hold(Held held) {
  int64_t count =
      held.elements ? static_cast<int64_t>(held.elements->size()) : 0;
  return at::detail::make_tensor<HolderImpl>(
      c10::DispatchKeySet(c10::DispatchKey::CPU),
      caffe2::TypeMeta::Make<float>(), at::Device(at::kCPU), std::move(held),
      c10::IntArrayRef{count});
}

const HolderImpl *holderOf(const at::Tensor &x) {
  return dynamic_cast<const HolderImpl *>(x.unsafeGetTensorImpl());
}

int64_t number(const at::Tensor &x) {
  TORCH_CHECK_VALUE(!holderOf(x) && x.numel() == 1,
                    "a position must be one number");
  return x.item().toLong();
}

/// A position in a list of `count` elements; negative ones count from the end.
size_t positionIn(const at::Tensor &position, int64_t count) {
  int64_t at = number(position), wrapped = at < 0 ? at + count : at;
  TORCH_CHECK_INDEX(wrapped >= 0 && wrapped < count, "position ", at,
                    " is outside of ", count, " elements");
  return static_cast<size_t>(wrapped);
}

} // namespace

bool isSequence(const at::Tensor &x) {
  const HolderImpl *holder = holderOf(x);
  return holder && holder->opaque_handle().elements;
}

bool isNone(const at::Tensor &x) {
  const HolderImpl *holder = holderOf(x);
  return holder && !holder->opaque_handle().elements;
}

const std::vector<at::Tensor> &elementsOf(const at::Tensor &x) {
  TORCH_CHECK_VALUE(isSequence(x), isNone(x)
                                       ? "an optional that is read is empty"
                                       : "a value must be a sequence");
  return *holderOf(x)->opaque_handle().elements;
}

at::Tensor sequenceOf(std::vector<at::Tensor> elements) {
  return hold(
      {std::make_shared<const std::vector<at::Tensor>>(std::move(elements))});
}

at::Tensor sequence_construct(at::TensorList elements) {
  return sequenceOf(elements.vec());
}

at::Tensor sequence_at(const at::Tensor &sequence, const at::Tensor &position) {
  const std::vector<at::Tensor> &elements = elementsOf(sequence);
  return elements[positionIn(position, static_cast<int64_t>(elements.size()))];
}

at::Tensor sequence_insert(const at::Tensor &sequence, const at::Tensor &x,
                           const OptionalTensor &position) {
  std::vector<at::Tensor> elements = elementsOf(sequence);
  auto count = static_cast<int64_t>(elements.size());
  int64_t at = position ? number(*position) : count;
  int64_t wrapped = at < 0 ? at + count : at;
  TORCH_CHECK_INDEX(wrapped >= 0 && wrapped <= count, "position ", at,
                    " is outside of ", count, " elements");
  elements.insert(elements.begin() + wrapped, x);
  return sequenceOf(std::move(elements));
}

at::Tensor sequence_erase(const at::Tensor &sequence,
                          const OptionalTensor &position) {
  std::vector<at::Tensor> elements = elementsOf(sequence);
  TORCH_CHECK_INDEX(!elements.empty(), "an empty sequence has no element");
  size_t at = position
                  ? positionIn(*position, static_cast<int64_t>(elements.size()))
                  : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return sequenceOf(std::move(elements));
}

at::Tensor sequence_length(const at::Tensor &sequence) {
  return at::full({}, static_cast<int64_t>(elementsOf(sequence).size()),
                  at::kLong);
}

at::Tensor split_to_sequence(const at::Tensor &x, const OptionalTensor &split,
                             int64_t axis, bool keep) {
  TORCH_CHECK_INDEX(axis >= -x.dim() && axis < x.dim(), "axis ", axis,
                    " is outside of rank ", x.dim());
  int64_t size = x.size(axis);
  std::vector<int64_t> lengths;
  if (!split || split->dim() == 0) {
    int64_t length = split ? number(*split) : 1;
    TORCH_CHECK_VALUE(length > 0, "split must be above 0, got: ", length);
    for (int64_t start = 0; start < size; start += length)
      lengths.push_back(std::min(length, size - start));
  } else {
    at::Tensor wide = split->to(at::kCPU, at::kLong).contiguous();
    const int64_t *data = wide.const_data_ptr<int64_t>();
    lengths.assign(data, data + wide.numel());
    int64_t sum = 0;
    for (int64_t length : lengths) {
      TORCH_CHECK_VALUE(length >= 0 && length <= size - sum,
                        "sizes of a split must sum up to ", size);
      sum += length;
    }
    TORCH_CHECK_VALUE(sum == size, "sizes of a split must sum up to ", size);
  }
  std::vector<at::Tensor> parts;
  int64_t start = 0;
  for (int64_t length : lengths) {
    at::Tensor part = x.narrow(axis, start, length);
    parts.push_back(split || keep ? part : part.squeeze(axis));
    start += length;
  }
  return sequenceOf(std::move(parts));
}

at::Tensor concat_from_sequence(const at::Tensor &sequence, int64_t axis,
                                bool new_axis) {
  const std::vector<at::Tensor> &elements = elementsOf(sequence);
  TORCH_CHECK_VALUE(!elements.empty(),
                    "an empty sequence cannot be concatenated");
  return new_axis ? at::stack(elements, axis) : at::cat(elements, axis);
}

at::Tensor optional_none() { return hold({}); }

at::Tensor optional_has_element(const at::Tensor &x) {
  return at::full({}, !isNone(x), at::kBool);
}

at::Tensor optional_get_element(const at::Tensor &x) {
  TORCH_CHECK_VALUE(!isNone(x), "an optional that is read is empty");
  return x;
}

} // namespace hethub::ops

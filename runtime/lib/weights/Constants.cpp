// Small constants of emitted programs, from the numbers that stand in their
// source.
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstring>

using namespace hethub::runtime;

namespace {
template <typename T>
at::Tensor fromValues(at::IntArrayRef shape, at::ScalarType dtype,
                      at::ScalarType valueDtype,
                      std::initializer_list<T> values, at::Device device) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  if (elements != static_cast<int64_t>(values.size()))
    fail("constant of type ", typeName(dtype, shape), " needs ", elements,
         " values, got: ", values.size());
  at::Tensor view = at::from_blob(const_cast<T *>(values.begin()), shape,
                                  at::TensorOptions().dtype(valueDtype));
  // The list lives in the caller's frame: always copied.
  return view.to(at::TensorOptions().dtype(dtype).device(device),
                 /*non_blocking=*/false, /*copy=*/true);
}
} // namespace

at::Tensor hethub::runtime::constantInts(at::IntArrayRef shape,
                                         at::ScalarType dtype,
                                         std::initializer_list<int64_t> values,
                                         at::Device device) {
  return fromValues(shape, dtype, at::kLong, values, device);
}

at::Tensor hethub::runtime::constantFloats(at::IntArrayRef shape,
                                           at::ScalarType dtype,
                                           std::initializer_list<double> values,
                                           at::Device device) {
  return fromValues(shape, dtype, at::kDouble, values, device);
}

at::Tensor hethub::runtime::constantBytes(at::IntArrayRef shape,
                                          at::ScalarType dtype,
                                          std::string_view bytes,
                                          at::Device device) {
  int64_t expected = byteCount(dtype, shape);
  if (expected != static_cast<int64_t>(bytes.size()))
    fail("constant of type ", typeName(dtype, shape), " needs ", expected,
         " bytes, got: ", bytes.size());
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(dtype));
  if (expected > 0)
    std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor.to(device);
}

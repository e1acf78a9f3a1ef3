// Names and sizes of element types, and how shapes are written in messages.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>

namespace hethub::runtime {

/// "F32" of safetensors and weights.json -> at::kFloat; nothing for an unknown
/// name.
std::optional<at::ScalarType> dtypeOfSafetensors(std::string_view name);

/// And back; throws Error for a type that safetensors does not know.
std::string safetensorsName(at::ScalarType dtype);

/// "float32", "bool": as NumPy writes it.
std::string dtypeName(at::ScalarType dtype);

/// "2x32xfloat32"
std::string typeName(at::ScalarType dtype, at::IntArrayRef shape);

/// dtype, times the product of shape; throws Error where the product overflows
/// or a dim is negative.
int64_t byteCount(at::ScalarType dtype, at::IntArrayRef shape);

/// Whether `actual` has the rank of `expected` and its sizes wherever those are
/// not -1.
bool shapeFits(at::IntArrayRef actual, at::IntArrayRef expected);

} // namespace hethub::runtime

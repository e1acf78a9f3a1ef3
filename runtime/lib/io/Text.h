// Strings of .npy data, UTF-32 characters in a last axis, and tensors of
// strings, which hold numbers of a table (DynamicOps.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace hethub::runtime {

/// Numbers of the strings whose characters (int32) fill the last axis.
at::Tensor textOf(const at::Tensor &characters);

/// The reverse; shorter strings are filled up with zeros.
at::Tensor charactersOf(const at::Tensor &numbers);

} // namespace hethub::runtime

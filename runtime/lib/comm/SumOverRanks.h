// A number that all ranks know in the end.
#pragma once

#include "hethub/runtime/Comm.h"

#include <ATen/ops/empty.h>

namespace hethub::runtime {

/// Sums a number over all ranks; without a communicator it is the only one.
template <typename T>
T sumOverRanks(Comm *host, T number) {
  if (!host)
    return number;
  at::Tensor sum = at::empty(
      {1}, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
  *sum.mutable_data_ptr<T>() = number;
  host->allReduceSum(sum)->wait();
  return *sum.const_data_ptr<T>();
}

} // namespace hethub::runtime

// Unsigned arithmetic: LibTorch stores uint16, uint32 and uint64 but computes
// with few operators on them.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace hethub::ops {

namespace {

template <typename In, typename Out, typename Function>
at::Tensor apply(const at::Tensor &a, const at::Tensor &b, at::ScalarType type,
                 Function function) {
  at::Tensor result = at::empty(a.sizes(), a.options().dtype(type));
  const In *x = a.const_data_ptr<In>(), *y = b.const_data_ptr<In>();
  Out *z = result.mutable_data_ptr<Out>();
  for (int64_t i = 0, n = a.numel(); i < n; ++i)
    z[i] = function(x[i], y[i]);
  return result;
}

template <typename T>
at::Tensor dispatch(const at::Tensor &a, const at::Tensor &b,
                    std::string_view operation) {
  auto same = [&](auto function) {
    return apply<T, T>(a, b, a.scalar_type(), function);
  };
  auto compare = [&](auto function) {
    return apply<T, bool>(a, b, at::kBool, function);
  };
  if (operation == "divide" || operation == "remainder") {
    const T *divisors = b.const_data_ptr<T>();
    TORCH_CHECK(std::find(divisors, divisors + b.numel(), T(0)) ==
                    divisors + b.numel(),
                "integer division by zero");
  }
  if (operation == "divide")
    return same([](T x, T y) -> T { return x / y; });
  if (operation == "remainder")
    return same([](T x, T y) -> T { return x % y; });
  if (operation == "shift_right")
    return same([](T x, T y) -> T {
      return y >= sizeof(T) * 8 ? T(0) : static_cast<T>(x >> y);
    });
  if (operation == "maximum")
    return same([](T x, T y) { return std::max(x, y); });
  if (operation == "minimum")
    return same([](T x, T y) { return std::min(x, y); });
  if (operation == "less")
    return compare([](T x, T y) { return x < y; });
  if (operation == "less_equal")
    return compare([](T x, T y) { return x <= y; });
  TORCH_CHECK(false, "unsigned_binary has no operation '", operation, "'");
}

} // namespace

at::Tensor unsigned_binary(const at::Tensor &a, const at::Tensor &b,
                           std::string_view operation) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "both operands must have one type, got: ", a.scalar_type(),
              " and ", b.scalar_type());
  std::vector<at::Tensor> both = at::broadcast_tensors({a.cpu(), b.cpu()});
  at::Tensor x = both[0].contiguous(), y = both[1].contiguous();
  at::Tensor result;
  switch (a.scalar_type()) {
  case at::kUInt16:
    result = dispatch<uint16_t>(x, y, operation);
    break;
  case at::kUInt32:
    result = dispatch<uint32_t>(x, y, operation);
    break;
  case at::kUInt64:
    result = dispatch<uint64_t>(x, y, operation);
    break;
  default:
    TORCH_CHECK(false, "operands must be uint16, uint32 or uint64, got: ",
                a.scalar_type());
  }
  return result.to(a.device());
}

} // namespace hethub::ops

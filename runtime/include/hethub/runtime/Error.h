// The runtime's exception: a message for the user, lower case, without a full
// stop.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace hethub::runtime {

class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with all arguments written one after the other.
template <typename... Parts>
[[noreturn]] void fail(const Parts &...parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(message.str());
}

/// The message of any exception without LibTorch's backtrace and Gloo's source
/// positions.
std::string messageOf(const std::exception &error);

} // namespace hethub::runtime

// Declarations that ProcessGroupGloo.hpp needs of Gloo, whose code is inside
// libtorch_cpu but whose headers the torch wheel does not ship. Objects of
// these classes are only handed through, never made or looked into here.
#pragma once
#include <chrono>

namespace gloo {
namespace transport {
class Device;
class UnboundBuffer {
public:
  virtual ~UnboundBuffer() = default;
};
} // namespace transport

class Context {
public:
  void setTimeout(std::chrono::milliseconds timeout);
};
} // namespace gloo

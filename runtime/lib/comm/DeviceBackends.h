// Kinds of devices other than the CPU. Each is a shared library beside the
// runtime's own that registers itself when it is loaded; it is loaded only when
// a stage asks for its kind.
#pragma once

#include "hethub/runtime/Comm.h"

#include <functional>
#include <memory>
#include <string>

namespace hethub::runtime {

/// Bytes that the two ends of an edge exchange to connect.
struct Exchange {
  std::function<void(const std::string &key, const std::string &value)> set;
  std::function<std::string(const std::string &key)> get; ///< waits
};

struct DeviceBackend {
  std::string kind;
  /// The device of the local rank; throws Error in one line when there is none.
  std::function<at::Device(int localRank)> device;
  /// A back end of `size` ranks that have the name in common. Of one directed
  /// edge: rank 0 sends, rank 1 receives. Null: the kind has none.
  std::function<std::unique_ptr<Comm>(
      at::Device device, const Exchange &exchange, const std::string &name,
      int rank, int size)>
      makeGroup;
  /// Waits until the device has finished, so that a clock shows what a forward
  /// took.
  std::function<void(at::Device device)> synchronize;
};

/// Called by the static initialiser of a back end's library.
bool registerDeviceBackend(DeviceBackend backend);

/// Loads the back end of `kind`; throws Error when this runtime has none.
const DeviceBackend &deviceBackend(const std::string &kind);

} // namespace hethub::runtime

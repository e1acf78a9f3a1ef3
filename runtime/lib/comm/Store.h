// The key-value store through which ranks find and check each other.
#pragma once

#include "Environment.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace hethub::runtime {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// Opens (and on its host serves) the store of a launch. Throws Error: port in
/// use, nobody there within the timeout.
StorePtr openStore(const Launch &launch, double timeoutS);

/// A store inside this process, for ranks that are threads.
StorePtr openLocalStore();

std::chrono::milliseconds milliseconds(double seconds);

} // namespace hethub::runtime

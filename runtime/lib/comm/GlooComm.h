// Gloo through c10d.
#pragma once

#include "Store.h"
#include "hethub/runtime/Comm.h"

namespace hethub::runtime {

/// Connects `size` ranks in a full mesh. `group` names the group in the store.
std::unique_ptr<Comm> makeGlooComm(StorePtr store, const std::string &group,
                                   int rank, int size,
                                   const std::string &storeAddress,
                                   double timeoutS);

} // namespace hethub::runtime

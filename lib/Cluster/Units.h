// Figures with units, as cluster files write them.
#ifndef HETHUB_LIB_CLUSTER_UNITS_H
#define HETHUB_LIB_CLUSTER_UNITS_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace hethub::cluster {

enum class Quantity { Bytes, BytesPerSecond, Seconds, Flops, Number };

/// "8 GiB" -> 8589934592. A plain number is in the quantity's SI unit. nullopt:
/// not a finite number with a unit of the quantity.
std::optional<double> parseQuantity(llvm::StringRef text, Quantity quantity);

/// "bytes (B, kB, MB, ...)": the units that `parseQuantity` takes, for
/// messages.
std::string describeUnits(Quantity quantity);

} // namespace hethub::cluster

#endif

// Figures of this machine, for `cpu` device types that do not state their own.
#ifndef HETHUB_CLUSTER_MEASUREHOST_H
#define HETHUB_CLUSTER_MEASUREHOST_H

#include <cstdint>

namespace hethub::cluster {

struct HostFigures {
  int64_t memoryBytes;    ///< of the whole machine
  double memoryBandwidth; ///< bytes/s read plus written by a copy on one core
  double float32Flops;    ///< FLOP/s of fused multiply-adds on one core
};

/// Memory of the machine in bytes, from the operating system.
int64_t hostMemoryBytes();

/// Measured once in a process (about 0.1 s), then remembered. One core, since a
/// stage computes on one thread.
const HostFigures &hostFigures();

} // namespace hethub::cluster

#endif

//===- ClusterOps.h - the cluster as operations of a module ----*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_CLUSTEROPS_H
#define HETHUB_DIALECT_HH_TRANSFORMS_CLUSTEROPS_H

#include "hethub/Cluster/Cluster.h"

#include "mlir/IR/BuiltinOps.h"

namespace hethub::hh {

/// Puts one hh.device_type for each type and one hh.link for each pair of
/// devices at the top of the module. Device types that stand there already are
/// replaced.
void writeCluster(mlir::ModuleOp module, const cluster::Cluster &cluster);

/// The cluster that the module's hh.device_type and hh.link operations
/// describe; no types where it has none.
cluster::Cluster readCluster(mlir::ModuleOp module);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_CLUSTEROPS_H

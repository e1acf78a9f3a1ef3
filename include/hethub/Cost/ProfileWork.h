//===- ProfileWork.h - the work behind measured times ----------*- C++ -*-===//

#ifndef HETHUB_COST_PROFILEWORK_H
#define HETHUB_COST_PROFILEWORK_H

#include "hethub/Cluster/Cluster.h"
#include "hethub/Cost/Profile.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/JSON.h"

namespace hethub::cost {

/// For each operation of a profile that its signature describes wholly: class,
/// FLOPs and bytes, the peak and the bandwidth of `type` that they are held
/// against, the measured seconds and those of the roofline. What efficiencies
/// are fitted from (utils/fit_efficiency.py).
llvm::json::Value profileWork(const Profile &profile,
                              const cluster::DeviceType &type,
                              mlir::MLIRContext *context);

} // namespace hethub::cost

#endif // HETHUB_COST_PROFILEWORK_H

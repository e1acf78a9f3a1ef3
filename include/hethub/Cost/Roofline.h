//===- Roofline.h - from work to seconds -----------------------*- C++ -*-===//

#ifndef HETHUB_COST_ROOFLINE_H
#define HETHUB_COST_ROOFLINE_H

#include "hethub/Cluster/Cluster.h"
#include "hethub/Dialect/HH/IR/CostInterface.h"

namespace hethub::cost {

/// Seconds of one execution.
struct Times {
  double forward = 0;
  double backward = 0;
};

/// Roofline of one operation on a device of `type`, computing in `dtype`
/// ("float32", ...), without emulated slowdown:
///
///   launch overhead + max(FLOPs / (peak * efficiency), bytes / (bandwidth *
///   efficiency))
///
/// The efficiencies stand in lib/Cost/Efficiency.def. Views take no time.
/// `type` must state a bandwidth and a peak, see `missingFigure`.
Times rooflineTimes(const hh::OpWork &work, llvm::StringRef dtype,
                    const cluster::DeviceType &type);

/// What `type` does not state and the roofline for `dtype` needs; "" if
/// nothing.
std::string missingFigure(const cluster::DeviceType &type,
                          llvm::StringRef dtype);

} // namespace hethub::cost

#endif // HETHUB_COST_ROOFLINE_H
